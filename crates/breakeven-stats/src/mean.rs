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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // t(0.975, 4) = 2.776 445; s = 1.581 139.
        let [low, high] = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((low - 1.036_757).abs() < 1e-6 && (high - 4.963_243).abs() < 1e-6);
        assert_eq!(mean_interval(&[2.0, 2.0], 0.95), Ok([2.0, 2.0]));
    }

    #[test]
    fn what_has_no_interval_is_refused() {
        let few = mean_interval(&[1.0], 0.95).unwrap_err().to_string();
        let expected = "values has 1 value(s) where at least 2 are needed; measure more";
        assert_eq!(few, expected);
        assert!(mean_interval(&[1.0, f64::NAN], 0.95).is_err());
        assert!(mean_interval(&[1.0, 2.0], 1.0).is_err());
    }
}
