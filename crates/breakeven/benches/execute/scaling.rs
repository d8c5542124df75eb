//! Throughput by threads and tasks.

use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::profile::recorder::Clock;
use rayon::ThreadPoolBuilder;

use crate::metric::metric;
use crate::samples::{Samples, ratio};
use crate::spin::{spin, steps_of};

const THREADS: [usize; 3] = [1, 2, 4];

/// Length of a task.
const TASK: Duration = Duration::from_micros(10);

pub(crate) fn scaling(quick: bool) {
    let clock = Clock::new();
    let steps = steps_of(TASK);
    let managers = THREADS.map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.expect("a pool of a few threads"));
        StrategyManager::cpu_only(Arc::new(RayonCpu::with_pool(pool)))
    });
    for (tasks, rounds) in [(5, 500), (100, 100), (1_000, 30), (10_000, 3)] {
        let inputs: Vec<u64> = (0..tasks).collect();
        let mut samples = THREADS.map(|_| Samples::default());
        for _ in 0..if quick { rounds } else { 5 * rounds } {
            for (manager, samples) in managers.iter().zip(&mut samples) {
                let batch = manager.operation("scaling");
                let result = samples.time(&clock, || {
                    batch.execute(&inputs, |task| Ok::<_, ()>(spin(steps, *task)))
                });
                assert!(result.is_ok());
            }
        }
        let [one, ..] = &samples;
        let per_s = 1e9 * tasks as f64 / one.median();
        metric(&format!("scaling_tasks_per_s/{tasks}/1"), per_s, "1/s");
        for (threads, samples) in THREADS.iter().zip(&samples).skip(1) {
            let faster = ratio(one, samples).estimate;
            metric(&format!("scaling/{tasks}/{threads}"), faster, "x");
        }
    }
}
