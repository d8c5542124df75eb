//! The batches that are scheduled.

use std::cell::RefCell;

use breakeven::plan::ExecutionStrategy;
use breakeven::plan::Tuning;
use breakeven::testing::{Scenario, ScenarioGpu};
use breakeven_schedule::plan::Model;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// CPU workers of the grid's machine.
pub(crate) const WORKERS: usize = 8;

/// Time of a task on one worker, ns.
pub(crate) const TASK_NS: f64 = 50_000.0;

/// How tasks differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Uniform,
    /// Exponential costs.
    Skewed,
    /// One task is a twentieth of all work, and at least ten others.
    OneHuge,
    /// A half whose tasks cost nine times as much, behind or before the others.
    CheapThenDear,
    DearThenCheap,
    Ascending,
    Descending,
    /// Eight times from cheap to expensive.
    Sawtooth,
    /// A stretch of 5 % of the tasks has half of the work; it begins at that part.
    Block(f64),
}

impl Shape {
    /// Of the grid of regrets.
    pub(crate) const GRID: [Self; 3] = [Self::Uniform, Self::Skewed, Self::OneHuge];

    /// Costs in some order.
    pub(crate) const ORDERS: [Self; 8] = [
        Self::CheapThenDear,
        Self::DearThenCheap,
        Self::Ascending,
        Self::Descending,
        Self::Sawtooth,
        Self::Block(0.05),
        Self::Block(0.45),
        Self::Block(0.9),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Block(from) => format!("block_at_{:.0}", 100.0 * from),
            shape => format!("{shape:?}").to_lowercase(),
        }
    }

    pub(crate) fn costs(self, tasks: usize, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let part = |task: usize| (task as f64 + 0.5) / tasks as f64;
        let mut costs: Vec<f64> = (0..tasks)
            .map(|task| match self {
                Self::Uniform | Self::OneHuge => 1.0,
                Self::Skewed => -(1.0 - random.random::<f64>()).ln(),
                Self::CheapThenDear => {
                    if part(task) < 0.5 {
                        1.0
                    } else {
                        9.0
                    }
                }
                Self::DearThenCheap => {
                    if part(task) < 0.5 {
                        9.0
                    } else {
                        1.0
                    }
                }
                Self::Ascending => part(task),
                Self::Descending => 1.0 - part(task),
                Self::Sawtooth => 0.1 + (8.0 * part(task)).fract(),
                Self::Block(from) => {
                    if (from..from + 0.05).contains(&part(task)) {
                        19.0
                    } else {
                        1.0
                    }
                }
            })
            .collect();
        if self == Self::OneHuge {
            let place = random.random_range(0..tasks);
            costs[place] = (tasks as f64 / 19.0).max(10.0);
        }
        costs
    }
}

/// A batch of 8 workers and a GPU that is `ratio` times as fast as all of them.
pub(crate) fn batch(
    costs: Vec<f64>,
    ratio: f64,
    launch_ns: f64,
    tuning: &'static Tuning,
) -> Scenario {
    let mut scenario = Scenario::new(costs, WORKERS);
    scenario.cpu_task_ns = TASK_NS;
    scenario.tuning = tuning;
    scenario.gpus = vec![ScenarioGpu {
        task_ns: TASK_NS / WORKERS as f64 / ratio,
        launch_ns,
        ..ScenarioGpu::default()
    }];
    scenario
}

/// What a program learned until now.
pub(crate) type Costs = RefCell<Model>;

/// The same where a launch costs 1 % of the whole.
pub(crate) fn split(costs: Vec<f64>, ratio: f64, tuning: &'static Tuning) -> Scenario {
    let per_task = TASK_NS / WORKERS as f64;
    let task_ns = per_task / ratio;
    let total = costs.len() as f64 / (1.0 / per_task + 1.0 / task_ns);
    batch(costs, ratio, 0.01 * total, tuning)
}

/// What the cost model knows after five batches like this one.
pub(crate) fn learned(scenario: &Scenario) -> Costs {
    let costs = Costs::default();
    for _ in 0..5 {
        let _ = run(scenario, ExecutionStrategy::Auto, &costs);
    }
    costs
}

pub(crate) fn run(scenario: &Scenario, strategy: ExecutionStrategy, costs: &Costs) -> f64 {
    let run = scenario.run(strategy, &mut costs.borrow_mut());
    run.expect("the strategy is one").makespan_ns
}
