//! Options of a comparison, its two sides, and why it could not be made.

use std::fmt;
use std::ops::RangeInclusive;

use breakeven_profile::profile::Profile;
use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::metric::Metric;

/// One of the two sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that is compared against.
    Baseline,
    /// The side that is judged.
    Current,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Baseline => "baseline",
            Self::Current => "current side",
        })
    }
}

/// Fewest runs per side for a verdict, unless the noise is known: on a machine with two states, two
/// or three runs of a side are often all in the same state.
pub const FEWEST_RUNS: usize = 4;

/// The change from which an operation is better or worse. It has a unit, so that 5 and 0.05 are not
/// confused; it is measured in log space, so that twice as slow and twice as fast are equally far.
///
/// ```
/// use breakeven_judge::Threshold;
///
/// assert_eq!(Threshold::percent(5.0)?, Threshold::fraction(0.05)?);
/// assert!(Threshold::fraction(5.0).is_err() && Threshold::percent(0.05).is_err());
/// # Ok::<(), breakeven_judge::CompareError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[must_use]
pub struct Threshold(f64);

impl Threshold {
    /// From percent: 5.0 is 5 %, 200.0 three times as long.
    ///
    /// # Errors
    ///
    /// [`CompareError::Option`] below 0.1 % and above 1 000 %.
    pub fn percent(percent: f64) -> Result<Self, CompareError> {
        let expected = "from 0.1 to 1000, in percent (5.0 is 5 %)";
        Self::within(percent, 0.1..=1_000.0, expected, 0.01)
    }

    /// From a fraction: 0.05 is 5 %.
    ///
    /// # Errors
    ///
    /// [`CompareError::Option`] below 0.001, and above 1, which is most likely a percentage.
    pub fn fraction(fraction: f64) -> Result<Self, CompareError> {
        let expected = "from 0.001 to 1, a fraction (0.05 is 5 %)";
        Self::within(fraction, 0.001..=1.0, expected, 1.0)
    }

    fn within(
        value: f64,
        range: RangeInclusive<f64>,
        expected: &'static str,
        scale: f64,
    ) -> Result<Self, CompareError> {
        if range.contains(&value) {
            return Ok(Self(value * scale));
        }
        Err(CompareError::Option {
            name: "threshold",
            value,
            expected,
        })
    }

    /// As a fraction: 0.05 for 5 %.
    pub fn as_fraction(self) -> f64 {
        self.0
    }
}

/// 5 %.
impl Default for Threshold {
    fn default() -> Self {
        Self(0.05)
    }
}

/// Options of a comparison: what counts as a change, and with which error rate.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Options {
    /// Smallest change for "better" or "worse".
    pub threshold: Threshold,
    /// False-positive rate; the interval has the confidence level 1 − alpha.
    pub alpha: f64,
    /// Earlier profiles of the same operations, oldest first, from which to estimate the noise
    /// between runs in addition to the two sides.
    pub history: Vec<Profile>,
    /// Judge changes relative to the common shift of nearly all operations
    /// ([`CommonShift`](super::CommonShift)), if there is one.
    pub relative_to_common_shift: bool,
    /// Judge by the threshold alone, without any test.
    pub plain_threshold: bool,
    /// The metric that is judged.
    pub metric: Metric,
    /// Budgets to check the current side against, and thresholds of single operations.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold: Threshold::default(),
            alpha: 0.05,
            history: Vec::new(),
            relative_to_common_shift: false,
            plain_threshold: false,
            metric: Metric::default(),
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// Rejects options with which every verdict, or none, would be a pass.
    pub(super) fn check(&self) -> Result<(), CompareError> {
        if self.alpha > 0.0 && self.alpha < 1.0 {
            return Ok(());
        }
        Err(CompareError::Option {
            name: "alpha",
            value: self.alpha,
            expected: "between 0 and 1, both excluded",
        })
    }
}

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
        on(.sides), .metric.how()
    )]
    NothingToJudge {
        /// The judged metric.
        metric: Metric,
        /// The first operation that is on both sides.
        operation: String,
        /// The sides on which that operation lacks the metric.
        sides: Vec<Side>,
    },
    /// No operation has the metric in two entries of a past.
    #[error(
        "no operation has {metric} in two of {entries} results, which an audit compares; name more \
         results, or another metric{}",
        .metric.how()
    )]
    NothingToAudit {
        /// The metric of the rule.
        metric: Metric,
        /// The results that there are.
        entries: usize,
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
