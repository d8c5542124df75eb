//! Finds levels that drift: that rise or fall from entry to entry, without a step.

use breakeven_profile::stats::median;
use breakeven_stats::theil_sen;

/// Fewest entries of a drift, and most that are looked at.
const FEWEST: usize = 10;
const MOST: usize = 500;

/// Places at which a drift may begin that are tried.
const BEGINNINGS: usize = 64;

/// Confidence level of the slope: that of a search over all beginnings.
const LEVEL: f64 = 0.9995;

/// A drift, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drift {
    /// Index of the value at which it begins.
    pub(crate) from: usize,
    /// Level there.
    pub(crate) level: f64,
    /// Change per value, with its interval.
    pub(crate) slope: [f64; 3],
    /// Change from the beginning to the last value.
    pub(crate) change: f64,
    /// The sum of squares that the line leaves.
    pub(crate) squares: f64,
}

/// Finds the drift in which the values end, if it adds up to `margin` or more.
///
/// The beginning is that of the least squares of a constant followed by a line. The line is
/// Theil's and Sen's; its interval is widened by √((1 + r) / (1 − r)) for values of which each
/// follows the one before with the correlation r.
pub(crate) fn drift(logs: &[f64], margin: f64) -> Option<Drift> {
    let skipped = logs.len().saturating_sub(MOST);
    let logs = &logs[skipped..];
    let last = logs.len().checked_sub(FEWEST)?;
    // The end of a drift is away from the middle of the values by half of it or more.
    let end = median(&logs[logs.len() - FEWEST / 2..]).ok()?;
    if (end - median(logs).ok()?).abs() < margin / 3.0 {
        return None;
    }
    let step = (last / BEGINNINGS).max(1);
    let beginnings = (0..=last).step_by(step);
    let from = beginnings.min_by(|a, b| squares(logs, *a).total_cmp(&squares(logs, *b)))?;
    let values = &logs[from..];
    let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
    let line = theil_sen(&places, values, LEVEL).ok()?;
    let at = |place: f64| line.intercept + line.slope * place;
    let off: Vec<f64> = places.iter().zip(values).map(|(x, y)| y - at(*x)).collect();
    let product = |lag: usize| -> f64 { off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum() };
    let follows = (product(1) / product(0).max(f64::MIN_POSITIVE)).clamp(0.0, 0.9);
    let wider = ((1.0 + follows) / (1.0 - follows)).sqrt();
    let end = |end: f64| line.slope + (end - line.slope) * wider;
    let (lower, upper) = (end(line.slope_lower), end(line.slope_upper));
    let change = line.slope * (values.len() - 1) as f64;
    let is_sure = lower > 0.0 || upper < 0.0;
    (is_sure && change.abs() >= margin).then_some(Drift {
        from: skipped + from,
        level: line.intercept,
        slope: [line.slope, lower, upper],
        change,
        squares: product(0),
    })
}

/// The sum of squares that a constant, followed by a line from `from` on, leaves.
fn squares(logs: &[f64], from: usize) -> f64 {
    let count = logs.len() as f64;
    let place = |index: usize| index.saturating_sub(from) as f64;
    let x_mean = (0..logs.len()).map(place).sum::<f64>() / count;
    let y_mean = logs.iter().sum::<f64>() / count;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, log) in logs.iter().enumerate() {
        let (x, y) = (place(index) - x_mean, log - y_mean);
        (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y);
    }
    yy - xy * xy / xx.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Noise of which each value follows the one before with that correlation.
    fn noise(seed: u64, deviation: f64, follows: f64) -> impl FnMut() -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut before = 0.0;
        move || {
            let fresh: f64 = StandardNormal.sample(&mut random);
            before = follows * before + (1.0 - follows * follows).sqrt() * fresh;
            deviation * before
        }
    }

    fn series(seed: u64, deviation: f64, count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut noise = noise(seed, deviation, 0.0);
        (0..count).map(|at| level(at) + noise()).collect()
    }

    const MARGIN: f64 = 0.0488;

    #[test]
    fn even_rises_are_found_with_their_size() {
        for seed in 0..50 {
            let doubles = series(seed, 0.005, 30, |at| 2_f64.ln() * at as f64 / 29.0);
            let found = drift(&doubles, MARGIN).expect("it doubles");
            assert!((found.change.exp() - 2.0).abs() < 0.05, "{found:?}");
            let slow = series(seed, 0.005, 100, |at| 1.2_f64.ln() * at as f64 / 99.0);
            let found = drift(&slow, MARGIN).expect("it rises by 20 %");
            assert!((found.change.exp() - 1.2).abs() < 0.02, "{found:?}");
            let late = series(seed, 0.01, 80, |at| 0.01 * at.saturating_sub(50) as f64);
            let found = drift(&late, MARGIN).expect("it rises at the end");
            assert!(found.from.abs_diff(50) < 8, "{found:?}");
        }
    }

    #[test]
    fn noise_is_no_drift() {
        for (deviation, follows) in [(0.005, 0.0), (0.03, 0.0), (0.1, 0.0), (0.03, 0.5)] {
            let is_drift = |seed: &u64| {
                let mut noise = noise(*seed, deviation, follows);
                let values: Vec<f64> = (0..100).map(|_| noise()).collect();
                drift(&values, MARGIN).is_some()
            };
            let wrong = (0..1_000).filter(is_drift).count();
            assert!(wrong <= 10, "{wrong} of 1 000 at {deviation}, {follows}");
        }
    }
}
