//! Derives the overall verdict of a comparison and a policy, with its reasons.

use std::fmt;

use breakeven_profile::unit;
use serde::Serialize;

use crate::budget::{Held, Idle, IdleBudget, Standing};
use crate::compare::{
    Change, ChangeType, Metric, OperationComparison, ProfilerComparison, runs_text,
};

/// What a gate accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Policy {
    /// Operations of the baseline may be missing on the current side.
    pub allow_missing: bool,
    /// Require a decision for every operation; without it, one decided operation is enough.
    pub require_decided: bool,
    /// Also fail if anything but the judged metric became worse: the mean if the medians do not
    /// show it, memory, allocations, the number of calls.
    pub strict: bool,
}

/// The result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[must_use]
pub enum Outcome {
    /// No judged operation became worse.
    Passed,
    /// No operation could be judged, or one is undecided and all must be decided.
    Inconclusive,
    /// The sides do not match: operations are missing, or a limit applies to none.
    Mismatched,
    /// Something became worse, failed, or exceeds its budget.
    Failed,
}

impl Outcome {
    /// The exit code of a process that ran the gate: 0, 1 for a failure, 2 for a mismatch, 3 for
    /// inconclusive.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Mismatched => 2,
            Self::Inconclusive => 3,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why a gate does not pass. Operations are named as in "conv2d on cpu, size 65536".
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// An operation became worse.
    #[error("{operation}: regression{}", by_ratio(*.ratio))]
    Regression {
        /// The operation.
        operation: String,
        /// Ratio current / baseline of the judged metric; `None` from or to zero.
        ratio: Option<f64>,
    },
    /// Another metric became worse.
    #[error("{operation}: regression of its {metric}{}", by_ratio(*.ratio))]
    Beside {
        /// The operation.
        operation: String,
        /// The metric.
        metric: Metric,
        /// Ratio current / baseline; `None` from or to zero.
        ratio: Option<f64>,
    },
    /// An operation failed on the current side.
    #[error("{operation}: failed")]
    Failed {
        /// The operation.
        operation: String,
    },
    /// An operation exceeds its budget.
    #[error(
        "{operation}: {} of {} exceeds its budget of {}",
        .held.limited,
        .held.limited.text(.held.value),
        .held.limited.text(.held.max)
    )]
    OverBudget {
        /// The operation.
        operation: String,
        /// The limited quantity and its value.
        #[serde(flatten)]
        held: Held,
    },
    /// A budget or a relative limit applied to no operation.
    #[error(transparent)]
    IdleBudget(IdleBudget),
    /// An operation of the baseline is missing.
    #[error("{operation}: missing on the current side")]
    Missing {
        /// The operation.
        operation: String,
    },
    /// An operation is inconclusive.
    #[error(
        "{operation}: inconclusive{}",
        .runs_needed.map_or_else(String::new, |runs| format!("; {}", runs_text(runs)))
    )]
    Inconclusive {
        /// The operation.
        operation: String,
        /// Runs per side that would decide it.
        runs_needed: Option<u64>,
    },
    /// The mean of an operation became worse, by more than the threshold, and the judged medians do
    /// not show it.
    #[error(
        "{operation}: inconclusive; the mean became worse{}, which the medians do not show: a few \
         calls take much longer",
        by_ratio(*.ratio)
    )]
    MeanAlone {
        /// The operation.
        operation: String,
        /// Ratio current / baseline of the mean.
        ratio: Option<f64>,
    },
    /// No operation was judged at all.
    #[error("no operation was judged")]
    NothingJudged,
}

/// The words after "regression" in a reason. A decrease that is worse is not "by −20 %", which
/// reads like an improvement.
fn by_ratio(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) if ratio > 1.0 => format!(" by +{}", unit::percent(ratio - 1.0)),
        Some(ratio) => format!(", {} lower", unit::percent(1.0 - ratio)),
        None => ", one side is zero".to_owned(),
    }
}

impl Reason {
    /// The operation concerned.
    pub fn operation(&self) -> Option<&str> {
        match self {
            Self::Regression { operation, .. }
            | Self::Beside { operation, .. }
            | Self::Failed { operation }
            | Self::OverBudget { operation, .. }
            | Self::Missing { operation }
            | Self::Inconclusive { operation, .. }
            | Self::MeanAlone { operation, .. } => Some(operation),
            Self::IdleBudget(_) | Self::NothingJudged => None,
        }
    }

