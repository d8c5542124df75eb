//! The common shift of nearly all operations.

use breakeven_profile::stats::median;
use serde::Serialize;

use super::change::Change;
use super::options::Threshold;
use super::warning::FEWEST_TOGETHER;

/// Fraction of the operations that must have moved together.
const NEARLY_ALL: f64 = 0.8;

/// Nearly all operations became slower, or faster, by about the same factor. A change of the
/// program seldom does that: the machine, its clock, the toolchain or a setting does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CommonShift {
    /// Ratio current / baseline: the median over the operations.
    pub ratio: f64,
    /// Operations that moved in the same direction, by at least half as much.
    pub operations: usize,
    /// Operations with a value on both sides.
    pub of: usize,
}

impl CommonShift {
    /// The shift, if it is half the threshold or more.
    pub(super) fn of(changes: &[Change], threshold: Threshold) -> Option<Self> {
        if changes.iter().any(|change| change.metric.is_count()) {
            return None;
        }
        let tested = changes.iter().filter(|change| change.p_value.is_some());
        let logs: Vec<f64> = tested
            .filter_map(|change| change.ratio)
            .map(f64::ln)
            .collect();
        let middle = median(&logs)
            .ok()
            .filter(|_| logs.len() >= FEWEST_TOGETHER)?;
        let moved = logs
            .iter()
            .filter(|log| **log * middle.signum() >= middle.abs() / 2.0);
        let shift = Self {
            ratio: middle.exp(),
            operations: moved.count(),
            of: logs.len(),
        };
        let is_common = shift.operations as f64 >= NEARLY_ALL * shift.of as f64;
        (is_common && middle.abs() >= threshold.as_fraction().ln_1p() / 2.0).then_some(shift)
    }
}
