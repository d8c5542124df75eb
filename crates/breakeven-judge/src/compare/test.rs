//! The one place in which operations are tested.

use breakeven_profile::stats::{LogRatio, StatsError, log_ratio_test};

/// Baseline and current values of all operations that have two runs or more a
/// side, one value per run, tested together.
pub(super) fn log_ratio_tests(
    pairs: &[(&[f64], &[f64])],
    level: f64,
) -> Vec<Result<LogRatio, StatsError>> {
    pairs
        .iter()
        .map(|(baseline, current)| log_ratio_test(baseline, current, level))
        .collect()
}
