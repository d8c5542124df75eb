//! What devices that stall, turn slow or were loaded cost.

use crate::batches::Costs;

use breakeven::plan::ExecutionStrategy;
use breakeven::plan::Tuning;
use breakeven::testing::{Load, Scenario, ScenarioGpu};

use crate::batches::{Shape, learned, run, split};
use crate::foresight::{least, times};
use crate::metric::metric;

/// Batches under load before it ends.
const LOADED: usize = 20;

/// Batches after it that are looked at.
const AFTER: usize = 40;

/// The same after memory became free, which is found out by and by.
const LONG_AFTER: usize = 400;

/// From here on Auto is to be near the best choice again.
const SOON: usize = 10;

/// Time over the best choice's that is near it.
const NEAR: f64 = 1.1;

/// A figure's name, its value, and the point at which that was seen, or its unit.
pub(crate) type Figure = (String, f64, String);

pub(crate) fn print(tuning: &'static Tuning) {
    for (name, value, at) in figures(tuning) {
        metric(&name, value, &at);
    }
}

pub(crate) fn figures(tuning: &'static Tuning) -> Vec<Figure> {
    let mut figures = slow_devices(tuning);
    figures.extend(ended_load(tuning));
    figures.push(probes(tuning));
    figures.push(free_memory(tuning));
    figures
}

/// The GPUs or the first of them stall or turn slow in a batch: its time over that of the
/// CPU alone.
fn slow_devices(tuning: &'static Tuning) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (how, times) in [
        ("stalls", f64::INFINITY),
        ("10_times", 10.0),
        ("100_times", 100.0),
    ] {
        for is_warm in [false, true] {
            let (mut worst, mut at, mut sum, mut count) = (0.0, String::new(), 0.0, 0.0);
            for tasks in [200, 2_000, 20_000] {
                for ratio in [0.5, 1.0, 5.0, 20.0, 50.0] {
                    for gpus in [1, 2] {
                        let mut quiet = split(Shape::Uniform.costs(tasks, 1), ratio, tuning);
                        quiet.gpus = vec![quiet.gpus[0]; gpus];
                        let alone = quiet
                            .run_fixed(ExecutionStrategy::CpuOnly)
                            .expect("it runs");
                        let ideal = quiet.ideal_ns();
                        for from in [0.0, 0.1, 0.3, 0.5, 0.8] {
                            let mut scenario = quiet.clone();
                            scenario.gpus[0].load = Some(Load {
                                from_ns: from * ideal,
                                times,
                            });
                            let costs = if is_warm {
                                learned(&quiet)
                            } else {
                                Costs::default()
                            };
                            let took = run(&scenario, ExecutionStrategy::Auto, &costs) / alone;
                            (sum, count) = (sum + took, count + 1.0);
                            if took > worst {
                                (worst, at) =
                                    (took, format!("{tasks}/{ratio}:1/{gpus}_gpus/at_{from}"));
                            }
                        }
                    }
                }
            }
            let name = format!("{how}/{}", if is_warm { "warm" } else { "cold" });
            let unit = "of_the_cpu_alone".to_owned();
            figures.push((format!("trouble_mean/{name}"), sum / count, unit));
            figures.push((format!("trouble_most/{name}"), worst, at));
        }
    }
    figures
}

/// Batches until Auto is near the best choice again, and the worst batch from then on when
/// it should be.
fn ended_load(tuning: &'static Tuning) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (how, cpu, gpu) in [
        ("cpu", true, false),
        ("gpu", false, true),
        ("both", true, true),
    ] {
        let (mut needed, mut at, mut worst, mut worst_at) = (0, String::new(), 0.0, String::new());
        for tasks in [1_000, 10_000] {
            for ratio in [0.2, 1.0, 5.0, 20.0] {
                for launch_ns in [50e3, 500e3] {
                    for times in [2.0, 10.0] {
                        let mut quiet = split(Shape::Uniform.costs(tasks, 1), ratio, tuning);
                        quiet.gpus[0].launch_ns = launch_ns;
                        let load = Some(Load {
                            from_ns: 0.0,
                            times,
                        });
                        let mut loaded = quiet.clone();
                        loaded.cpu_load = load.filter(|_| cpu);
                        loaded.gpus[0].load = load.filter(|_| gpu);
                        let costs = learned(&quiet);
                        for _ in 0..LOADED {
                            let _ = run(&loaded, ExecutionStrategy::Auto, &costs);
                        }
                        let what = format!("{tasks}/{ratio}:1/{}us/{times}_times", launch_ns / 1e3);
                        let after = after(&quiet, &costs);
                        let first = first_near(&after);
                        if first > needed {
                            (needed, at) = (first, what.clone());
                        }
                        let most = after[SOON..].iter().copied().fold(0.0, f64::max);
                        if most > worst {
                            (worst, worst_at) = (most, what);
                        }
                    }
                }
            }
        }
        figures.push((format!("after_load_batches/{how}"), needed as f64, at));
        figures.push((format!("after_load_worst/{how}"), worst, worst_at));
    }
    figures
}

/// Times of the batches that follow, over the best choice's.
fn after(scenario: &Scenario, costs: &Costs) -> Vec<f64> {
    let best = least(&times(scenario));
    let batches = (0..AFTER).map(|_| run(scenario, ExecutionStrategy::Auto, costs) / best);
    batches.collect()
}

/// The batch from which on three in a row are near the best.
fn first_near(batches: &[f64]) -> usize {
    let near = batches
        .windows(3)
        .position(|three| three.iter().all(|took| *took <= NEAR));
    near.unwrap_or(batches.len())
}

/// Batches until a device is used whose launch costs far more than a task, and which was
/// first tried with a task or two.
fn probes(tuning: &'static Tuning) -> Figure {
    let (mut needed, mut at) = (0, String::new());
    for tasks in [1_000, 10_000] {
        for launch_ns in [500e3, 2e6] {
            let mut scenario = split(Shape::Uniform.costs(tasks, 1), 20.0, tuning);
            scenario.gpus = vec![ScenarioGpu {
                launch_ns,
                ..scenario.gpus[0]
            }];
            let costs = Costs::default();
            let few = scenario.with_task_costs([1.0; 2]);
            for _ in 0..3 {
                let _ = run(&few, ExecutionStrategy::GpuOnly, &costs);
                let _ = run(&few, ExecutionStrategy::CpuOnly, &costs);
            }
            let first = first_near(&after(&scenario, &costs));
            if first > needed {
                (needed, at) = (first, format!("{tasks}/{}us", launch_ns / 1e3));
            }
        }
    }
    ("after_probes_batches".to_owned(), needed as f64, at)
}

/// Mean of Auto's batches after memory of the GPU that another program held is free, over the best
/// choice's.
fn free_memory(tuning: &'static Tuning) -> Figure {
    let mut all = Vec::new();
    for tasks in [1_000, 10_000] {
        for ratio in [1.0, 5.0, 20.0] {
            let quiet = split(Shape::Uniform.costs(tasks, 1), ratio, tuning);
            let mut held = quiet.clone();
            held.gpus[0].most_tasks = tasks / 16;
            let costs = Costs::default();
            for _ in 0..LOADED {
                let _ = run(&held, ExecutionStrategy::Auto, &costs);
            }
            let best = least(&times(&quiet));
            let after =
                (0..LONG_AFTER).map(|_| run(&quiet, ExecutionStrategy::Auto, &costs) / best);
            all.push(after.sum::<f64>() / LONG_AFTER as f64);
        }
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let unit = "of_the_best_choice".to_owned();
    ("after_memory_mean".to_owned(), mean, unit)
}
