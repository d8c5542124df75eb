//! What a decision orders each device to do. The schedule executes orders; who gets which is
//! decided here and in `choose`.

use serde::Serialize;

use super::choose::tells_sizes;
use super::{Basis, Cost, Decision, Evidence, ExecutionStrategy, OperationCosts, Tuning};

/// What a device does in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Nothing, unless another device fails.
    Nothing,
    /// This many tasks and no more, to measure what they take; of the CPU one worker's task.
    Try(usize),
    /// Exactly this many tasks; the other devices have the rest.
    Share(usize),
    /// As many tasks as let all devices end together, by the rates measured during the batch.
    AsMuchAsPays,
}

/// The orders of all devices. GPUs take tasks from the front of the batch, the CPU from the
/// back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Orders {
    /// The CPU's.
    pub cpu: Order,
    /// Each GPU's, in the machine's order.
    pub gpus: Vec<Order>,
    /// They follow from predictions: a device without tasks helps when a launch takes far
    /// longer than predicted, and takes it back when it does not end.
    pub by_prediction: bool,
    /// GPUs begin this much later, so that the CPU is measured without them, ns.
    pub gpus_wait_ns: f64,
}

impl Orders {
    /// Those of a strategy, kept whatever the rates are. Without a GPU all is the CPU's.
    pub(crate) fn of(strategy: ExecutionStrategy, tasks: usize, gpus: usize) -> Self {
        let (on_gpus, on_cpu) = strategy.shares(tasks);
        let (cpu, each) = match strategy {
            _ if on_gpus == 0 || gpus == 0 => (Order::AsMuchAsPays, Order::Nothing),
            ExecutionStrategy::Hybrid { .. } => (Order::Share(on_cpu), Order::AsMuchAsPays),
            _ => (Order::Nothing, Order::AsMuchAsPays),
        };
        Self {
            cpu,
            gpus: vec![each; gpus],
            by_prediction: false,
            gpus_wait_ns: 0.0,
        }
    }

    /// Every device works, and the measured rates decide who does how much.
    pub(crate) fn all(gpus: usize) -> Self {
        Self {
            cpu: Order::AsMuchAsPays,
            gpus: vec![Order::AsMuchAsPays; gpus],
            by_prediction: true,
            gpus_wait_ns: 0.0,
        }
    }

    /// Those of a decision by the cost model.
    pub(super) fn of_model(
        decision: &Decision,
        costs: &OperationCosts,
        tasks: usize,
        tuning: &Tuning,
    ) -> Self {
        let gpus = costs.gpus.len();
        // A device that helps takes what the choice of an objective saves.
        let is_aimed = decision.is_least() || decision.keeps_parts();
        let is_shared = match decision.strategy {
            ExecutionStrategy::Hybrid { .. } => !decision.keeps_parts(),
            _ if is_aimed => false,
            ExecutionStrategy::GpuOnly => cpu_could_help(decision, tuning),
            _ => gpu_could_help(decision, costs, tasks as u64, tuning),
        };
        match is_shared {
            true => Self::all(gpus),
            false => Self {
                by_prediction: true,
                ..Self::of(decision.strategy, tasks, gpus)
            },
        }
    }

    /// True if a GPU gets tasks.
    pub(crate) fn use_gpus(&self) -> bool {
        self.gpus.iter().any(|order| *order != Order::Nothing)
    }

    /// True if a device is tried with few tasks.
    pub(crate) fn try_gpu(&self) -> bool {
        self.gpus.iter().any(|order| matches!(order, Order::Try(_)))
    }
}

/// True if devices hinder each other so much that sharing makes the choice slower.
fn sharing_hinders(decision: &Decision, costs: &OperationCosts) -> bool {
    let [_, _, split] = &decision.candidates;
    let times = split.predicted_ns.zip(decision.predicted_ns());
    costs.cpu.is_some_and(|cpu| cpu.beside > 1.0)
        && times.is_some_and(|(split, chosen)| split > chosen)
}

/// True if the CPU could help should a prediction without any measurement be wrong.
fn cpu_could_help(decision: &Decision, tuning: &Tuning) -> bool {
    let [cpu, gpu, _] = &decision.candidates;
    let is_stated = cpu.evidence.min(gpu.evidence) == Evidence::Heuristic;
    let times = cpu.predicted_ns.zip(gpu.predicted_ns);
    // Of a ratio of two such times.
    let most_off = tuning.most_off * tuning.most_off;
    is_stated && times.is_some_and(|(cpu, gpu)| cpu <= most_off * gpu)
}

/// True if a GPU could help should the CPU be slower than predicted. One measured in launches
/// of one size only would have to grow them at the batch's cost: it helps only if the CPU's
/// cost, too, is known from tasks of another size only.
fn gpu_could_help(
    decision: &Decision,
    costs: &OperationCosts,
    tasks: u64,
    tuning: &Tuning,
) -> bool {
    let [cpu, ..] = &decision.candidates;
    let is_long = |ns: &f64| *ns >= tuning.worth_correcting_ns;
    let predicted_ns = cpu.predicted_ns.filter(is_long);
    let Some(cpu_ns) = predicted_ns.filter(|_| !sharing_hinders(decision, costs)) else {
        return false;
    };
    let is_told = |gpu: &Cost| gpu.scale != 1.0 || tells_sizes(gpu, tasks);
    let known = costs.gpus.iter().filter_map(|gpu| gpu.cost);
    known
        .filter(is_told)
        .any(|gpu| gpu.predict_ns(1) <= 2.0 * cpu_ns)
}

impl Decision {
    /// True if nothing was measured before: every device begins, and the measured rates decide
    /// the rest.
    pub fn measures_all(&self) -> bool {
        matches!(self.basis, Basis::Rule(_)) && self.orders.use_gpus()
    }
}
