//! Regret of Auto over an oracle that tries every strategy.

use std::collections::BTreeMap;

use breakeven::plan::{Costs, ExecutionStrategy};
use breakeven::schedule::Tuning;
use breakeven::testing::{Load, Scenario, ScenarioGpu};

use crate::batches::{Shape, TASK_NS, WORKERS, run};
use crate::foresight::{self, Alike, best_on_average, least, times};
use crate::metric::{is_quick, metric};

/// Regrets of one way to choose: of all points, and of those that have something
/// in common.
#[derive(Default)]
struct Regrets {
    all: Vec<f64>,
    slices: BTreeMap<String, Vec<f64>>,
}

impl Regrets {
    fn add(&mut self, took: f64, oracle: f64, slices: &[String]) {
        let regret = (took / oracle - 1.0).max(0.0);
        self.all.push(regret);
        for slice in slices {
            self.slices.entry(slice.clone()).or_default().push(regret);
        }
    }

    fn print(&mut self, name: &str) {
        print_one(name, &mut self.all);
        for (slice, regrets) in &mut self.slices {
            print_one(&format!("{name}/{slice}"), regrets);
        }
    }
}

fn print_one(name: &str, regrets: &mut [f64]) {
    regrets.sort_by(f64::total_cmp);
    let mean = regrets.iter().fold(0.0, |sum, regret| sum + regret) / regrets.len() as f64;
    let at = |part: usize| regrets[(regrets.len() - 1) * part / 100];
    metric(&format!("regret_mean/{name}"), 100.0 * mean, "%");
    metric(&format!("regret_median/{name}"), 100.0 * at(50), "%");
    metric(&format!("regret_p95/{name}"), 100.0 * at(95), "%");
}

/// Runs of a point that its warm regret is the mean of, each after three without
/// load.
const WARM_RUNS: usize = 5;

/// Other batches of the same kind that a choice without foresight is made by.
const OTHER_DRAWS: u64 = 2;

/// Regret over an oracle that tries every strategy.
pub(crate) fn print(tuning: Tuning) {
    let quick = is_quick();
    let tasks: &[usize] = match quick {
        true => &[5, 100, 1_000, 10_000],
        false => &[5, 20, 100, 1_000, 10_000, 100_000],
    };
    let mut points: u32 = 0;
    let [mut cold, mut told, mut warm, mut rule, mut fixed] = [(); 5].map(|()| Regrets::default());
    let [mut unknown, mut launch_known] = [(); 2].map(|()| Alike::default());
    let mut known = Regrets::default();
    for &tasks in tasks {
        for ratio in [0.02, 0.1, 0.5, 1.0, 2.0, 10.0, 50.0] {
            for launch_ns in [5e3, 50e3, 500e3, 10e6] {
                for shape in Shape::GRID {
                    for parallelization in [0.0, 0.5, 0.95, 1.0] {
                        for loaded in [false, true] {
                            // Each point has a huge task elsewhere.
                            let costs = shape.costs(tasks, points.into());
                            let mut scenario = Scenario::new(costs, WORKERS);
                            scenario.cpu_task_ns = TASK_NS;
                            scenario.tuning = tuning;
                            scenario.gpus = vec![ScenarioGpu {
                                task_ns: TASK_NS / WORKERS as f64 / ratio,
                                launch_ns,
                                ..ScenarioGpu::default()
                            }];
                            scenario.parallelization = parallelization;
                            let quiet = scenario.clone();
                            if loaded {
                                scenario.cpu_load = half_way(&scenario);
                            }
                            points += 1;
                            let all = times(&scenario);
                            let oracle = least(&all);
                            let slices = [
                                format!("{tasks}_tasks"),
                                shape.name(),
                                format!("parallel_{parallelization}"),
                            ];
                            let looks = format!("{tasks} {parallelization}");
                            let with_launch = format!("{looks} {launch_ns}");
                            unknown.add(looks, all.clone(), &slices);
                            launch_known.add(with_launch, all.clone(), &slices);
                            let draws = draws(&quiet, shape, points.into());
                            known.add(all[best_on_average(&draws)], oracle, &slices);
                            let first = run(&scenario, ExecutionStrategy::Auto, &Costs::new());
                            cold.add(first, oracle, &slices);
                            scenario.gpus[0].tells_launch = true;
                            let first = run(&scenario, ExecutionStrategy::Auto, &Costs::new());
                            told.add(first, oracle, &slices);
                            scenario.gpus[0].tells_launch = false;
                            let costs = Costs::new();
                            for _ in 0..20 {
                                let _ = run(&quiet, ExecutionStrategy::Auto, &costs);
                            }
                            // Not one run, which may be one that tries another device.
                            for _ in 0..WARM_RUNS {
                                let later = run(&scenario, ExecutionStrategy::Auto, &costs);
                                warm.add(later, oracle, &slices);
                                for _ in 0..3 {
                                    let _ = run(&quiet, ExecutionStrategy::Auto, &costs);
                                }
                            }
                            rule.add(run_rule(&scenario), oracle, &[]);
                            fixed.add(
                                scenario
                                    .run_fixed(ExecutionStrategy::hybrid(70).expect("70 %"))
                                    .expect("a strategy"),
                                oracle,
                                &[],
                            );
                        }
                    }
                }
            }
        }
    }
    metric("regret_points", f64::from(points), "");
    warm.print("warm");
    cold.print("cold");
    told.print("cold_launch_told");
    known.print("without_foresight/warm");
    for (alike, name) in [(unknown, "cold"), (launch_known, "cold_launch_told")] {
        let mut best = Regrets::default();
        alike.each(|took, oracle, slices| best.add(took, oracle, slices));
        best.print(&format!("without_foresight/{name}"));
    }
    rule.print("rule");
    fixed.print("hybrid_70_30");
}

/// What the rule alone says, kept to the end.
fn run_rule(scenario: &Scenario) -> f64 {
    let decision = scenario.run(ExecutionStrategy::Auto, &Costs::new());
    let strategy = decision.expect("a strategy").decision.ruling.strategy;
    scenario.run_fixed(strategy).expect("a strategy")
}

/// Other batches of the same costs, each with its own order of tasks, and without
/// and with load from half-way on.
fn draws(quiet: &Scenario, shape: Shape, point: u64) -> Vec<foresight::Times> {
    let mut draws = Vec::new();
    for draw in 1..=OTHER_DRAWS {
        // Uniform tasks have one order.
        if draw > 1 && shape == Shape::Uniform {
            break;
        }
        let costs = shape.costs(quiet.tasks(), point + draw * 1_000_000);
        let mut other = quiet.with_task_costs(costs);
        draws.push(times(&other));
        other.cpu_load = half_way(&other);
        draws.push(times(&other));
    }
    draws
}

/// The CPU is half as fast from half-way on.
fn half_way(scenario: &Scenario) -> Option<Load> {
    let from_ns = 0.5 * scenario.ideal_ns();
    Some(Load {
        from_ns,
        times: 2.0,
    })
}
