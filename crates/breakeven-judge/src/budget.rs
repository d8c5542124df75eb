//! Budgets: what an operation may take, and how it stands against it; and the
//! file in which they and the thresholds of the bottlenecks are set.

use breakeven_profile::profile::{Operation, Profile};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Thresholds;

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
    /// device counts, then the first.
    pub budgets: Vec<Budget>,
    /// From when an operation counts as a problem.
    pub thresholds: Thresholds,
}

/// Why a budget file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// Not TOML, or not the fields of a budget file.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A duration that cannot be read.
    #[error(
        "{place}: {text:?} is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\""
    )]
    Duration {
        /// The budget or threshold.
        place: String,
        /// What stands there.
        text: String,
    },
    /// A threshold that nothing could pass, or everything.
    #[error("thresholds: {name} is {value}; give a positive number (near_budget: at most 1)")]
    Threshold {
        /// Its name.
        name: &'static str,
        /// What stands there.
        value: String,
    },
    /// A file that sets nothing judges nothing.
    #[error(
        "there is no [[budget]] in the file; add one with `operation` and `max`, or [thresholds]"
    )]
    Empty,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    budget: Vec<BudgetEntry>,
    thresholds: Option<ThresholdEntries>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetEntry {
    operation: String,
    device: Option<String>,
    size: Option<u64>,
    max: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// Reads a budget file. All of it is optional, but not all at once:
    ///
    /// ```
    /// # use breakeven_judge::Limits;
    /// let limits = Limits::from_toml(r#"
    ///     [[budget]]
    ///     operation = "conv2d"
    ///     device = "cpu"          # left out: every device
    ///     size = 65536            # left out: every size
    ///     max = "2 ms"            # of the mean; ns, us, ms, s
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
    /// assert_eq!(limits.budgets[0].max_ns, 2e6);
    /// assert_eq!(limits.thresholds.slow_ns, 5e6);
    /// # Ok::<(), breakeven_judge::BudgetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BudgetError`] with line and column, or the entry that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, BudgetError> {
        let file: File = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        if file.budget.is_empty() && file.thresholds.is_none() {
            return Err(BudgetError::Empty);
        }
        let budgets = file
            .budget
            .into_iter()
            .map(|entry| {
                let place = || format!("budget of {:?}", entry.operation);
                Ok(Budget {
                    max_ns: duration(&entry.max, place)?,
                    operation: entry.operation.clone(),
                    device: entry.device,
                    size: entry.size,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            budgets,
            thresholds: file.thresholds.map_or_else(
                || Ok(Thresholds::default()),
                ThresholdEntries::over_defaults,
            )?,
        })
    }

    /// The budget of an operation.
    pub fn budget_of(&self, operation: &Operation) -> Option<&Budget> {
        let fits = |budget: &&Budget| budget.is_for(operation);
        let named = self
            .budgets
            .iter()
            .filter(fits)
            .find(|budget| budget.device.is_some());
        named.or_else(|| self.budgets.iter().find(fits))
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

impl ThresholdEntries {
    fn over_defaults(self) -> Result<Thresholds, BudgetError> {
        let usual = Thresholds::default();
        let time = |name: &'static str, text: Option<String>, usual: f64| {
            text.map_or(Ok(usual), |text| {
                duration(&text, || format!("thresholds: {name}"))
            })
        };
        let number = |name: &'static str, value: Option<f64>, usual: f64| match value {
            None => Ok(usual),
            Some(value) if value.is_finite() && value > 0.0 => Ok(value),
            Some(value) => Err(BudgetError::Threshold {
                name,
                value: value.to_string(),
            }),
        };
        Ok(Thresholds {
            slow_ns: time("slow", self.slow, usual.slow_ns)?,
            high_cv: number("high_cv", self.high_cv, usual.high_cv)?,
            outlier_ratio: number("outlier_ratio", self.outlier_ratio, usual.outlier_ratio)?,
            target_mean_ns: time("target_mean", self.target_mean, usual.target_mean_ns)?,
            target_cv: number("target_cv", self.target_cv, usual.target_cv)?,
            target_per_s: number("target_per_s", self.target_per_s, usual.target_per_s)?,
            near_budget: match number("near_budget", self.near_budget, usual.near_budget)? {
                share @ ..=1.0 => share,
                value => {
                    return Err(BudgetError::Threshold {
                        name: "near_budget",
                        value: value.to_string(),
                    });
                }
            },
        })
    }
}

fn duration(text: &str, place: impl FnOnce() -> String) -> Result<f64, BudgetError> {
    duration_ns(text).ok_or_else(|| BudgetError::Duration {
        place: place(),
        text: text.to_owned(),
    })
}

impl Budget {
    /// True where the operation is the one it speaks of.
    pub fn is_for(&self, operation: &Operation) -> bool {
        self.operation == operation.name
            && self
                .device
                .as_ref()
                .is_none_or(|only| *only == operation.device)
            && self.size.is_none_or(|only| Some(only) == operation.size)
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

fn syntax(text: &str, error: &toml::de::Error) -> BudgetError {
    let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
    BudgetError::Syntax {
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        message: error.message().lines().collect::<Vec<_>>().join("; "),
    }
}

/// `2 ms`, `800us`, `1.5 s` in ns; `None` unless it is a positive, finite time.
fn duration_ns(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic())?);
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let value = number.trim().parse::<f64>().ok()? * scale;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(duration_ns("2 ms"), Some(2e6));
        assert_eq!(duration_ns(" 800us "), Some(8e5));
        assert_eq!(duration_ns("1.5 µs"), Some(1_500.0));
        for wrong in [
            "", "2", "ms", "-1 ms", "0 s", "1e999 s", "2 m", "nan ms", "2 ms x",
        ] {
            assert_eq!(duration_ns(wrong), None, "{wrong:?}");
        }
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

    #[test]
    fn a_damaged_file_is_an_error_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = Limits::from_toml(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        };
        check(
            "",
            "there is no [[budget]] in the file; add one with `operation` and `max`, or [thresholds]",
        );
        check(
            "[[budget]]\noperation = \"f\"\nmax = 3\n",
            "line 3, column 7: invalid type: integer `3`, expected a string",
        );
        check(
            "[[budget]]\noperation = \"f\"\nmax = \"3\"\n",
            "budget of \"f\": \"3\" is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\"",
        );
        check(
            "[[budget]]\noperation = \"f\"\nlimit = \"3 ms\"\n",
            "line 3, column 1: unknown field `limit`, expected one of `operation`, `device`, `size`, `max`",
        );
        check(
            "[[budget]\n",
            "line 1, column 10: unclosed array table, expected `]`",
        );
        check(
            "[thresholds]\nslow = \"soon\"\n",
            "thresholds: slow: \"soon\" is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\"",
        );
        check(
            "[thresholds]\nhigh_cv = -0.1\n",
            "thresholds: high_cv is -0.1; give a positive number (near_budget: at most 1)",
        );
        check(
            "[thresholds]\noutlier_ratio = nan\n",
            "thresholds: outlier_ratio is NaN; give a positive number (near_budget: at most 1)",
        );
    }
}
