//! What a schedule starts from: the orders of the decision, and what is known of each device.

use std::sync::Arc;

use super::rate::LEAST;
use super::{Ns, Rate};
use crate::plan::{
    Cost, Decision, Further, OperationCosts, Order, Orders, Shape, Tuning, probe_tasks,
};

/// What a batch is scheduled by.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Tasks of the batch.
    pub tasks: usize,
    /// CPU workers.
    pub workers: usize,
    /// What was decided.
    pub orders: Orders,
    /// Launches end often, so that a deadline or a progress bar is looked at.
    pub is_watched: bool,
    /// Time of a task on one worker, ns, if it is known before.
    pub cpu: Option<Ns>,
    /// The function takes several tasks a call …
    pub is_call: bool,
    /// … which costs so many ns whatever it holds, if that is known before.
    pub call_ns: Option<Ns>,
    /// In the order of the orders.
    pub gpus: Vec<GpuSetup>,
    /// Where in the batch the work is to be expected, if that is known.
    pub shape: Option<Arc<Shape>>,
    /// Tasks that the CPU may do in the place of GPUs that fail at them.
    pub may_fall_back: usize,
    /// The constants by which it is scheduled.
    pub tuning: &'static Tuning,
}

/// What is known of a GPU before a batch.
#[derive(Debug, Clone, Copy)]
pub struct GpuSetup {
    /// What a launch takes.
    pub rate: Rate,
    /// The rate is nobody's measurement.
    pub is_stated: bool,
    /// Tasks of a first launch that is to measure it.
    pub first_tasks: usize,
    /// After a quarantine its first span is one task, and nothing follows until that is done.
    pub on_probation: bool,
    /// Most tasks in a launch: whose memory fits the device, and that it takes.
    pub fits: usize,
    /// Launches that may be in flight at once.
    pub depth: usize,
    /// What a further piece of a batch adds; none if nothing was measured.
    pub further: Option<Further>,
}

impl GpuSetup {
    /// A device of which nothing is known.
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
    /// A batch of so many tasks on so many workers as it was decided, with what the devices
    /// say of themselves.
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

/// What is known of a GPU's rate.
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
    // A launch of twice the tasks would tell, and is worth it at the worst.
    let could_tell = 2.0 * seen <= tasks as f64 && 2.0 * seen_ns <= alone_ns;
    if cost.observations > 0 && !cost.tells_fixed() && could_tell {
        return Rate::of_one_size(seen, seen_ns);
    }
    Rate::known(cost.fixed_ns, cost.per_task_ns * beside(&cost))
}
