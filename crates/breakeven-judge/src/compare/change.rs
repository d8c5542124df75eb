//! How one metric of one operation changed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::method::{Method, NotTested};
use super::metric::Metric;

/// The verdict on one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeType {
    /// Worse: significant after correction, and at least by the threshold.
    Regression,
    /// Better: significant after correction, and at least by the threshold.
    Improvement,
    /// Not decided: more runs are needed.
    Inconclusive,
    /// On the current side only.
    New,
    /// In the baseline only.
    Removed,
    /// The complete interval lies inside the threshold, both ways.
    NoChange,
}

impl fmt::Display for ChangeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How one metric changed. A figure that a side lacks or that was not tested is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Change {
    /// The metric that was judged.
    pub metric: Metric,
    /// The baseline: geometric mean over the runs without outliers, in the metric's unit (ms,
    /// bytes, J, calls, per second).
    pub baseline_value: Option<f64>,
    /// The current side, as measured.
    pub current_value: Option<f64>,
    /// Ratio current / baseline; relative to the common shift if requested.
    pub ratio: Option<f64>,
    /// Interval of the ratio at confidence level 1 − alpha, not corrected; `None` too if all runs
    /// are equal.
    pub interval: Option<[f64; 2]>,
    /// Two-sided p-value of "the ratio is 1".
    pub p_value: Option<f64>,
    /// The p-value corrected for the number of operations.
    pub adjusted_p_value: Option<f64>,
    /// True if the difference is significant after correction, however small. False if nothing was
    /// tested.
    pub is_significant: bool,
    /// Relative standard deviation between runs that the test used.
    pub noise: Option<f64>,
    /// Standardised effect: ln(ratio) over the noise (Cohen's d of the logarithms).
    pub effect: Option<f64>,
    /// Runs per side that would decide an inconclusive operation with probability 80 %, if the
    /// estimate and the noise stay as they are.
    pub runs_needed: Option<u64>,
    /// How it was judged, or why it was not.
    pub method: Method,
    /// The threshold that applied, a fraction: the comparison's, or the operation's own limit.
    pub threshold: f64,
    /// The verdict.
    pub change_type: ChangeType,
}

impl Change {
    pub(super) fn untested(metric: Metric, threshold: f64) -> Self {
        Self {
            metric,
            baseline_value: None,
            current_value: None,
            ratio: None,
            interval: None,
            p_value: None,
            adjusted_p_value: None,
            is_significant: false,
            noise: None,
            effect: None,
            runs_needed: None,
            method: Method::NotTested(NotTested::OneSide),
            threshold,
            change_type: ChangeType::Inconclusive,
        }
    }

    /// Ratio current / baseline, if neither is zero.
    pub(super) fn ratio_of_values(&self) -> Option<f64> {
        let ratio = self.current_value? / self.baseline_value?;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    /// Distance from no change, in log space; infinite if one side is zero.
    pub(super) fn distance(&self) -> f64 {
        match (self.ratio, self.baseline_value, self.current_value) {
            (Some(ratio), ..) => ratio.ln().abs(),
            (None, Some(a), Some(b)) if a != b => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// True if the change reaches the threshold in either direction.
    pub fn is_beyond(&self) -> bool {
        self.distance() >= self.threshold.ln_1p() - super::verdict::ROUNDING
    }
}
