//! The current side against its budgets.

use breakeven_profile::profile::OperationKey;
use serde::Serialize;

use super::sides::{Measured, Pair};
use crate::budget::{Held, Limited, Limits};

/// An operation and how it stands against one of its budgets.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct HeldBudget {
    /// The operation's name.
    pub operation: String,
    /// The device's id.
    pub device: String,
    /// Elements in one call.
    pub size: Option<u64>,
    /// True where the device is a GPU that is a program on the CPU.
    pub software_gpu: bool,
    /// What is limited, and how it stands.
    #[serde(flatten)]
    pub held: Held,
}

impl HeldBudget {
    /// The operation as in "conv2d on cpu, size 65536".
    pub fn name(&self) -> String {
        let key = OperationKey {
            name: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        };
        key.label(self.software_gpu)
    }
}

/// A budget or a relative limit that nothing was held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdleBudget {
    /// What it is for, in words.
    pub budget: String,
    /// True where there is such an operation, without samples: it failed. False
    /// where there is none: the name is wrong.
    pub failed: bool,
}

/// Holds the current side against its budgets; then those that hold nothing.
pub(super) fn hold(pairs: &[Pair<'_>], limits: &Limits) -> (Vec<HeldBudget>, Vec<IdleBudget>) {
    let current = pairs.iter().filter_map(|pair| pair.current.as_ref());
    let held = current.flat_map(|measured| {
        let operation = measured.first();
        let held = limits.hold(operation, mean_ns(measured), memory_bytes(measured));
        held.into_iter().map(|held| HeldBudget {
            operation: operation.name.clone(),
            device: operation.device.clone(),
            size: operation.size,
            software_gpu: measured.is_on_software_gpu(),
            held,
        })
    });
    let held = held.collect();
    let has_samples = |side: &Option<Measured<'_>>| {
        let mut runs = side.iter().flat_map(Measured::runs);
        runs.next().is_some()
    };
    let budgets = limits.budgets.iter();
    let budgets = budgets.map(|budget| (&budget.scope, Some(budget.limited)));
    let increases = limits.increases.iter().map(|limit| (&limit.scope, None));
    let mut idle = Vec::new();
    for (scope, limited) in budgets.chain(increases) {
        let is_for = |measured: &Measured<'_>| scope.is_for(measured.first());
        let fitting = pairs
            .iter()
            .filter(|pair| pair.current.as_ref().is_some_and(is_for));
        let is_held = |pair: &Pair<'_>| match limited {
            Some(Limited::Mean) => has_samples(&pair.current),
            Some(Limited::Memory) => pair.current.as_ref().and_then(memory_bytes).is_some(),
            // An increase is over something.
            None => has_samples(&pair.current) && has_samples(&pair.baseline),
        };
        if !fitting.clone().any(is_held) {
            idle.push(IdleBudget {
                budget: scope.to_string(),
                failed: fitting.clone().any(|pair| !has_samples(&pair.current)),
            });
        }
    }
    (held, idle)
}

/// The most memory that a call of any profile held.
fn memory_bytes(measured: &Measured<'_>) -> Option<f64> {
    let all = measured
        .parts()
        .filter_map(|(_, operation)| operation.peak_memory_bytes());
    all.max().map(|bytes| bytes as f64)
}

/// The mean of all calls of all runs, ns.
fn mean_ns(measured: &Measured<'_>) -> Option<f64> {
    let (mut total_ns, mut calls) = (0.0, 0_u64);
    for (_, operation) in measured.parts() {
        total_ns += operation.total_ns();
        calls = calls.saturating_add(operation.calls());
    }
    (calls > 0).then(|| total_ns / calls as f64)
}
