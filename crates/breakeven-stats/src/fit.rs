//! Robust lines and power laws.

use breakeven_profile::stats::{
    StatsError, check_finite, check_fraction, check_positive, finite, median, median_in_place,
};
use serde::Serialize;

use crate::distribution::normal_upper;

/// Most points of a fit: 2000 have two million slopes, 16 MB of them.
const MOST_POINTS: usize = 2000;

/// y = intercept + slope·x.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[must_use]
pub struct Line {
    /// Median of the slopes of all pairs of points, in y per x.
    pub slope: f64,
    /// Median of y less slope times median of x, in the unit of y.
    pub intercept: f64,
    /// Lower end of the slope's confidence interval.
    pub slope_lower: f64,
    /// Upper end of the slope's confidence interval.
    pub slope_upper: f64,
}

/// Theil–Sen line: up to 29 % of the points may be wrong in any way.
///
/// Theil (1950) for the slope, Sen (1968, "Estimates of the regression
/// coefficient based on Kendall's tau") for pairs of equal x, which have no
/// slope and are left out, and for the interval, which is normal: below about
/// 10 points it is as wide as the slopes go and its level is only nominal.
/// Conover (1980) for the intercept. Takes time and memory n²/2.
///
/// # Errors
/// [`StatsError`] below 3 points, as a line through two leaves nothing to judge it by, above
/// 2000, if all x are equal, if x and y differ in length or are not finite, and for a `level`
/// that is not between 0 and 1.
pub fn theil_sen(x: &[f64], y: &[f64], level: f64) -> Result<Line, StatsError> {
    check_fraction("level", level)?;
    if x.len() != y.len() {
        return Err(StatsError::new(format!(
            "x has {} values and y has {}; give one y for each x",
            x.len(),
            y.len()
        )));
    }
    if x.len() > MOST_POINTS {
        return Err(StatsError::new(format!(
            "x has {} values where at most {MOST_POINTS} are accepted; keep every k-th value, or a \
             random sample",
            x.len()
        )));
    }
    check_finite("x", x, 3)?;
    check_finite("y", y, 3)?;
    let mut slopes = pairwise_slopes(x, y)?;
    let Some(slope) = median_in_place(&mut slopes) else {
        let message = "all values of x are equal, so nothing follows from them; vary x";
        return Err(StatsError::new(message));
    };
    slopes.sort_unstable_by(f64::total_cmp);
    let (low, high) = interval(slopes.len(), x, y, level);
    Ok(Line {
        slope,
        intercept: finite("intercept", median(y)? - slope * median(x)?)?,
        slope_lower: slopes[low],
        slope_upper: slopes[high],
    })
}

/// Power law y = e^intercept · x^slope for positive values: the Theil–Sen line of
/// ln y over ln x. A slope of 1 is linear growth, 2 quadratic.
///
/// # Errors
/// Those of [`theil_sen`], and for a value that is not positive.
pub fn power_law(x: &[f64], y: &[f64], level: f64) -> Result<Line, StatsError> {
    check_positive("x", x, 3)?;
    check_positive("y", y, 3)?;
    let log = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<_>>();
    theil_sen(&log(x), &log(y), level)
}

/// Slopes of all pairs of points that differ in x.
fn pairwise_slopes(x: &[f64], y: &[f64]) -> Result<Vec<f64>, StatsError> {
    let mut slopes = Vec::with_capacity(x.len() * (x.len() - 1) / 2);
    for i in 1..x.len() {
        for j in 0..i {
            if x[i] != x[j] {
                slopes.push(finite("slope", (y[i] - y[j]) / (x[i] - x[j]))?);
            }
        }
    }
    Ok(slopes)
}

/// Sen's interval: places of its ends among the sorted slopes. The variance is
/// that of Kendall's S, with ties in x and in y taken off.
#[expect(clippy::cast_sign_loss, reason = "places are 0 or more")]
fn interval(slopes: usize, x: &[f64], y: &[f64], level: f64) -> (usize, usize) {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let ties = |values: &[f64]| -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let groups = sorted.chunk_by(|a, b| a == b);
        groups.map(|group| term(group.len() as f64)).sum()
    };
    let variance = (term(x.len() as f64) - ties(x) - ties(y)).max(0.0) / 18.0;
    let reach = normal_upper((1.0 - level) / 2.0) * variance.sqrt();
    let (count, last) = (slopes as f64, (slopes - 1) as f64);
    let low = (((count - reach) / 2.0).round_ties_even() - 1.0).clamp(0.0, last);
    let high = ((count + reach) / 2.0).round_ties_even().clamp(0.0, last);
    (low as usize, high as usize)
}