    /// The result of a gate with this reason alone.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Regression { .. }
            | Self::Beside { .. }
            | Self::Failed { .. }
            | Self::OverBudget { .. } => Outcome::Failed,
            Self::IdleBudget(idle) if idle.why == Idle::Failed => Outcome::Failed,
            Self::IdleBudget(_) | Self::Missing { .. } => Outcome::Mismatched,
            Self::Inconclusive { .. } | Self::MeanAlone { .. } | Self::NothingJudged => {
                Outcome::Inconclusive
            }
        }
    }
}

/// The overall verdict: the worst outcome of its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Verdict {
    /// The gate's result.
    pub outcome: Outcome,
    /// The reasons, the worst first; empty if it passed.
    pub reasons: Vec<Reason>,
    /// Undecided operations that the gate accepts.
    pub undecided: Vec<Reason>,
}

impl Verdict {
    fn of(mut reasons: Vec<Reason>, undecided: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.outcome()));
        let worst = reasons.first().map(Reason::outcome);
        Self {
            outcome: worst.unwrap_or(Outcome::Passed),
            reasons,
            undecided,
        }
    }
}

/// Judges a comparison by a policy. A failure has priority over a mismatch, and that over
/// inconclusive operations, which stop a gate only if nothing was decided or the policy requires
/// decisions.
pub fn gate(comparison: &ProfilerComparison, policy: Policy) -> Verdict {
    let (mut reasons, mut undecided, mut nothing_judged) = (Vec::new(), Vec::new(), true);
    for operation in comparison.by_weight() {
        reasons.extend(reason(operation, policy));
        let doubt = undecided_reason(operation, policy);
        nothing_judged &= doubt.is_some() || !is_judged(operation);
        undecided.extend(doubt);
    }
    if policy.strict {
        reasons.extend(comparison.operations.iter().flat_map(beside));
    }
    reasons.extend(budget_reasons(comparison));
    if policy.require_decided || nothing_judged {
        reasons.append(&mut undecided);
    }
    if reasons.is_empty() && nothing_judged {
        reasons.push(Reason::NothingJudged);
    }
    Verdict::of(reasons, undecided)
}

/// The verdict of the budgets alone, for a comparison that only reports.
pub fn hold_budgets(comparison: &ProfilerComparison) -> Verdict {
    Verdict::of(budget_reasons(comparison), Vec::new())
}

fn is_judged(operation: &OperationComparison) -> bool {
    use ChangeType::{Improvement, NoChange, Regression};
    matches!(operation.change_type, Regression | Improvement | NoChange)
}

fn reason(operation: &OperationComparison, policy: Policy) -> Option<Reason> {
    let name = operation.name();
    if operation.failed {
        return Some(Reason::Failed { operation: name });
    }
    match operation.change_type {
        ChangeType::Regression => Some(Reason::Regression {
            operation: name,
            ratio: operation.judged.ratio,
        }),
        ChangeType::Removed if !policy.allow_missing => Some(Reason::Missing { operation: name }),
        _ => None,
    }
}

/// Why an operation that did not fail is undecided.
fn undecided_reason(each: &OperationComparison, policy: Policy) -> Option<Reason> {
    let operation = each.name();
    match each.change_type {
        _ if each.failed || each.is_left_out() => None,
        ChangeType::Inconclusive => Some(Reason::Inconclusive {
            operation,
            runs_needed: each.judged.runs_needed,
        }),
        // A strict policy fails on it.
        ChangeType::NoChange | ChangeType::Improvement if !policy.strict => {
            let mut worse = beside_worse(each).filter(|change| change.metric == Metric::MEAN);
            worse.next().map(|change| Reason::MeanAlone {
                operation,
                ratio: change.ratio,
            })
        }
        _ => None,
    }
}

fn beside_worse(operation: &OperationComparison) -> impl Iterator<Item = &Change> {
    let changed = operation.changed_beside();
    changed.filter(|change| change.change_type == ChangeType::Regression)
}

fn beside(operation: &OperationComparison) -> impl Iterator<Item = Reason> {
    beside_worse(operation).map(|change| Reason::Beside {
        operation: operation.name(),
        metric: change.metric.clone(),
        ratio: change.ratio,
    })
}

fn budget_reasons(comparison: &ProfilerComparison) -> Vec<Reason> {
    let over = comparison.budgets.iter();
    let over = over.filter(|budget| budget.held.standing == Standing::Over);
    let over = over.map(|budget| Reason::OverBudget {
        operation: budget.name(),
        held: budget.held,
    });
    let idle = comparison.idle_budgets.iter().cloned();
    over.chain(idle.map(Reason::IdleBudget)).collect()
}
