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

const fn known(
    names: &'static [&'static str],
    about: &'static str,
    unit: Unit,
    read: fn(&Operation, &Run, bool) -> Option<f64>,
) -> Known {
    let (less_is_worse, is_count, how) = (false, false, "");
    Known {
        names,
        about,
        unit,
        less_is_worse,
        is_count,
        how,
        read,
    }
}

const RECORDED: &str = " by the recorder: how often a benchmark tool repeats is its own choice";
const ENERGY: &str = " (`breakeven profile --energy` says what it needs)";

/// All metrics that are not counters.
#[rustfmt::skip]
pub static METRICS: [Known; 9] = [
    known(&["time", "median"], "the median of a run's calls", Unit::Ms, |_, run, _| Some(median(run.samples_ns.iter().copied())? / 1e6)),
    known(&["mean"], "the mean of a run's calls", Unit::Ms, |_, run, _| Some(run.total_ns() / calls(run)? / 1e6)),
    known(&["p95"], "the time that 95 % of a run's calls stay within", Unit::Ms, |_, run, _| quantile(run, 0.95)),
    known(&["p99"], "the time that 99 % of a run's calls stay within", Unit::Ms, |_, run, _| quantile(run, 0.99)),
    Known { how: RECORDED, ..known(&["total"], "the time of all calls of a recorded program", Unit::Ms, |operation, run, _| recorded(operation, run).map(|_| run.total_ns() / 1e6)) },
    Known { is_count: true, ..known(&["memory"], "the largest memory of a call", Unit::Bytes, |operation, run, _| run.memory_bytes.or(operation.memory_bytes).map(|bytes| bytes as f64)) },
    Known { how: ENERGY, ..known(&["energy"], "the energy of a call, idle power included", Unit::Joules, |_, run, _| run.energy.as_ref()?.joules_per_call()) },
    Known { is_count: true, how: RECORDED, ..known(&["calls"], "the number of calls of a recorded program", Unit::Count, |operation, run, _| recorded(operation, run)) },
    Known { less_is_worse: true, ..known(&["throughput"], "items, else calls, per second of call time", Unit::PerS, |operation, run, by_items| {
        let items = operation.items.filter(|_| by_items).unwrap_or(1);
        Some(items as f64 * calls(run)? * 1e9 / run.total_ns())
    }) },
];

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
#[derive(Debug, Clone)]
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

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(one), Self::Known(other)) => one.names == other.names,
            (Self::Counter(name, one), Self::Counter(of, other)) => name == of && one == other,
            _ => false,
        }
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

    /// The value of one run, in the metric's unit; `None` if the profile lacks it.
    pub(super) fn of(&self, operation: &Operation, run: &Run, by_items: bool) -> Option<f64> {
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
    pub(super) fn worse(&self) -> f64 {
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
                let names = METRICS.iter().flat_map(|known| known.names);
                let names: Vec<&str> = names.copied().collect();
                format!(
                    " (there are {}, and the counters of the profiles)",
                    names.join(", ")
                )
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
