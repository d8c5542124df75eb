//! Why two sides cannot be compared.

use super::metric::Metric;
use super::warning::Side;

/// Why no comparison was possible; a gate never passes on it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// An option is not a number, or out of range.
    #[error("{name} is {value}; it must be {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed values.
        expected: &'static str,
    },
    /// A side has no operations.
    #[error("the {side} holds no operations; measure again, or name another file")]
    Empty {
        /// The side.
        side: Side,
    },
    /// No operation is on both sides.
    #[error(
        "no operation is on both sides: the baseline has {baseline}, and the current side \
         {current}; an operation is identified by name, device and size"
    )]
    NothingInCommon {
        /// One operation of the baseline.
        baseline: String,
        /// One operation of the current side.
        current: String,
    },
    /// No operation has the judged metric on both sides.
    #[error(
        "no operation has {metric} on both sides: {operation} lacks it {}; judge another metric, \
         or measure with it recorded{}",
        on(.sides), how(.metric)
    )]
    NothingToJudge {
        /// The judged metric.
        metric: Metric,
        /// The first operation that is on both sides.
        operation: String,
        /// The sides on which that operation lacks the metric.
        sides: Vec<Side>,
    },
    /// Every operation on both sides has a time of zero.
    #[error(
        "every operation on both sides has a run with a time of 0 ns, which is below the clock's \
         resolution; measure more work in a call"
    )]
    ZeroTimes,
}

/// `in the baseline and on the current side`.
fn on(sides: &[Side]) -> String {
    let each = sides.iter().map(|side| match side {
        Side::Baseline => "in the baseline",
        Side::Current => "on the current side",
    });
    each.collect::<Vec<_>>().join(" and ")
}

/// The command that records the metric, if there is one.
fn how(metric: &Metric) -> &'static str {
    match metric {
        Metric::Counter(..) => {
            " (there are time, median, mean, p95, p99, total, memory, energy, calls, throughput, \
             and the counters of the profiles)"
        }
        Metric::Calls | Metric::Total => {
            " by the recorder: how often a benchmark tool repeats is its own choice"
        }
        Metric::Energy => " (`breakeven profile --energy` says what it needs)",
        _ => "",
    }
}
