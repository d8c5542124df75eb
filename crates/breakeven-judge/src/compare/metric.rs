//! The judged metric: one value per run.

use std::fmt;

use breakeven_profile::profile::{Counter, Operation, Run};
use breakeven_profile::stats::quantile_of_sorted;
use serde::{Serialize, Serializer};

use crate::winner::median;

/// The quantity of an operation that is judged, one value per run.
///
/// Parses one of [`NAMES`](Self::NAMES); any other text is the name of a counter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Metric {
    /// The median of a run's samples. Unit: ms.
    #[default]
    Time,
    /// The mean of a run's calls. Unit: ms.
    Mean,
    /// The 95th percentile of a run's samples. Unit: ms.
    P95,
    /// The 99th percentile of a run's samples. Unit: ms.
    P99,
    /// The total time of a run's calls, if a recorder measured them in a program; a benchmark tool
    /// chooses its number of repetitions itself. Unit: ms.
    Total,
    /// The largest memory of a call. Unit: bytes.
    Memory,
    /// The energy of a call, idle power included. Unit: J.
    Energy,
    /// The number of calls, if a recorder counted them in a program.
    Calls,
    /// Items, else calls, per second of call time. Less is worse.
    Throughput,
    /// The operations' counter of that name. The operations state its unit and direction; both are
    /// empty in a request.
    Counter(String, Counter),
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::NAMES.into_iter().find(|(_, metric)| metric == self);
        f.write_str(match self {
            Self::Counter(name, _) => name,
            _ => known.map_or("", |(name, _)| name),
        })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<&str> for Metric {
    fn from(text: &str) -> Self {
        let known = Self::NAMES.into_iter().find(|(name, _)| *name == text);
        let counter = || Self::Counter(text.to_owned(), Counter::default());
        known.map_or_else(counter, |(_, metric)| metric)
    }
}

impl Metric {
    /// The metrics with names; any other name is a counter's.
    pub const NAMES: [(&str, Self); 10] = [
        ("time", Self::Time),
        ("median", Self::Time),
        ("mean", Self::Mean),
        ("p95", Self::P95),
        ("p99", Self::P99),
        ("total", Self::Total),
        ("memory", Self::Memory),
        ("energy", Self::Energy),
        ("calls", Self::Calls),
        ("throughput", Self::Throughput),
    ];

    /// The value of one run, in the metric's unit; `None` if the profile lacks it.
    /// Throughput counts items if both sides have them (`by_items`), else calls.
    pub(super) fn of(&self, operation: &Operation, run: &Run, by_items: bool) -> Option<f64> {
        let quantile = |q| {
            let mut samples = run.samples_ns.clone();
            samples.sort_unstable_by(f64::total_cmp);
            quantile_of_sorted(&samples, q)
        };
        match self {
            Self::Time => Some(median(run.samples_ns.iter().copied())? / 1e6),
            Self::P95 => Some(quantile(0.95)? / 1e6),
            Self::P99 => Some(quantile(0.99)? / 1e6),
            Self::Total | Self::Calls if !operation.is_recorded() => None,
            Self::Total | Self::Calls | Self::Mean | Self::Throughput if run.calls() == 0 => None,
            Self::Mean => Some(run.total_ns() / run.calls() as f64 / 1e6),
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
            // A ratio of negative values has no meaning.
            Self::Counter(name, _) => run
                .counters
                .get(name)
                .copied()
                .filter(|value| *value >= 0.0),
        }
    }

    /// True if the metric is a count, which may be equal in every run and then has no noise.
    pub(super) fn is_count(&self) -> bool {
        matches!(self, Self::Memory | Self::Calls | Self::Counter(..))
    }

    /// 1 if more is worse, −1 if less is worse.
    pub(super) fn worse(&self) -> f64 {
        match self {
            Self::Throughput => -1.0,
            Self::Counter(_, counter) if counter.higher_is_better => -1.0,
            _ => 1.0,
        }
    }
}
