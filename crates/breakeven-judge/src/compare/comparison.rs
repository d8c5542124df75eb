//! What comes out of a comparison: plain data and look-ups.

use std::fmt;

use breakeven_profile::profile::OperationKey;
use serde::{Deserialize, Serialize};

use super::budgets::{HeldBudget, IdleBudget};
use super::method::Method;
use super::metric::Metric;
use super::options::Correction;
use super::text;
use super::warning::Warning;

/// The verdict on one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeType {
    /// Worse: significant after correction, and by the threshold or more.
    Regression,
    /// Better: significant after correction, and by the threshold or more.
    Improvement,
    /// None of the other: measure more.
    Inconclusive,
    /// On the current side only.
    New,
    /// In the baseline only.
    Removed,
    /// The whole interval lies inside the threshold, both ways.
    NoChange,
}

impl fmt::Display for ChangeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// All operations of two sides, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfilerComparison {
    /// What was judged.
    pub metric: Metric,
    /// Change from which an operation is better or worse, a fraction.
    pub threshold: f64,
    /// Rate of false alarms.
    pub alpha: f64,
    /// Correction for the number of operations.
    pub correction: Correction,
    /// One per operation: in the baseline's order, then those that are new.
    pub operations: Vec<OperationComparison>,
    /// What makes the comparison weaker than it looks.
    pub warnings: Vec<Warning>,
    /// The current side's operations that have a budget.
    pub budgets: Vec<HeldBudget>,
    /// Budgets and relative limits that nothing was held against.
    pub idle_budgets: Vec<IdleBudget>,
}

/// One operation on two sides.
///
/// What a side has none of, or what was not tested, is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationComparison {
    /// The operation's name.
    pub operation: String,
    /// The device's id.
    pub device: String,
    /// Elements in one call.
    pub size: Option<u64>,
    /// The workload in words.
    pub workload: Option<String>,
    /// True where the device is a GPU that is a program on the CPU.
    pub software_gpu: bool,
    /// Geometric mean of the baseline's run medians, ms.
    pub baseline_time_ms: Option<f64>,
    /// Geometric mean of the current side's run medians, ms.
    pub current_time_ms: Option<f64>,
    /// Current less baseline time, ms.
    pub change_ms: Option<f64>,
    /// Change of the time in percent of the baseline: 5.0 is 5 % slower.
    pub change_percent: Option<f64>,
    /// The verdict on the judged metric.
    pub change_type: ChangeType,
    /// True where the judged metric differs beyond what noise explains, after
    /// correction, however little. False where nothing was tested.
    pub is_significant: bool,
    /// The judged metric of the baseline: geometric mean over runs, in the
    /// metric's unit (ms, bytes, calls, per second).
    pub baseline_value: Option<f64>,
    /// The judged metric of the current side.
    pub current_value: Option<f64>,
    /// Current over baseline of the judged metric.
    pub ratio: Option<f64>,
    /// Interval of the ratio at confidence level 1 − alpha, not corrected.
    pub interval: Option<[f64; 2]>,
    /// Two-sided p-value of "the ratio is 1".
    pub p_value: Option<f64>,
    /// The p-value corrected for the number of operations.
    pub adjusted_p_value: Option<f64>,
    /// Relative standard deviation between runs that the test worked with.
    pub noise: Option<f64>,
    /// Standardised effect: ln(ratio) over the noise (Cohen's d of the logarithms).
    pub effect: Option<f64>,
    /// Runs with samples in the baseline.
    pub baseline_runs: usize,
    /// Runs with samples on the current side.
    pub current_runs: usize,
    /// Runs on each side that would settle what is inconclusive, with probability
    /// 80 %, if the estimate and the noise stay as they are.
    pub runs_needed: Option<u64>,
    /// How it was judged, or why not.
    pub method: Method,
    /// The threshold that applied: the comparison's, or a limit of the operation's own.
    pub threshold: f64,
    /// Memory beside the time, bytes.
    pub memory: Option<Quantity>,
    /// Calls of a run beside the time.
    pub calls: Option<Quantity>,
    /// True where the current side's operation failed and the baseline's did not.
    pub failed: bool,
}

/// A figure of both sides: the median over the runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantity {
    /// In the baseline.
    pub baseline: f64,
    /// On the current side.
    pub current: f64,
    /// Change in percent of the baseline; `None` from zero.
    pub change_percent: Option<f64>,
}

impl Quantity {
    pub(super) fn of(baseline: f64, current: f64) -> Self {
        Self {
            baseline,
            current,
            change_percent: (baseline > 0.0).then(|| (current / baseline - 1.0) * 100.0),
        }
    }
}

impl OperationComparison {
    /// True where the operation says nothing for or against the whole.
    pub fn is_left_out(&self) -> bool {
        matches!(self.method, Method::NotTested(why) if why.is_left_out())
    }

    /// How far the judged metric is from the baseline, in log space; infinite
    /// where one side is zero.
    fn distance(&self) -> f64 {
        match (self.ratio, self.baseline_value, self.current_value) {
            (Some(ratio), ..) => ratio.ln().abs(),
            (None, Some(_), Some(_)) => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// What tells the operation from the others.
    pub fn key(&self) -> OperationKey {
        OperationKey {
            name: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        }
    }

    /// The name with its device and size, as in "conv2d on cpu, size 65536"; a GPU
    /// that is a program on the CPU is said to be one.
    pub fn name(&self) -> String {
        text::name(&self.key(), self.software_gpu)
    }
}

/// How many operations have which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ComparisonSummary {
    /// Operations of both sides together.
    pub operations_count: usize,
    /// REGRESSION.
    pub regressions_count: usize,
    /// IMPROVEMENT.
    pub improvements_count: usize,
    /// NO_CHANGE.
    pub no_change_count: usize,
    /// INCONCLUSIVE, without those left out.
    pub inconclusive_count: usize,
    /// NEW.
    pub new_count: usize,
    /// REMOVED.
    pub removed_count: usize,
    /// Operations that are in no verdict: mostly the recorder's own cost.
    pub left_out_count: usize,
}

impl ProfilerComparison {
    /// How many operations have which verdict.
    pub fn get_summary(&self) -> ComparisonSummary {
        let mut summary = ComparisonSummary {
            operations_count: self.operations.len(),
            ..ComparisonSummary::default()
        };
        for operation in &self.operations {
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

    /// The operations as a reader wants them: regressions, improvements, what is
    /// inconclusive, new, removed, unchanged; those that changed most first.
    pub fn by_weight(&self) -> Vec<&OperationComparison> {
        let mut all: Vec<_> = self.operations.iter().collect();
        all.sort_by(|a, b| {
            let kinds = a.change_type.cmp(&b.change_type);
            kinds.then(b.distance().total_cmp(&a.distance()))
        });
        all
    }
}
