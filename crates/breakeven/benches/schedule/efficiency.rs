//! Ideal time over actual of batches that all devices share.

use std::collections::BTreeMap;

use crate::batches::Costs;

use breakeven::plan::ExecutionStrategy;
use breakeven::plan::Tuning;
use breakeven::testing::{Load, Scenario};

use crate::batches::{Shape, learned, run, split};
use crate::metric::metric;

/// Warm batches with tasks in any order are to be no less efficient.
const LOW: f64 = 0.92;

/// Where a block of expensive tasks begins.
const BLOCKS: [f64; 13] = [
    0.03, 0.1, 0.2, 0.33, 0.5, 0.61, 0.7, 0.77, 0.83, 0.88, 0.9, 0.92, 0.94,
];

/// Efficiencies by what the points have in common.
#[derive(Default)]
pub(crate) struct Points(BTreeMap<String, Vec<(f64, String)>>);

impl Points {
    fn add(&mut self, group: String, what: &str, efficiency: f64) {
        self.0
            .entry(group)
            .or_default()
            .push((efficiency, what.to_owned()));
    }

    /// The mean efficiency of each group.
    pub(crate) fn means(self) -> impl Iterator<Item = (String, f64)> {
        let groups = self.0.into_iter();
        groups.map(|(group, points)| (group, mean(&points)))
    }

    fn print(&self) {
        for (group, points) in &self.0 {
            let least = points.iter().min_by(|(a, _), (b, _)| a.total_cmp(b));
            metric(&format!("hybrid_efficiency_mean/{group}"), mean(points), "");
            let low = points.iter().filter(|(efficiency, _)| *efficiency < LOW);
            let low = low.count() as f64 / points.len() as f64;
            metric(&format!("hybrid_efficiency_low/{group}"), low, "of_points");
            if let Some((efficiency, what)) = least {
                metric(
                    &format!("hybrid_efficiency_least/{group}"),
                    *efficiency,
                    what,
                );
            }
        }
    }
}

fn mean(points: &[(f64, String)]) -> f64 {
    points.iter().map(|(efficiency, _)| efficiency).sum::<f64>() / points.len() as f64
}

fn efficiency(scenario: &Scenario, costs: &Costs) -> f64 {
    scenario.ideal_ns() / run(scenario, ExecutionStrategy::Auto, costs)
}

/// Uniform tasks steady and with a rate that halves half-way, costs in any order, and
/// several GPUs.
pub(crate) fn points(tuning: &'static Tuning) -> Points {
    let mut points = Points::default();
    for tasks in [1_000, 10_000, 100_000] {
        for ratio in [1.0, 2.0, 5.0, 10.0, 20.0] {
            let steady = split(Shape::Uniform.costs(tasks, 1), ratio, tuning);
            let half = 0.5 * steady.ideal_ns();
            let load = Some(Load {
                from_ns: half,
                times: 2.0,
            });
            for changes in ["steady", "cpu", "gpu"] {
                let mut scenario = steady.clone();
                match changes {
                    "cpu" => scenario.cpu_load = load,
                    "gpu" => scenario.gpus[0].load = load,
                    _ => {}
                }
                let what = format!("{tasks}/{ratio}:1/{changes}");
                points.add(
                    "uniform/warm".into(),
                    &what,
                    efficiency(&scenario, &learned(&steady)),
                );
                points.add(
                    "uniform/cold".into(),
                    &what,
                    efficiency(&scenario, &Costs::default()),
                );
            }
            for shape in Shape::ORDERS {
                let tasks = tasks.max(2_000);
                let scenario = split(shape.costs(tasks, 1), ratio, tuning);
                let what = format!("{tasks}/{ratio}:1");
                points.add(
                    format!("{}/warm", shape.name()),
                    &what,
                    efficiency(&scenario, &learned(&scenario)),
                );
                points.add(
                    format!("{}/cold", shape.name()),
                    &what,
                    efficiency(&scenario, &Costs::default()),
                );
            }
            // Wherever the block lies, and in further batches: the devices may meet in it.
            for from in BLOCKS {
                let tasks = tasks.max(2_000);
                let scenario = split(Shape::Block(from).costs(tasks, 1), ratio, tuning);
                let costs = learned(&scenario);
                for batch in 6..=12 {
                    let what = format!("{tasks}/{ratio}:1/at_{from}/batch_{batch}");
                    let efficiency = efficiency(&scenario, &costs);
                    points.add("block_anywhere/warm".into(), &what, efficiency);
                }
            }
            for gpus in 2..=4 {
                let scenario = several(&steady, gpus);
                let what = format!("{tasks}/{ratio}:1");
                points.add(
                    format!("{gpus}_gpus/warm"),
                    &what,
                    efficiency(&scenario, &learned(&scenario)),
                );
                points.add(
                    format!("{gpus}_gpus/cold"),
                    &what,
                    efficiency(&scenario, &Costs::default()),
                );
            }
        }
    }
    points
}

pub(crate) fn print(tuning: &'static Tuning) {
    points(tuning).print();
}

/// The same with several GPUs, each half as fast as the one before; a launch on each
/// costs 1 % of the whole.
fn several(steady: &Scenario, gpus: usize) -> Scenario {
    let mut scenario = steady.clone();
    let first = scenario.gpus[0];
    scenario.gpus = (0..gpus)
        .map(|index| breakeven::testing::ScenarioGpu {
            task_ns: first.task_ns * f64::from(1 << index),
            launch_ns: 0.0,
            ..first
        })
        .collect();
    let launch_ns = 0.01 * scenario.ideal_ns();
    scenario
        .gpus
        .iter_mut()
        .for_each(|gpu| gpu.launch_ns = launch_ns);
    scenario
}
