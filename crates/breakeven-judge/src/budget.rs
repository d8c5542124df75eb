//! Budgets: limits on an operation's time and memory, whether it meets them, and the file that sets
//! budgets and the thresholds of bottlenecks.

use std::fmt;

use breakeven_profile::file::in_words;
use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::unit::{self, UnitError};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Thresholds;
use crate::page::figures::Unit;

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
            let budget = best(
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
        let limit = best(self.increases.iter(), |limit| &limit.scope, operation);
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
            Some(budget.scope.idle(why, profiles))
        });
        let mut idle: Vec<_> = idle.collect();
        // The limits of one entry.
        idle.dedup();
        idle
    }
}

/// A budget or a relative limit that applies to no operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error(
    "the limit of {budget} applies to no operation: {why}{}",
    .like.as_ref().map_or_else(String::new, |like| format!("; did you mean {like:?}?"))
)]
pub struct IdleBudget {
    /// What it limits, in words.
    pub budget: String,
    /// Why.
    pub why: Idle,
    /// An operation whose name contains that of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
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

// Errors of a budget file.

/// Why a budget file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// Not valid TOML, or not the fields of a budget file.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// An entry or a threshold that cannot be used.
    #[error("{place}: {message}")]
    Value {
        /// The budget or threshold concerned.
        place: String,
        /// What is wrong, and the values that are allowed.
        message: String,
    },
    /// A file without budgets or thresholds.
    #[error(
        "there is no [[budget]] in the file; add one with `operation` and `max`, or [thresholds]"
    )]
    Empty,
}

impl BudgetError {
    fn value(place: &str, message: impl ToString) -> Self {
        Self::Value {
            place: place.to_owned(),
            message: message.to_string(),
        }
    }
}

// Which operations a limit applies to.

/// The name that an operation must have, and its device and size if given. It is displayed as
/// `"conv2d" on "cpu" at size 65536`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The operation's name.
    pub operation: String,
    /// The device's id; `None` for every device.
    pub device: Option<String>,
    /// Elements in one call; `None` for every size.
    pub size: Option<u64>,
}

impl Scope {
    pub(crate) fn idle(&self, why: Idle, profiles: &[Profile]) -> IdleBudget {
        let all = profiles.iter().flat_map(|profile| &profile.operations);
        let mut names = all.map(|each| &each.name);
        let is_like = |name: &&String| **name != self.operation && name.contains(&self.operation);
        let (budget, like) = (self.to_string(), names.find(is_like).cloned());
        let like = like.filter(|_| why == Idle::Absent);
        IdleBudget { budget, why, like }
    }

    /// True if the limit applies to the operation.
    pub fn is_for(&self, operation: &Operation) -> bool {
        self.operation == operation.name
            && (self.device.as_ref()).is_none_or(|only| *only == operation.device)
            && self.size.is_none_or(|only| Some(only) == operation.size)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.operation)?;
        if let Some(device) = &self.device {
            write!(f, " on {device:?}")?;
        }
        match self.size {
            Some(size) => write!(f, " at size {size}"),
            None => Ok(()),
        }
    }
}

/// Of the limits that apply to an operation, the one that names its device, else the one that names
/// its size; among equals the first.
fn best<'l, L>(
    limits: impl DoubleEndedIterator<Item = &'l L>,
    scope: fn(&L) -> &Scope,
    operation: &Operation,
) -> Option<&'l L> {
    let fitting = limits.filter(|limit| scope(limit).is_for(operation));
    // In reverse, because `max_by` returns the last maximum.
    fitting.rev().max_by_key(|limit| {
        let scope = scope(limit);
        (scope.device.is_some(), scope.size.is_some())
    })
}

// The budget file: TOML.

/// Largest relative limit: eleven times as long. A larger one is probably a percentage.
const MOST_INCREASE: f64 = 10.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    budget: Vec<BudgetEntry>,
    thresholds: Option<ThresholdEntries>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in [[budget]]")]
