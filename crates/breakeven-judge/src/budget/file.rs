//! The budget file: TOML.

use breakeven_profile::file::in_words;
use breakeven_profile::unit::{self, UnitError};
use serde::Deserialize;

use super::{Budget, BudgetError, Limited, Limits, RelativeLimit, Scope};
use crate::bottleneck::Thresholds;

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
        let place = || format!("budget of {:?}", self.operation);
        let scope = || Scope {
            operation: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        };
        let limits_none = self.max.is_none() && self.max_memory.is_none();
        if limits_none && self.max_increase.is_none() {
            return Err(BudgetError::NoLimit { place: place() });
        }
        if let Some(max) = &self.max {
            limits.budgets.push(Budget {
                scope: scope(),
                limited: Limited::Mean,
                max: duration(max, place)?,
            });
        }
        if let Some(max) = &self.max_memory {
            let bytes = unit::parse_bytes(max).map_err(|error| BudgetError::Unit {
                place: place(),
                error,
            })?;
            limits.budgets.push(Budget {
                scope: scope(),
                limited: Limited::Memory,
                max: bytes as f64,
            });
        }
        if let Some(max_increase) = self.max_increase {
            if !(max_increase > 0.0 && max_increase <= MOST_INCREASE) {
                return Err(BudgetError::Increase {
                    place: place(),
                    value: max_increase.to_string(),
                });
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
        let time = |name: &'static str, text: Option<String>, usual: f64| {
            text.map_or(Ok(usual), |text| {
                duration(&text, || format!("thresholds: {name}"))
            })
        };
        let at_most = |most: f64, name, value: Option<f64>, usual: f64| match value {
            None => Ok(usual),
            Some(value) if value > 0.0 && value <= most => Ok(value),
            Some(value) => Err(BudgetError::Threshold {
                name,
                value: value.to_string(),
            }),
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
fn duration(text: &str, place: impl FnOnce() -> String) -> Result<f64, BudgetError> {
    let wrong = || UnitError::Time(text.to_owned());
    let ns = unit::parse_time(text).and_then(|ns| (ns > 0.0).then_some(ns).ok_or_else(wrong));
    ns.map_err(|error| BudgetError::Unit {
        place: place(),
        error,
    })
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
