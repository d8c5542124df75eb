//! The judged metric: one value per run.

use std::fmt;

use breakeven_profile::profile::{Counter, Operation, Run};
use breakeven_profile::stats::quantile_of_sorted;
use breakeven_profile::unit;
use serde::{Serialize, Serializer};

use crate::page::figures::Unit;
use crate::winner::median;

/// A metric that every profile may have.
#[derive(Debug)]
pub struct Known {
    /// Its names; the first is printed.
    pub names: &'static [&'static str],
    /// What it is, in a few words.
    pub about: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// True if less is worse.
    pub less_is_worse: bool,
    /// True for a count, which may be equal in every run and then has no noise.
    pub is_count: bool,
    /// How to have it recorded, after a space; empty if it always is.
    pub(super) how: &'static str,
    /// The value of a run. Throughput counts items if both sides have them, else calls.
    read: fn(&Operation, &Run, by_items: bool) -> Option<f64>,
}

/// What most of them are.
const TIME: Known = Known {
    names: &[],
    about: "",
    unit: Unit::Ms,
    less_is_worse: false,
    is_count: false,
    how: "",
    read: |_, _, _| None,
};

const RECORDED: &str = " by the recorder: how often a benchmark tool repeats is its own choice";
const ENERGY: &str = " (`breakeven profile` measures it where the machine has a counter)";

/// All metrics that are not counters.
#[rustfmt::skip]
pub static METRICS: [Known; 9] = [
    Known { names: &["time", "median"], about: "the median of a run's calls", read: |_, run, _| Some(median(run.samples_ns.iter().copied())? / 1e6), ..TIME },
    Known { names: &["mean"], about: "the mean of a run's calls", read: |_, run, _| Some(run.total_ns() / calls(run)? / 1e6), ..TIME },
    Known { names: &["p95"], about: "the time that 95 % of a run's calls stay within", read: |_, run, _| quantile(run, 0.95), ..TIME },
    Known { names: &["p99"], about: "the time that 99 % of a run's calls stay within", read: |_, run, _| quantile(run, 0.99), ..TIME },
    Known { names: &["total"], about: "the time of all calls in a run of a recorded program", how: RECORDED, read: |operation, run, _| recorded(operation, run).map(|_| run.total_ns() / 1e6), ..TIME },
    Known { names: &["memory"], about: "the largest memory of a call", unit: Unit::Bytes, is_count: true, read: |operation, run, _| run.memory_bytes.or(operation.memory_bytes).map(|bytes| bytes as f64), ..TIME },
    Known { names: &["energy"], about: "the energy of a call, idle power included", unit: Unit::Joules, how: ENERGY, read: |_, run, _| run.energy.as_ref()?.joules_per_call(), ..TIME },
    Known { names: &["calls"], about: "the number of calls in a run of a recorded program", unit: Unit::Count, is_count: true, how: RECORDED, read: |operation, run, _| recorded(operation, run), ..TIME },
    Known { names: &["throughput"], about: "items, else calls, per second of call time; less is worse", unit: Unit::PerS, less_is_worse: true, read: throughput, ..TIME },
];

fn throughput(operation: &Operation, run: &Run, by_items: bool) -> Option<f64> {
    let items = operation.items.filter(|_| by_items).unwrap_or(1);
    Some(items as f64 * calls(run)? * 1e9 / run.total_ns())
}

/// A quantile of a run's samples, ms.
fn quantile(run: &Run, q: f64) -> Option<f64> {
    let mut samples = run.samples_ns.clone();
    samples.sort_unstable_by(f64::total_cmp);
    Some(quantile_of_sorted(&samples, q)? / 1e6)
}

/// The number of calls, if there are any.
fn calls(run: &Run) -> Option<f64> {
    Some(run.calls() as f64).filter(|calls| *calls > 0.0)
}

/// The number of calls in a program: a benchmark tool chooses its number of repetitions itself.
fn recorded(operation: &Operation, run: &Run) -> Option<f64> {
    calls(run).filter(|_| operation.is_recorded())
}

/// The quantity of an operation that is judged, one value per run.
///
/// Parses a name of [`METRICS`]; any other text is the name of a counter.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// One of [`METRICS`].
    Known(&'static Known),
    /// The operations' counter of that name. The operations state its unit and direction; both are
    /// empty in a request.
    Counter(String, Counter),
}

impl Default for Metric {
    fn default() -> Self {
        Self::TIME
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known(known) => known.names[0],
            Self::Counter(name, _) => name,
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
        let known = METRICS.iter().find(|known| known.names.contains(&text));
        let counter = || Self::Counter(text.to_owned(), Counter::default());
        known.map_or_else(counter, Self::Known)
    }
}

impl Metric {
    /// The median of a run's calls.
    pub const TIME: Self = Self::Known(&METRICS[0]);
    /// The mean of a run's calls.
    pub const MEAN: Self = Self::Known(&METRICS[1]);
    /// The largest memory of a call.
    pub const MEMORY: Self = Self::Known(&METRICS[5]);
    /// The energy of a call.
    pub const ENERGY: Self = Self::Known(&METRICS[6]);
    /// The number of calls.
    pub const CALLS: Self = Self::Known(&METRICS[7]);

    /// The names of [`METRICS`].
    pub fn names() -> String {
        let names = METRICS.iter().flat_map(|known| known.names);
        names.copied().collect::<Vec<_>>().join(", ")
    }

    /// The value of one run, in the metric's unit; `None` if the profile lacks it.
    pub(crate) fn of(&self, operation: &Operation, run: &Run, by_items: bool) -> Option<f64> {
        match self {
            Self::Known(known) => (known.read)(operation, run, by_items),
            // A ratio of negative values has no meaning.
            Self::Counter(name, _) => {
                (run.counters.get(name).copied()).filter(|value| *value >= 0.0)
            }
        }
    }

    /// A value in the metric's unit: `1.24 ms`, `10 KiB`, `3.2 mJ`, `20`, `1 234 /s`.
    pub fn text(&self, value: f64) -> String {
        match self {
            Self::Known(known) => known.unit.text(value),
            Self::Counter(_, counter) if counter.unit.is_empty() => unit::count(value),
            Self::Counter(_, counter) => format!("{} {}", unit::count(value), counter.unit),
        }
    }

    pub(super) fn is_count(&self) -> bool {
        match self {
            Self::Known(known) => known.is_count,
            Self::Counter(..) => true,
        }
    }

    /// 1 if more is worse, −1 if less is worse.
    pub(crate) fn worse(&self) -> f64 {
        let less = match self {
            Self::Known(known) => known.less_is_worse,
            Self::Counter(_, counter) => counter.higher_is_better,
        };
        if less { -1.0 } else { 1.0 }
    }

    /// How to have it recorded, after a space.
    pub(super) fn how(&self) -> String {
        match self {
            Self::Known(known) => known.how.to_owned(),
            Self::Counter(..) => {
                let names = Self::names();
                format!(" (there are {names}, and the counters of the profiles)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_that_the_code_names() {
        let named = [
            Metric::TIME,
            Metric::MEAN,
            Metric::MEMORY,
            Metric::ENERGY,
            Metric::CALLS,
        ];
        let names = named.map(|metric| metric.to_string());
        assert_eq!(names, ["time", "mean", "memory", "energy", "calls"]);
    }
}
