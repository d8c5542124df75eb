//! Budgets: what an operation may take, and how it stands against it; and the
//! file in which they and the thresholds of the bottlenecks are set.

use std::fmt;

use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::unit;
use serde::{Deserialize, Serialize};

use crate::bottleneck::Thresholds;
use crate::compare::Metric;

mod error;
mod file;
mod scope;

pub use error::BudgetError;

pub use scope::Scope;

/// What of an operation a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limited {
    /// The mean time of all calls, ns.
    Mean,
    /// The memory that a call holds at its peak, bytes.
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
            Self::Mean => unit::time(value),
            Self::Memory => Metric::Memory.text(value),
        }
    }
}

/// What an operation may take.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The operations it is for.
    pub scope: Scope,
    /// What of them it limits.
    pub limited: Limited,
    /// The greatest value that is within the budget: ns or bytes.
    pub max: f64,
}

/// How an operation stands against its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Comfortably below.
    Within,
    /// Below, but past the warning share of it (80 % by default).
    Near,
    /// Above.
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
    /// The operations it is for.
    pub scope: Scope,
    /// Change from which it counts, a fraction: 0.03 is 3 %. In a comparison it
    /// takes the place of the threshold, for better as for worse.
    pub max_increase: f64,
}

/// How an operation stands against one of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Held {
    /// What of it is limited.
    pub limited: Limited,
    /// What it takes: ns or bytes.
    pub value: f64,
    /// The greatest value that is within the budget.
    pub max: f64,
    /// How the value stands against that.
    pub standing: Standing,
}

/// What a profile is held against.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// The budgets; of those that fit an operation the one that names its
    /// device counts, then the one that names its size, then the first.
    pub budgets: Vec<Budget>,
    /// Relative limits, chosen in the same way. Only a comparison has what they
    /// are relative to.
    pub increases: Vec<RelativeLimit>,
    /// From when an operation counts as a problem.
    pub thresholds: Thresholds,
}

impl Budget {
    /// How a value stands, with `near` the share of the budget from which it is close.
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
    /// How an operation with these figures stands against its budgets: the mean time of
    /// all calls, ns, and the memory of a call, bytes, where they are known.
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

    /// What the budgets are for that no operation is held against, since none has
    /// samples, or tells its memory: a gate must not pass on them.
    pub fn unmatched<'l>(&'l self, profile: &Profile) -> Vec<&'l Scope> {
        let is_held = |budget: &&Budget| {
            let mut all = profile.operations.iter();
            all.any(|each| {
                let is_told = match budget.limited {
                    Limited::Mean => each.samples_ns().next().is_some(),
                    Limited::Memory => each.peak_memory_bytes().is_some(),
                };
                budget.scope.is_for(each) && is_told
            })
        };
        let idle = self.budgets.iter().filter(|budget| !is_held(budget));
        idle.map(|budget| &budget.scope).collect()
    }
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
