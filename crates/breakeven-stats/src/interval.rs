//! The intervals of a mean and of a standard deviation.

use breakeven_profile::stats::{Moments, StatsError, check_finite, check_fraction, finite};

use crate::distribution::{bisect, f_upper_tail, t_upper};

/// Interval of the mean of the distribution that `values` are from, at `level`:
/// mean ± t·s/√n (Student 1908, "The probable error of a mean"). It assumes values that
/// are independent and not far from normal. Ends in ascending order; both are the mean
/// where all values are equal.
///
/// # Errors
/// [`StatsError`] below two values, for one that is not finite, and for a `level` that is not
/// between 0 and 1.
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

/// Interval of the standard deviation of the distribution that `values` are from, at
/// `level`: s·√((n−1)/χ²), with the quantiles of χ² on n − 1 degrees of freedom
/// (Snedecor and Cochran 1989, "Statistical methods", section 5.11). It assumes values that
/// are independent and normal; heavier tails make the true interval wider. Ends in
/// ascending order; both are 0 where all values are equal.
///
/// # Errors
/// [`StatsError`] below two values, for one that is not finite, and for a `level` that is not
/// between 0 and 1 or so near 1 that the interval has no end.
pub fn deviation_interval(values: &[f64], level: f64) -> Result<[f64; 2], StatsError> {
    check_finite("values", values, 2)?;
    check_fraction("level", level)?;
    let deviation = Moments::of(values)?.deviation().unwrap_or(0.0);
    let freedom = values.len() as f64 - 1.0;
    // χ² over its degrees of freedom with so much above it.
    let quantile = |tail: f64| {
        if tail == 1.0 {
            return 0.0;
        }
        let is_below = |ratio: f64| f_upper_tail(ratio, freedom, f64::INFINITY) > tail;
        let mut high = 1.0;
        while is_below(high) && high < 1e6 {
            high *= 2.0;
        }
        bisect(0.0, high, is_below)
    };
    if deviation == 0.0 {
        return Ok([0.0, 0.0]);
    }
    let beyond = 0.5 * (1.0 - level);
    let [lower, upper] = [beyond, 1.0 - beyond].map(|tail| deviation / quantile(tail).sqrt());
    Ok([lower, finite("the deviation's interval", upper)?])
}
