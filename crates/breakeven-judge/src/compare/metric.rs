//! What is judged: one value per run.

use std::fmt;

use breakeven_profile::profile::{Operation, Run};
use breakeven_profile::stats::quantile_of_sorted;
use serde::{Deserialize, Serialize};

use crate::winner::median;

/// The quantity of an operation that is judged, one value per run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// The median of a run's samples. Unit: ms.
    #[default]
    Time,
    /// The mean of a run's calls. Unit: ms.
    Mean,
    /// The time that 95 % of a run's samples stay within. Unit: ms.
    P95,
    /// The time that 99 % of a run's samples stay within. Unit: ms.
    P99,
    /// The time of all calls of a run together. Unit: ms.
    Total,
    /// The most memory that a call held. Unit: bytes.
    Memory,
    /// The energy of a call, idle power included. Unit: J.
    Energy,
    /// The number of calls.
    Calls,
    /// Items, else calls, per second of the time of all calls. Less is worse.
    Throughput,
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Metric {
    /// The value of one run that has samples, in the metric's unit; `None` where
    /// the profile does not tell. Throughput counts items where both sides tell
    /// them (`by_items`), else calls.
    pub(super) fn of(self, operation: &Operation, run: &Run, by_items: bool) -> Option<f64> {
        let quantile = |q| {
            let mut samples = run.samples_ns.clone();
            samples.sort_unstable_by(f64::total_cmp);
            quantile_of_sorted(&samples, q)
        };
        match self {
            Self::Time => Some(median(run.samples_ns.iter().copied())? / 1e6),
            Self::Mean => Some(run.total_ns() / run.calls() as f64 / 1e6),
            Self::P95 => Some(quantile(0.95)? / 1e6),
            Self::P99 => Some(quantile(0.99)? / 1e6),
            Self::Total => Some(run.total_ns() / 1e6),
            Self::Memory => run
                .memory_bytes
                .or(operation.memory_bytes)
                .map(|bytes| bytes as f64),
            Self::Energy => run.energy.as_ref()?.joules_per_call(),
            Self::Calls => Some(run.calls() as f64),
            Self::Throughput => {
                let items = operation.items.filter(|_| by_items).unwrap_or(1);
                Some(items as f64 * run.calls() as f64 * 1e9 / run.total_ns())
            }
        }
    }

    /// True where a count is compared: it may be the same in every run, and then
    /// has no noise.
    pub(super) fn is_count(self) -> bool {
        matches!(self, Self::Memory | Self::Calls)
    }

    /// 1 where more is worse, −1 where less is.
    pub(super) fn worse(self) -> f64 {
        match self {
            Self::Throughput => -1.0,
            _ => 1.0,
        }
    }
}
