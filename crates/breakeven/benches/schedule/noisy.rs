//! Batches whose times vary, and what taking spans costs: what a schedule in virtual time
//! leaves out unless asked.

use crate::batches::Costs;
use breakeven::plan::{ExecutionStrategy, Tuning};
use breakeven::testing::Scenario;

use crate::batches::{WORKERS, batch, learned, run};
use crate::foresight::{least, times};
use crate::metric::metric;

/// Batches by which it is learned, and batches that are judged.
const LEARNED: u64 = 20;
const JUDGED: u64 = 20;

/// How far each span's and each launch's time is off.
const DEVIATIONS: [f64; 2] = [0.1, 0.3];

/// What taking a span takes, ns: a lock that workers share.
const SPAN_NS: f64 = 500.0;

pub(crate) fn print(tuning: &'static Tuning) {
    for deviation in DEVIATIONS {
        let percent = 100.0 * deviation;
        metric(
            &format!("noisy_mean/{percent:.0}%"),
            100.0 * regret(tuning, deviation),
            "%",
        );
    }
    metric("short_tasks_efficiency", short_tasks(tuning), "");
}

/// The mean over all of them.
pub(crate) fn mean(tuning: &'static Tuning) -> f64 {
    let all = DEVIATIONS.map(|deviation| regret(tuning, deviation));
    all.iter().sum::<f64>() / all.len() as f64
}

/// Mean regret of Auto over the one strategy that takes least on average.
fn regret(tuning: &'static Tuning, deviation: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for tasks in [20, 100, 1_000, 10_000] {
        for ratio in [0.2, 1.0, 5.0] {
            for launch_ns in [20e3, 200e3] {
                let mut scenario = batch(vec![1.0; tasks], ratio, launch_ns, tuning);
                scenario.noise.deviation = deviation;
                let costs = Costs::default();
                let auto = |seed| run(&seeded(&scenario, seed), ExecutionStrategy::Auto, &costs);
                (0..LEARNED).for_each(|seed| _ = auto(seed));
                let took: f64 = (LEARNED..LEARNED + JUDGED).map(auto).sum();
                sum += (took / best(&scenario) - 1.0).max(0.0);
                count += 1.0;
            }
        }
    }
    sum / count
}

fn seeded(scenario: &Scenario, seed: u64) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.noise.seed = seed;
    scenario
}

/// What the judged batches take by the strategy that takes least for all of them.
fn best(scenario: &Scenario) -> f64 {
    let mut sums = Vec::new();
    for seed in LEARNED..LEARNED + JUDGED {
        let all = times(&seeded(scenario, seed));
        sums.resize(all.len(), 0.0);
        sums.iter_mut()
            .zip(all)
            .for_each(|(sum, took)| *sum += took);
    }
    least(&sums)
}

/// The least efficiency of batches of tasks that take no longer than taking a span.
pub(crate) fn short_tasks(tuning: &'static Tuning) -> f64 {
    let efficiencies = [1_000, 10_000, 100_000].map(|tasks| {
        let mut scenario = batch(vec![1.0; tasks], 1.0, 1e9, tuning);
        scenario.cpu_task_ns = SPAN_NS;
        scenario.host.span_ns = SPAN_NS;
        let took = run(&scenario, ExecutionStrategy::CpuOnly, &learned(&scenario));
        tasks as f64 * SPAN_NS / WORKERS as f64 / took
    });
    efficiencies.into_iter().fold(1.0, f64::min)
}