struct BudgetEntry {
    operation: String,
    device: Option<String>,
    size: Option<u64>,
    max: Option<String>,
    max_memory: Option<String>,
    max_increase: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in [thresholds]")]
struct ThresholdEntries {
    slow: Option<String>,
    high_cv: Option<f64>,
    outlier_ratio: Option<f64>,
    target_mean: Option<String>,
    target_cv: Option<f64>,
    target_per_s: Option<f64>,
    near_budget: Option<f64>,
}

impl Limits {
    /// Reads a budget file. Every entry is optional, but the file must have one:
    ///
    /// ```
    /// # use breakeven_judge::Limits;
    /// let limits = Limits::from_toml(r#"
    ///     [[budget]]
    ///     operation = "conv2d"
    ///     device = "cpu"          # left out: every device
    ///     size = 65536            # left out: every size
    ///     max = "2 ms"            # of the mean; ns, us, ms, s
    ///     max_memory = "64 MiB"   # of a call's peak; B, KiB, MiB, GiB, KB, MB, GB
    ///     max_increase = 0.03     # over the baseline, when comparing: 3 %
    ///
    ///     [thresholds]
    ///     slow = "5 ms"           # bottleneck: mean above
    ///     high_cv = 0.2           # bottleneck: deviation / mean above
    ///     outlier_ratio = 2.0     # bottleneck: max / mean above
    ///     target_mean = "1 ms"    # target: mean below
    ///     target_cv = 0.1         # target: deviation / mean below
    ///     target_per_s = 100      # target: calls per second above
    ///     near_budget = 0.8       # warning from this share of a budget
    /// "#)?;
    /// assert_eq!(limits.budgets[0].max, 2e6);
    /// assert_eq!(limits.increases[0].max_increase, 0.03);
    /// assert_eq!(limits.thresholds.slow_ns, 5e6);
    /// # Ok::<(), breakeven_judge::BudgetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BudgetError`] with line and column, or with the entry that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, BudgetError> {
        let file: File = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        if file.budget.is_empty() && file.thresholds.is_none() {
            return Err(BudgetError::Empty);
        }
        let mut limits = Self::default();
        for entry in file.budget {
            entry.add_to(&mut limits)?;
        }
        if let Some(thresholds) = file.thresholds {
            limits.thresholds = thresholds.over_defaults()?;
        }
        Ok(limits)
    }
}

impl BudgetEntry {
    fn add_to(self, limits: &mut Limits) -> Result<(), BudgetError> {
        let place = format!("budget of {:?}", self.operation);
        let scope = || Scope {
            operation: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        };
        let limits_none = self.max.is_none() && self.max_memory.is_none();
        if limits_none && self.max_increase.is_none() {
            let message = "it limits nothing; give `max`, `max_memory` or `max_increase`";
            return Err(BudgetError::value(&place, message));
        }
        if let Some(max) = &self.max {
            limits.budgets.push(Budget {
                scope: scope(),
                limited: Limited::Mean,
                max: duration(max, &place)?,
            });
        }
        if let Some(max) = &self.max_memory {
            let bytes = unit::parse_bytes(max);
            let bytes = bytes.map_err(|error| BudgetError::value(&place, error))?;
            limits.budgets.push(Budget {
                scope: scope(),
                limited: Limited::Memory,
                max: bytes as f64,
            });
        }
        if let Some(max_increase) = self.max_increase {
            if !(max_increase > 0.0 && max_increase <= MOST_INCREASE) {
                let message = format!(
                    "max_increase is {max_increase}; give a fraction above 0 and at most 10, as in \
                     0.03 for 3 %"
                );
                return Err(BudgetError::value(&place, message));
            }
            let scope = scope();
            limits.increases.push(RelativeLimit {
                scope,
                max_increase,
            });
        }
        Ok(())
    }
}

