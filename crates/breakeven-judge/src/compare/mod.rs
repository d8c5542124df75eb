//! Compares two sides of runs, operation by operation: slower, faster, unchanged, or not decided
//! yet.
//!
//! The unit is the run: one value per run (the median of its samples), tested in log space together
//! with those of all operations (`breakeven_stats::log_ratio_tests`), corrected for their number,
//! and compared with a threshold (see [`ChangeType`]). Reasons to trust the result less are
//! returned as data: [`Warning`].
//!
//! ```
//! use breakeven_judge::{ChangeType, Threshold, compare_profiling_runs};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! /// Five runs, whose medians differ by half a percent.
//! fn five_runs(median_ns: f64) -> Profile {
//!     let mut decode = Operation::new("decode", "cpu");
//!     decode.runs = [0.996, 0.998, 1.0, 1.002, 1.004]
//!         .map(|part| Run { samples_ns: vec![median_ns * part; 9], ..Run::default() })
//!         .to_vec();
//!     Profile { operations: vec![decode], ..Profile::default() }
//! }
//!
//! let (before, after) = (five_runs(8e6), five_runs(9.2e6));
//! let comparison = compare_profiling_runs(&before, &after, Threshold::percent(5.0)?)?;
//! let decode = &comparison.operations[0];
//! assert_eq!(decode.change_type, ChangeType::Regression);
//! assert!((decode.change_percent.unwrap() - 15.0).abs() < 1e-9);
//! assert_eq!(comparison.get_summary().regressions_count, 1);
//! # Ok::<(), breakeven_judge::CompareError>(())
//! ```

use std::slice;

use breakeven_profile::profile::Profile;
pub use comparison::{
    Change, ChangeType, CommonShift, ComparisonSummary, HeldBudget, Method, NotTested,
    OperationComparison, ProfilerComparison,
};
use judgement::{hold, judge};
pub use options::{CompareError, FEWEST_RUNS, Options, Side, Threshold};
pub(crate) use page::runs_text;
use sides::pairs;
pub use verdict::{PlannedRuns, planned_runs};
pub use warnings::{Warning, WarningKind};

pub use crate::metric::{Known, METRICS, Metric};

mod comparison;
mod judgement;
mod options;
mod page;
mod sides;
mod verdict;
mod warnings;

/// Compares two profiles by time: an operation has changed from `threshold` on, with a
/// false-positive rate of 5 % after Benjamini and Hochberg's correction.
///
/// # Errors
///
/// As [`compare`].
pub fn compare_profiling_runs(
    baseline: &Profile,
    current: &Profile,
    threshold: Threshold,
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

/// Compares two sides of one or more profiles each. The runs of a side's profiles are merged by
/// name, device and size.
///
/// # Errors
///
/// [`CompareError`] if the options are out of range, a side is empty, or the sides have nothing in
/// common.
pub fn compare(
    baseline: &[Profile],
    current: &[Profile],
    options: &Options,
) -> Result<ProfilerComparison, CompareError> {
    options.check()?;
    let pairs = pairs(baseline, current)?;
    let (operations, common_shift) = judge(&pairs, options)?;
    let mut warnings = warnings::of(&pairs, baseline, current, options);
    if options.relative_to_common_shift && common_shift.is_none() {
        let tested = operations.iter();
        let tested = tested.filter(|operation| operation.judged.p_value.is_some());
        warnings.push(Warning::not_relative(tested.count()));
    }
    let (budgets, idle_budgets) = hold(&pairs, current, &options.limits);
    Ok(ProfilerComparison {
        metric: operations[0].judged.metric.clone(),
        threshold: options.threshold.as_fraction(),
        alpha: options.alpha,
        operations,
        common_shift,
        relative_to_common_shift: options.relative_to_common_shift && common_shift.is_some(),
        warnings,
        budgets,
        idle_budgets,
    })
}
