//! Errors of a budget file.

use breakeven_profile::unit::UnitError;

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
    /// A time or a number of bytes that cannot be read.
    #[error("{place}: {error}")]
    Unit {
        /// The budget or threshold concerned.
        place: String,
        /// The value, and the values that are allowed.
        error: UnitError,
    },
    /// An entry without a limit.
    #[error("{place}: it limits nothing; give `max`, `max_memory` or `max_increase`")]
    NoLimit {
        /// The budget.
        place: String,
    },
    /// A relative limit out of range.
    #[error(
        "{place}: max_increase is {value}; give a fraction above 0 and at most 10, as in 0.03 for 3 %"
    )]
    Increase {
        /// The budget.
        place: String,
        /// The value in the file.
        value: String,
    },
    /// A threshold out of range: everything or nothing would exceed it.
    #[error("thresholds: {name} is {value}; give a positive number (near_budget: at most 1)")]
    Threshold {
        /// Its name.
        name: &'static str,
        /// The value in the file.
        value: String,
    },
    /// A file without budgets or thresholds.
    #[error(
        "there is no [[budget]] in the file; add one with `operation` and `max`, or [thresholds]"
    )]
    Empty,
}
