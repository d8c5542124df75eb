//! Checks the current side against its budgets.

use breakeven_profile::profile::{OperationKey, Profile};
use serde::Serialize;

use super::sides::{Measured, Pair};
use crate::budget::{Held, Idle, IdleBudget, Limits, RelativeLimit};

/// An operation and the result for one of its budgets.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct HeldBudget {
    /// The operation.
    #[serde(flatten)]
    pub key: OperationKey,
    /// True if the device is a software GPU.
    pub software_gpu: bool,
    /// The limited quantity and the result.
    #[serde(flatten)]
    pub held: Held,
}

impl HeldBudget {
    /// The operation as in "conv2d on cpu, size 65536".
    pub fn name(&self) -> String {
        self.key.label(self.software_gpu)
    }
}

/// Checks the current side against its budgets, and lists the budgets that apply to no operation.
pub(super) fn hold(
    pairs: &[Pair<'_>],
    current: &[Profile],
    limits: &Limits,
) -> (Vec<HeldBudget>, Vec<IdleBudget>) {
    let measured = pairs.iter().filter_map(|pair| pair.current.as_ref());
    let held = measured.flat_map(|measured| {
        let operation = measured.first();
        let held = limits.hold(operation, mean_ns(measured), memory_bytes(measured));
        held.into_iter().map(|held| HeldBudget {
            key: operation.key(),
            software_gpu: measured.is_on_software_gpu(),
            held,
        })
    });
    let held = held.collect();
    let has_samples = |side: &Option<Measured<'_>>| {
        let mut runs = side.iter().flat_map(Measured::runs);
        runs.next().is_some()
    };
    let mut idle = limits.unmatched(current);
    idle.extend(
        limits
            .increases
            .iter()
            .filter_map(|RelativeLimit { scope, .. }| {
                let is_for = |measured: &Measured<'_>| scope.is_for(measured.first());
                let mut fitting =
                    (pairs.iter()).filter(|pair| pair.current.as_ref().is_some_and(is_for));
                // A relative limit needs a baseline.
                let is_held =
                    |pair: &Pair<'_>| has_samples(&pair.current) && has_samples(&pair.baseline);
                if fitting.clone().any(is_held) {
                    return None;
                }
                let failed = fitting.any(|pair| !has_samples(&pair.current));
                Some(IdleBudget {
                    budget: scope.to_string(),
                    why: if failed { Idle::Failed } else { Idle::Absent },
                })
            }),
    );
    (held, idle)
}

/// Largest memory of a call in any profile.
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
