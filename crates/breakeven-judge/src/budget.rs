//! Budgets: what an operation may take, and how it stands against it.

use serde::{Deserialize, Serialize};

/// The mean time that an operation may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The operation's name.
    pub operation: String,
    /// The device's id; `None` for every device.
    pub device: Option<String>,
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

/// A set of budgets; the first that fits an operation counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budgets {
    /// The budgets, in the order of the file.
    pub all: Vec<Budget>,
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
        "budget of {operation:?}: {text:?} is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\""
    )]
    Duration {
        /// The budget's operation.
        operation: String,
        /// What stands there.
        text: String,
    },
    /// A file without budgets gates nothing.
    #[error("there is no [[budget]] in the file; add one with `operation` and `max`")]
    Empty,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    budget: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    operation: String,
    device: Option<String>,
    max: String,
}

impl Budgets {
    /// Reads a budget file:
    ///
    /// ```
    /// # use breakeven_judge::Budgets;
    /// let budgets = Budgets::from_toml(r#"
    ///     [[budget]]
    ///     operation = "conv2d"
    ///     device = "cpu"      # left out: every device
    ///     max = "2 ms"        # of the mean; ns, us, ms, s
    /// "#)?;
    /// assert_eq!(budgets.of("conv2d", "cpu").map(|b| b.max_ns), Some(2e6));
    /// # Ok::<(), breakeven_judge::BudgetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BudgetError`] with line and column, or the entry that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, BudgetError> {
        let file: File = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        if file.budget.is_empty() {
            return Err(BudgetError::Empty);
        }
        let all = file
            .budget
            .into_iter()
            .map(|entry| {
                let max_ns = duration_ns(&entry.max).ok_or_else(|| BudgetError::Duration {
                    operation: entry.operation.clone(),
                    text: entry.max.clone(),
                })?;
                Ok(Budget {
                    operation: entry.operation,
                    device: entry.device,
                    max_ns,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { all })
    }

    /// The budget of an operation on a device.
    pub fn of(&self, operation: &str, device: &str) -> Option<&Budget> {
        self.all.iter().find(|budget| {
            budget.operation == operation
                && budget.device.as_deref().is_none_or(|only| only == device)
        })
    }
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
            max_ns: 100.0,
        };
        assert_eq!(budget.standing(80.0, 0.8), Standing::Within);
        assert_eq!(budget.standing(80.1, 0.8), Standing::Near);
        assert_eq!(budget.standing(100.0, 0.8), Standing::Near);
        assert_eq!(budget.standing(100.1, 0.8), Standing::Over);
    }

    #[test]
    fn a_damaged_file_is_an_error_with_its_place() {
        let error = |text: &str| {
            Budgets::from_toml(text)
                .err()
                .map(|error| error.to_string())
        };
        insta::assert_debug_snapshot!(
            [
                error(""),
                error("[[budget]]\noperation = \"f\"\nmax = 3\n"),
                error("[[budget]]\noperation = \"f\"\nmax = \"3\"\n"),
                error("[[budget]]\noperation = \"f\"\nlimit = \"3 ms\"\n"),
                error("[[budget]\n"),
            ],
            @""
        );
    }
}
