//! What nobody could do better who has not seen the batch yet: the oracle has.

use std::collections::BTreeMap;

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

/// Points that look the same before they have run, each with its slices.
#[derive(Default)]
pub(crate) struct Alike(BTreeMap<String, Vec<(Times, Vec<String>)>>);

impl Alike {
    pub(crate) fn add(&mut self, looks: String, times: Times, slices: &[String]) {
        self.0
            .entry(looks)
            .or_default()
            .push((times, slices.to_vec()));
    }

    /// Calls `told(time, best time, slices)` for every point, the time being that
    /// of the strategy which is the best for all points that look like it.
    pub(crate) fn each(&self, mut told: impl FnMut(f64, f64, &[String])) {
        for points in self.0.values() {
            let draws: Vec<Times> = points.iter().map(|(times, _)| times.clone()).collect();
            let best = best_on_average(&draws);
            for (times, slices) in points {
                told(times[best], least(times), slices);
            }
        }
    }
}
