//! What comes out of a comparison: plain data and look-ups.

use std::fmt;

use breakeven_profile::profile::OperationKey;
use breakeven_profile::stats::median;
use breakeven_stats::LogRatioMethod;
use serde::{Deserialize, Serialize};

use super::options::Threshold;
use super::warnings::{FEWEST_TOGETHER, Warning};
use crate::budget::{Held, IdleBudget};
use crate::metric::Metric;

/// All operations of two sides, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct ProfilerComparison {
    /// The metric that was judged.
    pub metric: Metric,
    /// Smallest change for "better" or "worse", a fraction.
    pub threshold: f64,
    /// False-positive rate.
    pub alpha: f64,
    /// One per operation: in the baseline's order, then the new ones.
    pub operations: Vec<OperationComparison>,
    /// The common shift of nearly all operations, if there is one.
    pub common_shift: Option<CommonShift>,
    /// True if the changes are relative to the common shift.
    pub relative_to_common_shift: bool,
    /// Reasons to trust the comparison less.
    pub warnings: Vec<Warning>,
    /// Results of the current side's budgets.
    pub budgets: Vec<HeldBudget>,
    /// Budgets and relative limits that applied to no operation.
    pub idle_budgets: Vec<IdleBudget>,
}

/// One operation on two sides.
///
/// A figure that a side lacks or that was not tested is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct OperationComparison {
    /// The operation.
    #[serde(flatten)]
    pub key: OperationKey,
    /// The workload in words.
    pub workload: Option<String>,
    /// True if the device is a software GPU.
    pub software_gpu: bool,
    /// Geometric mean of the baseline's run medians, ms.
    pub baseline_time_ms: Option<f64>,
    /// Geometric mean of the current side's run medians, ms.
    pub current_time_ms: Option<f64>,
    /// Current minus baseline time, ms.
    pub change_ms: Option<f64>,
    /// Change of the time in percent of the baseline: 5.0 is 5 % slower.
    pub change_percent: Option<f64>,
    /// The verdict on the judged metric.
    #[serde(skip_serializing)]
    pub change_type: ChangeType,
    /// True if the judged metric's difference is significant after correction, however small. False
    /// if nothing was tested.
    #[serde(skip_serializing)]
    pub is_significant: bool,
    /// How the judged metric changed.
    #[serde(flatten)]
    pub judged: Change,
    /// How the run's mean, memory and number of calls changed, in addition to the median.
    pub beside: Vec<Change>,
    /// Runs with samples in the baseline.
    pub baseline_runs: usize,
    /// Runs with samples on the current side.
    pub current_runs: usize,
    /// True if there were too few runs for a test, but the operation changed by more than the
    /// samples inside the runs vary.
    pub is_suspected: bool,
    /// True if the current side's operation failed, whether or not the baseline's did.
    pub failed: bool,
}

impl OperationComparison {
    /// True if the operation does not count for the overall verdict.
    pub fn is_left_out(&self) -> bool {
        matches!(self.judged.method, Method::NotTested(why) if why.is_left_out())
    }

    /// Changes of other metrics, by the threshold or more, that the judged metric does not show.
    pub fn changed_beside(&self) -> impl Iterator<Item = &Change> {
        self.beside.iter().filter(|beside| {
            if beside.metric != Metric::MEAN {
                return beside.is_beyond();
            }
            let kind = beside.change_type;
            let is_change = matches!(kind, ChangeType::Regression | ChangeType::Improvement);
            is_change && kind != self.change_type
        })
    }

    /// The name with its device and size, as in "conv2d on cpu, size 65536"; a software GPU is
    /// marked.
    pub fn name(&self) -> String {
        self.key.label(self.software_gpu)
    }
}

/// Number of operations per verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[must_use]
pub struct ComparisonSummary {
    /// Operations of both sides.
    pub operations_count: usize,
    /// REGRESSION.
    pub regressions_count: usize,
    /// IMPROVEMENT.
    pub improvements_count: usize,
    /// NO_CHANGE.
    pub no_change_count: usize,
    /// Operations among them whose mean became worse, which the medians do not show.
    pub worse_mean_count: usize,
    /// INCONCLUSIVE, without the excluded operations.
    pub inconclusive_count: usize,
    /// NEW.
    pub new_count: usize,
    /// REMOVED.
    pub removed_count: usize,
    /// Operations excluded from the verdict: mostly the recorder's overhead.
    pub left_out_count: usize,
    /// Inconclusive operations with too few runs that changed by more than the samples inside their
    /// runs vary.
    pub suspected_count: usize,
    /// Operations whose mean, memory or number of calls changed though the judged metric does not
    /// show it.
    pub changed_beside_count: usize,
}

impl ProfilerComparison {
    /// Counts the operations per verdict.
    pub fn get_summary(&self) -> ComparisonSummary {
        let mut summary = ComparisonSummary {
            operations_count: self.operations.len(),
            ..ComparisonSummary::default()
        };
        for operation in &self.operations {
            summary.suspected_count += usize::from(operation.is_suspected);
            let mut beside = operation.changed_beside().peekable();
            summary.changed_beside_count += usize::from(beside.peek().is_some());
            let is_unchanged = operation.change_type == ChangeType::NoChange;
            let is_worse = beside.any(|change| {
                change.metric == Metric::MEAN && change.change_type == ChangeType::Regression
            });
            summary.worse_mean_count += usize::from(is_unchanged && is_worse);
            *match operation.change_type {
                _ if operation.is_left_out() => &mut summary.left_out_count,
                ChangeType::Regression => &mut summary.regressions_count,
                ChangeType::Improvement => &mut summary.improvements_count,
                ChangeType::NoChange => &mut summary.no_change_count,
                ChangeType::Inconclusive => &mut summary.inconclusive_count,
                ChangeType::New => &mut summary.new_count,
                ChangeType::Removed => &mut summary.removed_count,
            } += 1;
        }
        summary
    }

