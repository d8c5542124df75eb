//! Two sides of runs, operation by operation: which became slower, which faster,
//! which stayed, and which cannot be told yet.
//!
//! The unit is the run: a value per run (the median of its samples), tested in
//! log space together with those of all operations (`breakeven_stats::log_ratio_tests`),
//! corrected for their number, and held against a threshold (see [`ChangeType`]).
//! What makes a comparison weaker than it looks comes with it as data: [`Warning`].
//!
//! ```
//! use breakeven_judge::{ChangeType, compare_profiling_runs};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! /// Five runs, whose medians differ by half a percent.
//! fn five_runs(median_ns: u64) -> Profile {
//!     let mut decode = Operation::new("decode", "cpu");
//!     decode.runs = [996, 998, 1_000, 1_002, 1_004]
//!         .map(|part| Run { samples_ns: vec![median_ns / 1_000 * part; 9], ..Run::default() })
//!         .to_vec();
//!     Profile { operations: vec![decode], ..Profile::default() }
//! }
//!
//! let (before, after) = (five_runs(8_000_000), five_runs(9_200_000));
//! let comparison = compare_profiling_runs(&before, &after, 0.05)?;
//! let decode = &comparison.operations[0];
//! assert_eq!(decode.change_type, ChangeType::Regression);
//! assert!((decode.change_percent.unwrap() - 15.0).abs() < 1e-9);
//! assert_eq!(comparison.get_summary().regressions_count, 1);
//! # Ok::<(), breakeven_judge::CompareError>(())
//! ```

use std::slice;

use breakeven_profile::profile::Profile;

mod budgets;
mod comparison;
mod doubts;
mod environment;
mod error;
mod judgement;
mod method;
mod metric;
mod options;
mod page;
mod row;
mod sides;
mod text;
mod verdict;
mod warning;

pub use budgets::{HeldBudget, IdleBudget};
pub use comparison::{
    ChangeType, ComparisonSummary, OperationComparison, ProfilerComparison, Quantity,
};
pub use error::CompareError;
pub use method::{Method, NotTested};
pub use metric::Metric;
pub use options::{Correction, Options};
pub use warning::{Side, Warning};

use budgets::hold;
use judgement::judge;
use sides::pairs;

/// Compares two profiles by time: an operation has changed from `threshold` on
/// (0.05 is 5 %), with 5 % false alarms after Benjamini and Hochberg's correction.
///
/// # Errors
///
/// As [`compare`].
pub fn compare_profiling_runs(
    baseline: &Profile,
    current: &Profile,
    threshold: f64,
) -> Result<ProfilerComparison, CompareError> {
    let options = Options {
        threshold,
        ..Options::default()
    };
    compare(
        slice::from_ref(baseline),
        slice::from_ref(current),
        &options,
    )
}

/// Compares two sides of one or more profiles each. The runs of a side's profiles
/// are put together by name, device and size.
///
/// # Errors
///
/// [`CompareError`] where the options are out of range, a side is empty, the sides
/// have nothing in common, or a time is zero.
pub fn compare(
    baseline: &[Profile],
    current: &[Profile],
    options: &Options,
) -> Result<ProfilerComparison, CompareError> {
    options.check()?;
    let pairs = pairs(baseline, current)?;
    let operations = judge(&pairs, options)?;
    let mut warnings = environment::warnings(baseline, current);
    warnings.extend(doubts::warnings(&pairs, options));
    let (budgets, idle_budgets) = hold(&pairs, &options.limits);
    Ok(ProfilerComparison {
        metric: options.metric,
        threshold: options.threshold,
        alpha: options.alpha,
        correction: options.correction,
        operations,
        warnings,
        budgets,
        idle_budgets,
    })
}
