//! What a decision orders each device to do. The schedule executes orders; who gets which is
//! decided in `choose`.

use serde::Serialize;

use super::ExecutionStrategy;

/// What a device does in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Nothing, unless another device fails.
    Nothing,
    /// This many tasks and no more, to measure them; for the CPU, one worker's task.
    Try(usize),
    /// Exactly this many tasks; the other devices run the remaining ones.
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
    /// The orders follow from predictions. A device without tasks helps if a launch takes far
    /// longer than predicted, and takes it back if it does not end.
    pub by_prediction: bool,
    /// GPUs begin this much later, so that the CPU is measured without them, ns.
    pub gpus_wait_ns: f64,
}

impl Orders {
    /// Returns the orders of a strategy, kept whatever the rates are. Without a GPU the CPU runs
    /// everything.
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

    /// Returns the orders of a strategy that a prediction chose.
    pub(super) fn predicted(strategy: ExecutionStrategy, tasks: usize, gpus: usize) -> Self {
        Self {
            by_prediction: true,
            ..Self::of(strategy, tasks, gpus)
        }
    }

    /// Every device works, and the measured rates decide how much each gets.
    pub(crate) fn all(gpus: usize) -> Self {
        Self {
            cpu: Order::AsMuchAsPays,
            gpus: vec![Order::AsMuchAsPays; gpus],
            by_prediction: true,
            gpus_wait_ns: 0.0,
        }
    }

    /// True if a GPU gets tasks.
    pub fn use_gpus(&self) -> bool {
        self.gpus.iter().any(|order| *order != Order::Nothing)
    }

    /// True if a device is tried with few tasks.
    pub(crate) fn try_gpu(&self) -> bool {
        self.gpus.iter().any(|order| matches!(order, Order::Try(_)))
    }
}
