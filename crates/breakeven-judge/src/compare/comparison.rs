//! What comes out of a comparison: plain data and look-ups.

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
    /// Change from which an operation is better or worse, a fraction.
    pub threshold: f64,
    /// Rate of false alarms.
    pub alpha: f64,
    /// One per operation: in the baseline's order, then those that are new.
    pub operations: Vec<OperationComparison>,
    /// What nearly all operations have in common, if they do.
    pub common_shift: Option<CommonShift>,
    /// True where the changes are relative to that.
    pub relative_to_common_shift: bool,
    /// What makes the comparison weaker than it looks.
    pub warnings: Vec<Warning>,
    /// The current side's operations that have a budget.
    pub budgets: Vec<HeldBudget>,
    /// Budgets and relative limits that nothing was held against.
    pub idle_budgets: Vec<IdleBudget>,
}

/// One operation on two sides.
///
/// A figure that a side lacks, or that was not tested, is `None`.
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
    #[serde(skip_serializing)]
    pub change_type: ChangeType,
    /// True where the judged metric differs beyond what noise explains, after
    /// correction, however little. False where nothing was tested.
    #[serde(skip_serializing)]
    pub is_significant: bool,
    /// How the judged metric changed.
    #[serde(flatten)]
    pub judged: Change,
    /// How the mean changed beside the median, and memory and calls of a run.
    pub beside: Vec<Change>,
    /// Runs with samples in the baseline.
    pub baseline_runs: usize,
    /// Runs with samples on the current side.
    pub current_runs: usize,
    /// True where it was not tested for want of runs, and yet changed by more than the
    /// samples inside the runs differ.
    pub is_suspected: bool,
    /// True if the current side's operation failed, whatever the baseline's did.
    pub failed: bool,
}

impl OperationComparison {
    /// True where the operation says nothing for or against the whole.
    pub fn is_left_out(&self) -> bool {
        matches!(self.judged.method, Method::NotTested(why) if why.is_left_out())
    }

    /// What changed beside the judged metric, by the threshold or more, that the judged
    /// metric does not show.
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
        self.key().label(self.software_gpu)
    }
}

/// How many operations have which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[must_use]
pub struct ComparisonSummary {
    /// Operations of both sides together.
    pub operations_count: usize,
    /// REGRESSION.
    pub regressions_count: usize,
    /// IMPROVEMENT.
    pub improvements_count: usize,
    /// NO_CHANGE.
    pub no_change_count: usize,
    /// Of those, operations whose mean became worse, which the medians do not show.
    pub worse_mean_count: usize,
    /// INCONCLUSIVE, without those left out.
    pub inconclusive_count: usize,
    /// NEW.
    pub new_count: usize,
    /// REMOVED.
    pub removed_count: usize,
    /// Operations that are in no verdict: mostly the recorder's overhead.
    pub left_out_count: usize,
    /// Of those that are inconclusive for want of runs: operations that changed by more
    /// than the samples inside their runs differ.
    pub suspected_count: usize,
    /// Operations whose mean, memory or calls changed though the judged metric does not
    /// show it.
    pub changed_beside_count: usize,
}

impl ProfilerComparison {
    /// How many operations have which verdict.
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

    /// The operations as a reader wants them: regressions, improvements, what is
    /// inconclusive, new, removed, unchanged; those that changed most first.
    pub fn by_weight(&self) -> Vec<&OperationComparison> {
        let mut all: Vec<_> = self.operations.iter().collect();
        all.sort_by(|a, b| {
            let kinds = a.change_type.cmp(&b.change_type);
            kinds.then(b.judged.distance().total_cmp(&a.judged.distance()))
        });
        all
    }
}
