//! Why two sides cannot be compared.

use super::metric::Metric;
use super::warning::Side;

/// Why no comparison could be made; a gate never passes on it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// An option is not a number, or out of its range.
    #[error("{name} is {value}; it must be {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What may be given.
        expected: &'static str,
    },
    /// A side has no operation at all.
    #[error("the {side} holds no operations; measure again, or name another file")]
    Empty {
        /// Which.
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
    /// No operation has on both sides what was to be judged.
    #[error(
        "no operation has {metric} on both sides: {operation} lacks it {}; judge another metric, \
         or measure with it recorded{}",
        on(.sides), how(.metric)
    )]
    NothingToJudge {
        /// What was to be judged.
        metric: Metric,
        /// The first operation that is on both sides.
        operation: String,
        /// The sides on which it lacks the metric.
        sides: Vec<Side>,
    },
    /// Every operation that is on both sides has a time of zero.
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

/// What records the metric, where a command does.
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
