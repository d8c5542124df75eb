//! What nobody could do better who has not seen the batch yet: the oracle has.

use std::collections::BTreeMap;

use crate::batches::Costs;
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::Scenario;

/// Times of a point under every strategy: CPU, GPU, splits in steps of 5 %.
pub(crate) type Times = Vec<f64>;

/// Runs the point under each.
pub(crate) fn times(scenario: &Scenario) -> Times {
    let splits = (1..20).map(|part| ExecutionStrategy::hybrid(5 * part).expect("below 100 %"));
    // Sequential tasks cannot be split over two devices.
    let splits = splits.filter(|_| scenario.parallelization > 0.0);
    [ExecutionStrategy::CpuOnly, ExecutionStrategy::GpuOnly]
        .into_iter()
        .chain(splits)
        .map(|strategy| scenario.run_fixed(strategy).expect("a strategy"))
        .collect()
}

/// The best of them.
pub(crate) fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The strategy that is best on average over `draws` of a point, by its place.
pub(crate) fn best_on_average(draws: &[Times]) -> usize {
    let sum = |strategy: usize| {
        let of_draw = draws.iter().map(|times| times[strategy] / least(times));
        of_draw.fold(0.0, |sum, regret| sum + regret)
    };
    let strategies = draws.iter().map(Vec::len).min().unwrap_or(0);
    let best = (0..strategies).min_by(|&a, &b| sum(a).total_cmp(&sum(b)));
    best.expect("a draw has its strategies")
}

/// What batches of another size showed about the GPU: nothing, or that launches of that many
/// tasks were all taken back; none if they showed more.
pub(crate) fn little_seen(costs: &Costs, other: &Scenario) -> Option<String> {
    let (memory, workers) = (other.memory_per_task, other.workers);
    let known = costs.borrow().operations().pop();
    let known = known.map(|known| {
        costs
            .borrow()
            .lookup(&known, memory, &["simulated0"], workers)
    });
    match known.and_then(|known| known.gpu(0).cost) {
        None => Some("nothing".to_owned()),
        Some(cost) => cost.is_bound.then(|| format!("{} tasks", cost.most)),
    }
}

/// A point's times, those of what else could be there where it looks so, and its slices.
type Look = (Times, Vec<Times>, Vec<String>);

/// Points that look the same before they have run.
#[derive(Default)]
pub(crate) struct Alike(BTreeMap<String, Vec<Look>>);

impl Alike {
    pub(crate) fn add(
        &mut self,
        looks: String,
        times: Times,
        draws: Vec<Times>,
        slices: &[String],
    ) {
        let points = self.0.entry(looks).or_default();
        points.push((times, draws, slices.to_vec()));
    }

    /// Calls `visit(time, best time, slices)` for every point, the time being that
    /// of the strategy which is the best for all points that look like it.
    pub(crate) fn each(&self, mut visit: impl FnMut(f64, f64, &[String])) {
        for points in self.0.values() {
            let draws = points.iter().flat_map(|(_, draws, _)| draws.clone());
            let best = best_on_average(&draws.collect::<Vec<Times>>());
            for (times, _, slices) in points {
                visit(times[best], least(times), slices);
            }
        }
    }
}
