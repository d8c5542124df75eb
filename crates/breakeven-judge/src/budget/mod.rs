//! Budgets: what an operation may take, and how it stands against it; and the
//! file in which they and the thresholds of the bottlenecks are set.

use breakeven_profile::profile::{Operation, Profile};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Thresholds;

mod error;
mod file;
mod scope;

pub use error::BudgetError;

pub use scope::Scope;

/// The mean time that an operation may take.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The operations it is for.
    pub scope: Scope,
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

impl Limits {
    /// The budget of an operation.
    pub fn budget_of(&self, operation: &Operation) -> Option<&Budget> {
        scope::best(&self.budgets, |budget| &budget.scope, operation)
    }

    /// The relative limit of an operation, a fraction.
    pub fn increase_of(&self, operation: &Operation) -> Option<f64> {
        let limit = scope::best(&self.increases, |limit| &limit.scope, operation);
        limit.map(|limit| limit.max_increase)
    }

    /// What the budgets are for that no operation with samples is held against: a
    /// gate must not pass on them.
    pub fn unmatched<'l>(&'l self, profile: &Profile) -> Vec<&'l Scope> {
        let is_measured = |scope: &&Scope| {
            let mut all = profile.operations.iter();
            all.any(|each| scope.is_for(each) && each.samples_ns().next().is_some())
        };
        let scopes = self.budgets.iter().map(|budget| &budget.scope);
        scopes.filter(|scope| !is_measured(scope)).collect()
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
        Budget { scope, max_ns }
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
        let found = |operation: &Operation| limits.budget_of(operation).map(|max| max.max_ns);
        assert_eq!(found(&operation), Some(1e9));
        operation.size = Some(64);
        assert_eq!(found(&operation), Some(1e3));
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
            assert_eq!(budget.standing(mean_ns, 0.8), standing);
        }
    }
}
