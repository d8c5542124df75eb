//! The interval of a mean.

use breakeven_profile::stats::{Moments, StatsError, check_finite, check_fraction};

use crate::distribution::t_upper;

/// Interval of the mean of the distribution that `values` are from, at `level`:
/// mean ± t·s/√n (Student 1908, "The probable error of a mean"). It assumes values that
/// are independent and not far from normal. Ends in ascending order; both are the mean
/// where all values are equal.
///
/// # Errors
/// [`StatsError::TooFew`] below two values, [`StatsError::NotFinite`],
/// [`StatsError::BadParameter`] for `level`.
pub fn mean_interval(values: &[f64], level: f64) -> Result<[f64; 2], StatsError> {
    check_finite("values", values, 2)?;
    check_fraction("level", level)?;
    let moments = Moments::of(values)?;
    let mean = moments.mean().unwrap_or(0.0);
    let deviation = moments.deviation().unwrap_or(0.0);
    let n = values.len() as f64;
    let half = t_upper(0.5 * (1.0 - level), n - 1.0) * deviation / n.sqrt();
    Ok([mean - half, mean + half])
}
