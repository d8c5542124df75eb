//! Regret where the CPU and the GPU hinder each other: a batch that they share takes longer
//! than what each of them was seen to take says.

use crate::batches::Costs;
use breakeven::plan::{ExecutionStrategy, Tuning};

use crate::batches::{batch, run};
use crate::foresight::{least, times};
use crate::metric::metric;

/// Batches by which it is learned, and batches that are judged.
const LEARNED: usize = 20;
const JUDGED: usize = 10;

/// By how much what both do at once takes longer: with twice as long nothing is shared.
const HINDRANCES: [f64; 4] = [1.0, 1.25, 1.5, 2.0];

pub(crate) fn print(tuning: &'static Tuning) {
    for hindrance in HINDRANCES {
        let name = format!("hindered_mean/{hindrance}_times");
        metric(&name, 100.0 * regret(tuning, hindrance), "%");
    }
}

/// The mean over all of them.
pub(crate) fn mean(tuning: &'static Tuning) -> f64 {
    let all = HINDRANCES.map(|hindrance| regret(tuning, hindrance));
    all.iter().sum::<f64>() / all.len() as f64
}

fn regret(tuning: &'static Tuning, hindrance: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for tasks in [100, 1_000] {
        for ratio in [0.25, 0.5, 1.0, 2.0, 4.0] {
            for launch_ns in [20e3, 200e3] {
                let mut scenario = batch(vec![1.0; tasks], ratio, launch_ns, tuning);
                scenario.hindrance = hindrance;
                let (best, costs) = (least(&times(&scenario)), Costs::default());
                for number in 0..LEARNED + JUDGED {
                    let took = run(&scenario, ExecutionStrategy::Auto, &costs);
                    if number >= LEARNED {
                        sum += (took / best - 1.0).max(0.0);
                        count += 1;
                    }
                }
            }
        }
    }
    sum / f64::from(count)
}
