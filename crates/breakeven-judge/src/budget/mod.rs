//! Budgets: what an operation may take, and how it stands against it; and the
//! file in which they and the thresholds of the bottlenecks are set.

use breakeven_profile::profile::{Operation, Profile};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Thresholds;

mod error;
mod file;
mod scope;

pub use error::BudgetError;

use scope::Scope;

/// The mean time that an operation may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The operation's name.
    pub operation: String,
    /// The device's id; `None` for every device.
    pub device: Option<String>,
    /// Elements in one call; `None` for every size.
    pub size: Option<u64>,
    /// Longest mean time that is within the budget, ns.
    pub max_ns: f64,
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

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Within => "within",
            Self::Near => "near",
            Self::Over => "over",
        })
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scope().fmt(f)
    }
}

/// How much slower than its baseline an operation may become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelativeLimit {
    /// The operation's name.
    pub operation: String,
    /// The device's id; `None` for every device.
    pub device: Option<String>,
    /// Elements in one call; `None` for every size.
    pub size: Option<u64>,
    /// Change from which it counts, a fraction: 0.03 is 3 %. In a comparison it
    /// takes the place of the threshold, for better as for worse.
    pub max_increase: f64,
}

impl std::fmt::Display for RelativeLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scope().fmt(f)
    }
}

/// An operation's budget and how its mean stands against it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Held {
    /// Longest mean time that is within the budget, ns.
    pub max_ns: f64,
    /// How the mean stands.
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
    /// True where the operation is the one it speaks of.
    pub fn is_for(&self, operation: &Operation) -> bool {
        self.scope().holds(operation)
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            operation: &self.operation,
            device: self.device.as_deref(),
            size: self.size,
        }
    }

    /// How a mean of `mean_ns` stands, with `near` the share of the budget from
    /// which it is close.
    pub fn standing(&self, mean_ns: f64, near: f64) -> Standing {
        if mean_ns > self.max_ns {
            Standing::Over
        } else if mean_ns > near * self.max_ns {
            Standing::Near
        } else {
            Standing::Within
        }
    }
}

impl RelativeLimit {
    /// True where the operation is the one it speaks of.
    pub fn is_for(&self, operation: &Operation) -> bool {
        self.scope().holds(operation)
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            operation: &self.operation,
            device: self.device.as_deref(),
            size: self.size,
        }
    }
}

impl Limits {
    /// The budget of an operation.
    pub fn budget_of(&self, operation: &Operation) -> Option<&Budget> {
        scope::best(&self.budgets, Budget::scope, operation)
    }

    /// The relative limit of an operation, a fraction.
    pub fn increase_of(&self, operation: &Operation) -> Option<f64> {
        let limit = scope::best(&self.increases, RelativeLimit::scope, operation);
        limit.map(|limit| limit.max_increase)
    }

    /// The budgets that no operation with samples is held against: a gate must
    /// not pass on them.
    pub fn unmatched<'l>(&'l self, profile: &Profile) -> Vec<&'l Budget> {
        let measured = |budget: &&Budget| {
            let mut all = profile.operations.iter();
            all.any(|each| budget.is_for(each) && each.samples_ns().next().is_some())
        };
        self.budgets
            .iter()
            .filter(|budget| !measured(budget))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_general_budget_does_not_hide_that_of_a_size() {
        let max = |size: Option<u64>, max_ns: f64| Budget {
            operation: "f".into(),
            device: None,
            size,
            max_ns,
        };
        let limits = Limits {
            budgets: vec![max(None, 1e9), max(Some(64), 1e3), max(Some(64), 1e6)],
            ..Limits::default()
        };
        let mut operation = Operation::new("f", "cpu");
        let found = |operation: &Operation| limits.budget_of(operation).map(|max| max.max_ns);
        assert_eq!(found(&operation), Some(1e9));
        operation.size = Some(64);
        assert_eq!(found(&operation), Some(1e3));
    }

    #[test]
    fn the_standing_changes_at_the_share_and_at_the_budget() {
        let budget = Budget {
            operation: "f".into(),
            device: None,
            size: None,
            max_ns: 100.0,
        };
        assert_eq!(budget.standing(80.0, 0.8), Standing::Within);
        assert_eq!(budget.standing(80.1, 0.8), Standing::Near);
        assert_eq!(budget.standing(100.0, 0.8), Standing::Near);
        assert_eq!(budget.standing(100.1, 0.8), Standing::Over);
    }
}