impl ThresholdEntries {
    fn over_defaults(self) -> Result<Thresholds, BudgetError> {
        let usual = Thresholds::default();
        let time = |name: &str, text: Option<String>, usual: f64| {
            text.map_or(Ok(usual), |text| {
                duration(&text, &format!("thresholds: {name}"))
            })
        };
        let at_most = |most: f64, name, value: Option<f64>, usual: f64| {
            let value = value.unwrap_or(usual);
            let message = "give a positive number (near_budget: at most 1)";
            match value > 0.0 && value <= most {
                true => Ok(value),
                false => Err(BudgetError::value(
                    "thresholds",
                    format!("{name} is {value}; {message}"),
                )),
            }
        };
        let number = |name, value, usual| at_most(f64::MAX, name, value, usual);
        Ok(Thresholds {
            slow_ns: time("slow", self.slow, usual.slow_ns)?,
            high_cv: number("high_cv", self.high_cv, usual.high_cv)?,
            outlier_ratio: number("outlier_ratio", self.outlier_ratio, usual.outlier_ratio)?,
            target_mean_ns: time("target_mean", self.target_mean, usual.target_mean_ns)?,
            target_cv: number("target_cv", self.target_cv, usual.target_cv)?,
            target_per_s: number("target_per_s", self.target_per_s, usual.target_per_s)?,
            near_budget: at_most(1.0, "near_budget", self.near_budget, usual.near_budget)?,
        })
    }
}

/// A positive time, ns.
fn duration(text: &str, place: &str) -> Result<f64, BudgetError> {
    let wrong = || UnitError::Time(text.to_owned());
    let ns = unit::parse_time(text).and_then(|ns| (ns > 0.0).then_some(ns).ok_or_else(wrong));
    ns.map_err(|error| BudgetError::value(place, error))
}

fn syntax(text: &str, error: &toml::de::Error) -> BudgetError {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    BudgetError::Syntax {
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        message: in_words(&error.message().lines().collect::<Vec<_>>().join("; ")),
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

#[cfg(test)]
mod file_tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_an_error_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = Limits::from_toml(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        };
        let not_a_time =
            "is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\"";
        let out_of_range = "give a fraction above 0 and at most 10, as in 0.03 for 3 %";
        let not_positive = "give a positive number (near_budget: at most 1)";
        check(
            "",
            "there is no [[budget]] in the file; add one with `operation` and `max`, or [thresholds]",
        );
        check(
            "[[budget]\n",
            "line 1, column 10: unclosed array table, expected `]`",
        );
        for (field, expected) in [
            (
                "max = 3",
                "line 3, column 7: invalid type: integer `3`, expected a text in quotes",
            ),
            (
                "limit = \"3 ms\"",
                "line 3, column 1: unknown field `limit`, expected one of `operation`, `device`, `size`, `max`, `max_memory`, `max_increase`",
            ),
        ] {
            check(
                &format!("[[budget]]\noperation = \"f\"\n{field}\n"),
                expected,
            );
        }
        for (field, expected) in [
            ("max = \"3\"", format!("\"3\" {not_a_time}")),
            ("max = \"0 s\"", format!("\"0 s\" {not_a_time}")),
            (
                "max_memory = \"64 apples\"",
                unit::parse_bytes("64 apples")
                    .expect_err("no unit")
                    .to_string(),
            ),
            (
                "",
                "it limits nothing; give `max`, `max_memory` or `max_increase`".to_owned(),
            ),
            (
                "max_increase = 30.0",
                format!("max_increase is 30; {out_of_range}"),
            ),
            (
                "max_increase = nan",
                format!("max_increase is NaN; {out_of_range}"),
            ),
        ] {
            check(
                &format!("[[budget]]\noperation = \"f\"\n{field}\n"),
                &format!("budget of \"f\": {expected}"),
            );
        }
        for (field, expected) in [
            ("slow = \"soon\"", format!("slow: \"soon\" {not_a_time}")),
            ("high_cv = -0.1", format!("high_cv is -0.1; {not_positive}")),
            (
                "outlier_ratio = nan",
                format!("outlier_ratio is NaN; {not_positive}"),
            ),
            (
                "near_budget = 2.0",
                format!("near_budget is 2; {not_positive}"),
            ),
        ] {
            check(
                &format!("[thresholds]\n{field}\n"),
                &format!("thresholds: {expected}"),
            );
        }
    }
}
