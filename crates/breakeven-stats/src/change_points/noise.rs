//! How far neighbours of a series differ.

use breakeven_profile::stats::median_in_place;

/// Deviation of a normal variable whose absolute values have the median 1.
const BY_MEDIAN: f64 = 1.482_602_218_505_602;

/// Deviations beyond which a difference is drawn in.
const DRAWN_IN: f64 = 2.5;

/// E[min(|u|, 2.5)²] of a standard normal u.
const LEFT: f64 = 0.977_5;

/// Deviation of values that are independent and differ from their neighbours so: by the
/// median difference, then by the root mean square with what is far out drawn in. Steps
/// of the level touch it as little as single values do.
pub(super) fn scale_of_differences(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = (values.windows(2))
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    let count = differences.len().max(1) as f64;
    let first = BY_MEDIAN * median_in_place(&mut differences).unwrap_or(0.0);
    // More than half of the neighbours are equal: a clock of coarse steps.
    let (most, left) = match first > 0.0 {
        true => (DRAWN_IN * first, LEFT),
        false => (f64::INFINITY, 1.0),
    };
    let squares: f64 = differences.iter().map(|each| each.min(most).powi(2)).sum();
    (squares / count / left / 2.0).sqrt()
}

/// Correlation of neighbours, by differences of values one and two apart: their squares
/// are as 1 to 1 + φ (Chakar and others 2017, section 2).
pub(super) fn resemblance(values: &[f64]) -> f64 {
    let [one, two] = [1, 2].map(|apart| {
        let pairs = values.iter().zip(values.iter().skip(apart));
        let mut differences: Vec<f64> = pairs.map(|(one, other)| (one - other).abs()).collect();
        median_in_place(&mut differences).unwrap_or(0.0)
    });
    match one > 0.0 {
        true => (two / one).powi(2) - 1.0,
        false => 0.0,
    }
}
