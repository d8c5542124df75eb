//! The current side against its budgets.

use breakeven_profile::profile::OperationKey;
use serde::Serialize;

use super::sides::{Measured, Pair};
use super::text;
use crate::budget::{Limits, Standing};

/// An operation's budget and how its mean stands against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldBudget {
    /// The operation's name.
    pub operation: String,
    /// The device's id.
    pub device: String,
    /// Elements in one call.
    pub size: Option<u64>,
    /// True where the device is a GPU that is a program on the CPU.
    pub software_gpu: bool,
    /// Mean time of all calls, ns.
    pub mean_ns: f64,
    /// Longest mean time that is within the budget, ns.
    pub max_ns: f64,
    /// How the mean stands.
    pub standing: Standing,
}

impl HeldBudget {
    /// The operation as in "conv2d on cpu, size 65536".
    pub fn name(&self) -> String {
        let key = OperationKey {
            name: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        };
        text::name(&key, self.software_gpu)
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
    let held = pairs
        .iter()
        .filter_map(|pair| pair.current.as_ref())
        .filter_map(|measured| {
            let operation = measured.first();
            let budget = limits.budget_of(operation)?;
            let mean_ns = mean_ns(measured)?;
            Some(HeldBudget {
                operation: operation.name.clone(),
                device: operation.device.clone(),
                size: operation.size,
                software_gpu: measured.is_on_software_gpu(),
                mean_ns,
                max_ns: budget.max_ns,
                standing: budget.standing(mean_ns, limits.thresholds.near_budget),
            })
        })
        .collect();
    let has_samples = |side: &Option<Measured<'_>>| {
        let mut runs = side.iter().flat_map(Measured::runs);
        runs.next().is_some()
    };
    let budgets = limits.budgets.iter().map(|budget| (&budget.scope, false));
    let increases = limits.increases.iter().map(|limit| (&limit.scope, true));
    let mut idle = Vec::new();
    for (scope, needs_baseline) in budgets.chain(increases) {
        let is_for = |measured: &Measured<'_>| scope.is_for(measured.first());
        let fitting = pairs
            .iter()
            .filter(|pair| pair.current.as_ref().is_some_and(is_for));
        let is_held = |pair: &Pair<'_>| {
            has_samples(&pair.current) && (!needs_baseline || has_samples(&pair.baseline))
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

/// The mean of all calls of all runs, ns.
fn mean_ns(measured: &Measured<'_>) -> Option<f64> {
    let (mut total_ns, mut calls) = (0.0, 0);
    for (_, operation) in measured.parts() {
        total_ns += operation.total_ns();
        calls += operation.calls();
    }
    (calls > 0).then(|| total_ns / calls as f64)
}
