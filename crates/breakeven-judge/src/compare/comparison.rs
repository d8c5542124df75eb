//! The result of a comparison: plain data and look-ups.

use breakeven_profile::profile::OperationKey;
use serde::Serialize;

use super::budgets::{HeldBudget, IdleBudget};
use super::change::{Change, ChangeType};
use super::method::Method;
use super::metric::Metric;
use super::shift::CommonShift;
use super::warning::Warning;

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
    /// The operation's name.
    pub operation: String,
    /// The device's id.
    pub device: String,
    /// Elements in one call.
    pub size: Option<u64>,
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
        self.beside.iter().filter(|beside| match beside.metric {
            Metric::Mean => {
                let kind = beside.change_type;
                let is_change = matches!(kind, ChangeType::Regression | ChangeType::Improvement);
                is_change && kind != self.change_type
            }
            _ => beside.is_beyond(),
        })
    }

    /// What identifies the operation.
    pub fn key(&self) -> OperationKey {
        OperationKey {
            name: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        }
    }

    /// The name with its device and size, as in "conv2d on cpu, size 65536"; a software GPU is
    /// marked.
    pub fn name(&self) -> String {
        self.key().label(self.software_gpu)
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
            let beside = operation.changed_beside().next().is_some();
            summary.changed_beside_count += usize::from(beside);
            let mean = operation.changed_beside().any(|change| {
                change.metric == Metric::Mean && change.change_type == ChangeType::Regression
            });
            let is_unchanged = operation.change_type == ChangeType::NoChange;
            summary.worse_mean_count += usize::from(mean && is_unchanged);
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
