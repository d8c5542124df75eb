//! `execute` on the CPU alone beside the same map by rayon.

use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::profile::get_profiler;
use breakeven::profile::profile::Operation;
use breakeven::profile::recorder::Clock;
use breakeven_stats::BootstrapInterval;
use rayon::prelude::*;

use crate::metric::metric;
use crate::samples::{Samples, difference, print_interval, ratio};
use crate::spin::{spin, steps_of};

/// One batch in turns: with execute, with rayon, and with rayon where a task may fail.
#[derive(Default)]
struct Turns {
    execute: Samples,
    map: Samples,
    fallible: Samples,
}

/// A batch: tasks of equal length.
struct Batch {
    name: &'static str,
    tasks: usize,
    task: Duration,
    rounds: usize,
}

/// Turns at each batch, and the times as operations: execute's, and rayon's.
pub(crate) fn cpu_only(quick: bool) -> (Vec<Operation>, Vec<Operation>) {
    let workers = rayon::current_num_threads();
    metric("cpu_only_workers", workers as f64, "");
    let parts = if quick { 1 } else { 10 };
    let tasks = |wall: Duration, task: Duration| {
        let tasks = wall.as_nanos() * workers as u128 / task.as_nanos();
        usize::try_from(tasks).expect("few tasks")
    };
    let of = |name, wall, task, rounds| Batch {
        name,
        tasks: tasks(Duration::from_millis(wall), task),
        task,
        rounds: rounds * parts,
    };
    let (two_us, fifty_us) = (Duration::from_micros(2), Duration::from_micros(50));
    let batches = [
        of("1ms", 1, two_us, 800),
        of("10ms", 10, two_us, 80),
        of("100ms", 100, fifty_us, 7),
        Batch {
            name: "1000000x100ns",
            tasks: 1_000_000,
            task: Duration::from_nanos(100),
            rounds: 7 * parts,
        },
    ];
    let (mut executed, mut mapped) = (Vec::new(), Vec::new());
    for batch in &batches {
        let turns = batch.turns();
        let name = batch.name;
        print_overhead("cpu_only_overhead", name, &turns.execute, &turns.map);
        print_overhead(
            "cpu_only_overhead_fallible",
            name,
            &turns.execute,
            &turns.fallible,
        );
        metric(
            &format!("cpu_only/{name}"),
            turns.execute.median() / 1e3,
            "us",
        );
        metric(&format!("rayon/{name}"), turns.map.median() / 1e3, "us");
        let size = Some(batch.tasks as u64);
        executed.push(turns.execute.operation("cpu_only", size));
        mapped.push(turns.map.operation("cpu_only", size));
    }
    one_worker(parts);
    for (name, recorded) in [("recorded", true), ("unrecorded", false)] {
        let _ = get_profiler(recorded);
        for tasks in [0, 1] {
            let batch = Batch {
                name,
                tasks,
                task: Duration::ZERO,
                rounds: 10_000 * parts,
            };
            let turns = batch.turns();
            let fixed = difference(&turns.execute, &turns.map);
            print_interval(&format!("cpu_only_fixed/{name}/{tasks}"), &fixed, "ns");
            let fixed = turns.execute.quantile(0.99);
            metric(&format!("cpu_only_p99/{name}/{tasks}"), fixed, "ns");
        }
    }
    let _ = get_profiler(true);
    (executed, mapped)
}

/// The same with one worker, on its own thread: nobody is woken and nothing is
/// stolen, so what is left is what execute adds to each task and each batch.
fn one_worker(parts: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a pool of one").install(|| {
        let (two_us, short) = (Duration::from_micros(2), Duration::from_nanos(100));
        for (name, tasks, task, recorded) in [
            ("500x2us", 500, two_us, true),
            ("10000x100ns", 10_000, short, true),
            ("500x2us_unrecorded", 500, two_us, false),
        ] {
            let _ = get_profiler(recorded);
            let batch = Batch {
                name,
                tasks,
                task,
                rounds: 400 * parts,
            };
            let turns = batch.turns();
            let metric_name = "cpu_only_overhead_one_worker";
            print_overhead(metric_name, name, &turns.execute, &turns.map);
        }
    });
}

/// By how much a call takes longer than another, in percent: the median of the
/// turns with its interval, and what is left where nothing else was running (the
/// quickest tenth of each).
fn print_overhead(metric_name: &str, batch: &str, ours: &Samples, theirs: &Samples) {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let turns = ratio(ours, theirs);
    let turns = BootstrapInterval {
        estimate: percent(turns.estimate),
        lower: percent(turns.lower),
        upper: percent(turns.upper),
    };
    print_interval(&format!("{metric_name}/{batch}"), &turns, "%");
    let quickest = percent(ours.quantile(0.1) / theirs.quantile(0.1));
    metric(&format!("{metric_name}_undisturbed/{batch}"), quickest, "%");
}

impl Batch {
    fn turns(&self) -> Turns {
        let clock = Clock::new();
        let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
        let tasks: Vec<u64> = (0..self.tasks as u64).collect();
        let steps = steps_of(self.task);
        let mut turns = Turns::default();
        for round in 0..self.rounds + 2 {
            if round == 2 {
                // The first two were to warm up.
                turns = Turns::default();
            }
            // Nobody always follows the same one.
            let step = 1 + round % 2;
            for place in 0..3 {
                match (round + place * step) % 3 {
                    0 => {
                        let batch = manager.operation("cpu_only");
                        let result = turns.execute.time(&clock, || {
                            batch.execute(&tasks, |task| Ok::<_, ()>(spin(steps, *task)))
                        });
                        assert_eq!(result.map(|done| done.outputs.len()), Ok(self.tasks));
                    }
                    1 => {
                        let outputs: Vec<u64> = turns.map.time(&clock, || {
                            tasks.par_iter().map(|task| spin(steps, *task)).collect()
                        });
                        assert_eq!(outputs.len(), self.tasks);
                    }
                    _ => {
                        let outputs: Result<Vec<u64>, ()> = turns.fallible.time(&clock, || {
                            let all = tasks.par_iter();
                            all.map(|task| Ok(spin(steps, *task))).collect()
                        });
                        assert_eq!(outputs.map(|all| all.len()), Ok(self.tasks));
                    }
                }
            }
        }
        turns
    }
}
