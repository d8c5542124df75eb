//! The input of a schedule: the orders of the decision, and what is known about each device.

use std::sync::Arc;

use super::rate::LEAST;
use super::{Ns, Rate};
use crate::plan::{
    Cost, Decision, Further, OperationCosts, Order, Orders, Shape, Tuning, probe_tasks,
};

/// The input of a schedule.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Tasks of the batch.
    pub tasks: usize,
    /// CPU workers.
    pub workers: usize,
    /// The orders of the decision.
    pub orders: Orders,
    /// Launches must end often, because a deadline or a progress bar is checked.
    pub is_watched: bool,
    /// The batch ends then, ns from its start: no launch begins that would end later.
    pub deadline: Option<Ns>,
    /// Time of a task on one worker, ns, if known before.
    pub cpu: Option<Ns>,
    /// The function takes several tasks a call …
    pub is_call: bool,
    /// … with this fixed cost, ns, if known before.
    pub call_ns: Option<Ns>,
    /// In the order of the orders.
    pub gpus: Vec<GpuSetup>,
    /// Where in the batch the work is expected, if known.
    pub shape: Option<Arc<Shape>>,
    /// Tasks that the CPU may run in place of GPUs that fail at them.
    pub may_fall_back: usize,
    /// The constants of the schedule.
    pub tuning: &'static Tuning,
}

/// What is known about a GPU before a batch.
#[derive(Debug, Clone, Copy)]
pub struct GpuSetup {
    /// The time of a launch.
    pub rate: Rate,
    /// The rate was stated, not measured.
    pub is_stated: bool,
    /// Tasks of a first launch that measures it.
    pub first_tasks: usize,
    /// After a quarantine its first span is one task, and no other is launched until that is done.
    pub on_probation: bool,
    /// Most tasks in a launch, limited by the device's memory and its own limit.
    pub fits: usize,
    /// Launches that may be in flight at once.
    pub depth: usize,
    /// Cost of a further piece of a batch; none if nothing was measured.
    pub further: Option<Further>,
}

impl GpuSetup {
    /// A device about which nothing is known.
    pub const UNKNOWN: Self = Self {
        rate: Rate::UNKNOWN,
        is_stated: false,
        first_tasks: 1,
        on_probation: false,
        fits: usize::MAX,
        depth: 1,
        further: None,
    };
}

impl Setup {
    /// Creates the input for a batch according to its decision and the limits that the devices
    /// report.
    pub fn of(
        decision: &Decision,
        costs: &OperationCosts,
        (tasks, workers): (usize, usize),
        gpus: &[GpuSetup],
        tuning: &'static Tuning,
    ) -> Self {
        let orders = &decision.orders;
        let is_shared = orders.cpu == Order::AsMuchAsPays && orders.use_gpus();
        let beside = |cost: &Cost| if is_shared { cost.beside } else { 1.0 };
        let gpus = gpus.iter().enumerate().map(|(index, gpu)| {
            let known = costs.gpu(index);
            GpuSetup {
                rate: rate(costs, index, tasks, beside),
                is_stated: known.cost.is_some_and(|cost| cost.observations == 0),
                first_tasks: probe_tasks(tasks, known.cost.as_ref(), tuning),
                further: known.further(),
                ..*gpu
            }
        });
        Self {
            tasks,
            workers: workers.max(1),
            orders: orders.clone(),
            is_watched: false,
            deadline: None,
            cpu: costs.cpu.map(|cost| {
                let per_task = cost.per_task_ns * beside(&cost);
                (per_task * cost.at_once.max(1) as f64).max(LEAST)
            }),
            is_call: false,
            call_ns: costs.call_ns,
            gpus: gpus.collect(),
            shape: costs.shape.clone(),
            may_fall_back: usize::MAX,
            tuning,
        }
    }
}

/// Returns what is known about a GPU's rate.
fn rate(costs: &OperationCosts, index: usize, tasks: usize, beside: impl Fn(&Cost) -> f64) -> Rate {
    let known = costs.gpu(index);
    let Some(cost) = known.cost else {
        return Rate {
            fixed: known.launch_ns,
            ..Rate::UNKNOWN
        };
    };
    let (tasks, seen) = (tasks as u64, cost.most_alike());
    let alone_ns = costs.cpu.map_or(0.0, |cpu| cpu.predict_ns(tasks));
    let seen_ns = cost.fixed_ns + seen * cost.per_task_ns;
    // A launch of twice the tasks would show it, and is worth its worst case.
    let could_show = 2.0 * seen <= tasks as f64 && 2.0 * seen_ns <= alone_ns;
    if cost.observations > 0 && !cost.is_fixed_known() && could_show {
        return Rate::of_one_size(seen, seen_ns);
    }
    Rate::known(cost.fixed_ns, cost.per_task_ns * beside(&cost))
}