    /// The regressions, the largest first, at most `top_n`.
    pub fn get_regressions(&self, top_n: usize) -> Vec<&OperationComparison> {
        self.largest(ChangeType::Regression, top_n)
    }

    /// The improvements, the largest first, at most `top_n`.
    pub fn get_improvements(&self, top_n: usize) -> Vec<&OperationComparison> {
        self.largest(ChangeType::Improvement, top_n)
    }

    fn largest(&self, change_type: ChangeType, top_n: usize) -> Vec<&OperationComparison> {
        let all = self.by_weight().into_iter();
        all.filter(|operation| operation.change_type == change_type)
            .take(top_n)
            .collect()
    }

    /// The operations in reading order: regressions, improvements, inconclusive, new, removed,
    /// unchanged; the largest change first.
    pub fn by_weight(&self) -> Vec<&OperationComparison> {
        let mut all: Vec<_> = self.operations.iter().collect();
        all.sort_by(|a, b| {
            let kinds = a.change_type.cmp(&b.change_type);
            kinds.then(b.judged.distance().total_cmp(&a.judged.distance()))
        });
        all
    }
}

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

/// How an operation was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A test over runs; the verdict uses its corrected p-value and its interval.
    Test(LogRatioMethod),
    /// A count that is equal in every run of each side has no noise: the threshold alone decides.
    SameInEveryRun,
    /// The threshold alone, as requested.
    PlainThreshold,
    /// There is no verdict.
    NotTested(NotTested),
}

/// Why an operation has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotTested {
    /// It is on one side only.
    #[error("on one side only")]
    OneSide,
    /// Fewer than four runs on a side, and no known noise: how much runs differ is unknown.
    #[error("fewer than four runs on a side: too few to estimate how much runs differ")]
    FewRuns,
    /// A run has a time of zero, below the clock's resolution: no ratio exists.
    #[error("a run has a time of 0 ns, below the clock's resolution: measure more work in a call")]
    ZeroTime,
    /// It is mostly the recorder's overhead, on both sides.
    #[error("mostly the recorder's overhead")]
    MostlyRecording,
    /// It failed on a side, or has no samples there.
    #[error("failed, or without samples, on a side")]
    Failed,
    /// A side lacks the metric's figure, has it in another unit, or it is negative.
    #[error("a side lacks the figure, has it in another unit, or below zero")]
    NoValue,
    /// Neither side has the metric's figure.
    #[error("neither side has the figure")]
    NoValues,
    /// Different counters measured the energy of some runs.
    #[error(
        "different counters measured the energy of some runs: measure both sides on the same \
         machine, with the same rights"
    )]
    OtherCounters,
    /// The values of a count differ between runs and some are zero: no ratio.
    #[error("zero in some runs and not in others")]
    ZeroAmongValues,
}

impl NotTested {
    /// True if it says nothing against the operation, which is then excluded from the overall
    /// verdict instead of making that inconclusive.
    pub fn is_left_out(self) -> bool {
        matches!(self, Self::MostlyRecording | Self::NoValues)
    }

    /// True if there are no values on both sides.
    pub(super) fn is_without_values(self) -> bool {
        matches!(
            self,
            Self::OneSide | Self::NoValue | Self::NoValues | Self::ZeroTime
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(LogRatioMethod::Welch { .. }) => f.write_str("t-test over runs"),
            Self::Test(LogRatioMethod::Shared { .. }) => {
                f.write_str("t-test over runs, noise learned from all operations and the history")
            }
            Self::Test(LogRatioMethod::Permutation) => f.write_str("permutation test over runs"),
            Self::SameInEveryRun => f.write_str("the same in every run: threshold alone"),
            Self::PlainThreshold => f.write_str("threshold alone, as requested"),
            Self::NotTested(why) => why.fmt(f),
        }
    }
}

/// Fraction of the operations that must have moved together.
const NEARLY_ALL: f64 = 0.8;

/// Nearly all operations became slower, or faster, by about the same factor. A change of the
/// program seldom does that: the machine, its clock, the toolchain or a setting does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CommonShift {
    /// Ratio current / baseline: the median over the operations.
    pub ratio: f64,
    /// Operations that moved in the same direction, by at least half as much.
    pub operations: usize,
    /// Operations with a value on both sides.
    pub of: usize,
}

impl CommonShift {
    /// The shift, if it is half the threshold or more.
    pub(super) fn of(changes: &[Change], threshold: Threshold) -> Option<Self> {
        if changes.iter().any(|change| change.metric.is_count()) {
            return None;
        }
        let tested = changes.iter().filter(|change| change.p_value.is_some());
        let logs: Vec<f64> = tested
            .filter_map(|change| change.ratio)
            .map(f64::ln)
            .collect();
        let middle = median(&logs)
            .ok()
            .filter(|_| logs.len() >= FEWEST_TOGETHER)?;
        let moved = logs
            .iter()
            .filter(|log| **log * middle.signum() >= middle.abs() / 2.0);
        let shift = Self {
            ratio: middle.exp(),
            operations: moved.count(),
            of: logs.len(),
        };
        let is_common = shift.operations as f64 >= NEARLY_ALL * shift.of as f64;
        (is_common && middle.abs() >= threshold.as_fraction().ln_1p() / 2.0).then_some(shift)
    }
}

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
