//! Budgets: limits on an operation's time and memory, whether it meets them, and the file that sets
//! budgets and the thresholds of bottlenecks.

use std::fmt;

use breakeven_profile::profile::{Operation, Profile};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Thresholds;
use crate::page::figures::Unit;

mod error;
mod file;
mod scope;

pub use error::BudgetError;

pub use scope::Scope;

/// The quantity that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limited {
    /// The mean time of all calls, ns.
    Mean,
    /// Peak memory of a call, bytes.
    Memory,
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Limited {
    /// A value in its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Mean => Unit::Time.text(value),
            Self::Memory => Unit::Bytes.text(value),
        }
    }
}

/// A limit on the time or the memory of operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The operations that it applies to.
    pub scope: Scope,
    /// The quantity that it limits.
    pub limited: Limited,
    /// The largest value within the budget: ns or bytes.
    pub max: f64,
}

/// Whether an operation is within its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Within the warning fraction of the budget (80 % by default).
    Within,
    /// Within the budget, but above its warning fraction.
    Near,
    /// The budget is exceeded.
    Over,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How much slower than its baseline an operation may become.
#[derive(Debug, Clone, PartialEq)]
pub struct RelativeLimit {
    /// The operations that it applies to.
    pub scope: Scope,
    /// Smallest change that counts, a fraction: 0.03 is 3 %. In a comparison it replaces the
    /// threshold, for improvements and regressions alike.
    pub max_increase: f64,
}

/// The result of judging an operation by one of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[must_use]
pub struct Held {
    /// The limited quantity.
    pub limited: Limited,
    /// The measured value: ns or bytes.
    pub value: f64,
    /// The largest value within the budget.
    pub max: f64,
    /// Whether the value is within the budget.
    pub standing: Standing,
}

/// The limits that a profile is judged by.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Limits {
    /// The budgets. If several apply to an operation, one that names its device has priority over
    /// one that names its size; among equals the first counts.
    pub budgets: Vec<Budget>,
    /// Relative limits, chosen in the same way. Only a comparison uses them, because they need a
    /// baseline.
    pub increases: Vec<RelativeLimit>,
    /// Thresholds from which an operation counts as a problem.
    pub thresholds: Thresholds,
}

impl Budget {
    /// Compares a value with the budget; `near` is the warning fraction of the budget.
    pub fn held(&self, value: f64, near: f64) -> Held {
        let standing = if value > self.max {
            Standing::Over
        } else if value > near * self.max {
            Standing::Near
        } else {
            Standing::Within
        };
        Held {
            limited: self.limited,
            value,
            max: self.max,
            standing,
        }
    }
}

impl Limits {
    /// Judges an operation by its budgets, given the mean time of all calls, ns, and the memory of
    /// a call, bytes, if known.
    pub fn hold(
        &self,
        operation: &Operation,
        mean_ns: Option<f64>,
        memory_bytes: Option<f64>,
    ) -> Vec<Held> {
        let near = self.thresholds.near_budget;
        let each = [(Limited::Mean, mean_ns), (Limited::Memory, memory_bytes)];
        let held = each.into_iter().filter_map(|(limited, value)| {
            let budget = scope::best(
                self.budgets
                    .iter()
                    .filter(|budget| budget.limited == limited),
                |budget| &budget.scope,
                operation,
            );
            Some(budget?.held(value?, near))
        });
        held.collect()
    }

    /// The relative limit of an operation, a fraction.
    pub fn increase_of(&self, operation: &Operation) -> Option<f64> {
        let limit = scope::best(self.increases.iter(), |limit| &limit.scope, operation);
        limit.map(|limit| limit.max_increase)
    }

    /// The budgets that apply to no operation: a gate must not pass on them.
    pub fn unmatched(&self, profiles: &[Profile]) -> Vec<IdleBudget> {
        let idle = self.budgets.iter().filter_map(|budget| {
            let all = profiles.iter().flat_map(|profile| &profile.operations);
            let fitting: Vec<_> = all.filter(|each| budget.scope.is_for(each)).collect();
            let is_measured = |each: &&Operation| each.samples_ns().next().is_some();
            let has_memory = |each: &&Operation| each.peak_memory_bytes().is_some();
            let why = match budget.limited {
                Limited::Memory if fitting.iter().any(has_memory) => return None,
                _ if fitting.is_empty() => Idle::Absent,
                _ if !fitting.iter().any(is_measured) => Idle::Failed,
                Limited::Mean => return None,
                Limited::Memory => Idle::NoMemory,
            };
            let budget = budget.scope.to_string();
            Some(IdleBudget { budget, why })
        });
        let mut idle: Vec<_> = idle.collect();
        // The limits of one entry.
        idle.dedup();
        idle
    }
}

/// A budget or a relative limit that applies to no operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("the limit of {budget} applies to no operation: {why}")]
pub struct IdleBudget {
    /// What it limits, in words.
    pub budget: String,
    /// Why.
    pub why: Idle,
}

/// Why a limit applies to no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// No operation has that name, device and size.
    #[error("there is no such operation")]
    Absent,
    /// The operation has no samples.
    #[error("the operation failed")]
    Failed,
    /// Its memory is limited but was not recorded.
    #[error("no memory was recorded of it; record it, or leave out max_memory")]
    NoMemory,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(size: Option<u64>, max_ns: f64) -> Budget {
        let scope = Scope {
            operation: "f".into(),
            device: None,
            size,
        };
        let limited = Limited::Mean;
        let max = max_ns;
        Budget {
            scope,
            limited,
            max,
        }
    }

    #[test]
    fn a_general_budget_does_not_hide_that_of_a_size() {
        let limits = Limits {
            budgets: vec![
                budget(None, 1e9),
                budget(Some(64), 1e3),
                budget(Some(64), 1e6),
            ],
            ..Limits::default()
        };
        let mut operation = Operation::new("f", "cpu");
        let found = |operation: &Operation| limits.hold(operation, Some(1.0), None)[0].max;
        assert_eq!(found(&operation), 1e9);
        operation.size = Some(64);
        assert_eq!(found(&operation), 1e3);
    }

    #[test]
    fn the_standing_changes_at_the_share_and_at_the_budget() {
        let budget = budget(None, 100.0);
        for (mean_ns, standing) in [
            (80.0, Standing::Within),
            (80.1, Standing::Near),
            (100.0, Standing::Near),
            (100.1, Standing::Over),
        ] {
            assert_eq!(budget.held(mean_ns, 0.8).standing, standing);
        }
    }
}
