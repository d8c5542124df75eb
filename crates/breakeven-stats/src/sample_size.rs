//! How many runs would settle a comparison.

use breakeven_profile::stats::{StatsError, check_fraction};

use crate::distribution::{normal_cdf, normal_upper, t_upper};
use crate::log_ratio::Noise;

/// More runs than anyone will make; the search ends here too.
const MOST_RUNS: f64 = 1e9;

/// Runs needed on each of two sides for the two-sided
/// [`log_ratio_test`](crate::log_ratio_test()) at error rate `alpha` to find a true
/// ratio of `effect_ratio` (1.05 or 0.95: 5 % slower or faster) with
/// probability `power`, when per-run medians vary by `cv_between_runs` (0.02:
/// 2 %). At least 2.
///
/// The smallest n with n ≥ 2 (σ/δ)² (t_{α/2} + t_{1−power})², t on 2(n − 1)
/// degrees of freedom (Julious 2004, "Sample sizes for clinical trials with
/// normal data", section 3; Snedecor and Cochran 1989, section 6.14), with
/// δ = |ln effect_ratio| and σ = √ln(1 + cv²), the log-normal's (Aitchison and
/// Brown 1957). The search starts from the same formula with normal quantiles,
/// which is never larger.
///
/// # Errors
///
/// [`StatsError`] for a parameter out of range, and for an effect so small relative to the noise
/// that it would take more than 1e9 runs.
pub fn runs_needed(
    cv_between_runs: f64,
    effect_ratio: f64,
    alpha: f64,
    power: f64,
) -> Result<u64, StatsError> {
    check_fraction("alpha", alpha)?;
    check_fraction("power", power)?;
    let bad = |name, value, expected| Err(StatsError::parameter(name, value, expected));
    let effect = effect_ratio.ln().abs();
    if !effect.is_finite() || effect == 0.0 {
        let expected = "a positive ratio other than 1";
        return bad("effect_ratio", effect_ratio, expected);
    }
    if !(0.0..=1e6).contains(&cv_between_runs) {
        let expected = "between 0 and 1e6 (0.02 is 2 %)";
        return bad("cv_between_runs", cv_between_runs, expected);
    }
    // A power below α/2 needs no runs at all; quantiles then cancel or cross.
    let squared = |critical: f64, beyond: f64| (critical + beyond).max(0.0).powi(2);
    let scale = 2.0 * (cv_between_runs * cv_between_runs).ln_1p() / (effect * effect);
    let start = scale * squared(normal_upper(alpha / 2.0), normal_upper(1.0 - power));
    if !(0.0..=MOST_RUNS).contains(&start) {
        let expected = "further from 1: beside this noise, 1e9 runs would not show it";
        return bad("effect_ratio", effect_ratio, expected);
    }
    let enough = |n: f64| {
        let freedom = 2.0 * (n - 1.0);
        n >= scale * squared(t_upper(alpha / 2.0, freedom), t_upper(1.0 - power, freedom))
    };
    Ok(first(start.ceil().max(2.0), enough))
}

/// The smallest change, in logarithms, that is found with probability `power` with `runs` runs per
/// side and a noise that is known besides: its estimate is at or beyond `threshold` (in
/// logarithms, too) and significant in the two-sided test at error rate `alpha`.
pub fn smallest_seen(noise: Noise, runs: usize, threshold: f64, [alpha, power]: [f64; 2]) -> f64 {
    let runs = runs.max(1) as f64;
    let error = noise.deviation * (2.0 / runs).sqrt();
    let freedom = noise.freedom + 2.0 * (runs - 1.0);
    let significant = t_upper(alpha / 2.0, freedom) + t_upper(1.0 - power, freedom);
    (threshold + error * normal_upper(1.0 - power)).max(error * significant)
}

/// A comparison that is not decided: what is known of the change, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Undecided {
    /// Estimate of the change.
    pub change: f64,
    /// Standard error of that estimate.
    pub error: f64,
    /// Deviation between runs.
    pub noise: f64,
    /// A change from which it counts.
    pub threshold: f64,
    /// Error rate of the interval, which decides that nothing changed.
    pub alpha: f64,
    /// Error rate that correction leaves to the test, which decides that something did.
    pub corrected: f64,
}

/// Possible true changes, each as probable as the next.
const PLACES: u32 = 40;

impl Undecided {
    /// Returns the runs per side, more than `fewest`, that decide with probability `power`: the
    /// estimate is beyond the threshold and significant, or the complete interval is inside. The
    /// true change is as far from the estimate as its error makes probable; taking the estimate as
    /// exact promises too much (O'Hagan, Stevens and Campbell 2005, "Assurance in clinical trial
    /// design"). `None` for more than 1e9 runs, and for error rates outside of 0 to 1.
    pub fn runs(&self, fewest: u64, power: f64) -> Option<u64> {
        let quantiles = (0..PLACES).map(|k| normal_upper((f64::from(k) + 0.5) / f64::from(PLACES)));
        let places: Vec<f64> = quantiles.map(|z| self.change + self.error * z).collect();
        let enough = |runs: f64| {
            let error = self.noise * (2.0 / runs).sqrt();
            let reach = |alpha: f64| error * t_upper(alpha / 2.0, 2.0 * (runs - 1.0).max(1.0));
            let beyond = self.threshold.max(reach(self.corrected));
            let inside = (self.threshold - reach(self.alpha)).max(0.0);
            let decided = places.iter().map(|change| {
                let below = |end: f64| normal_cdf((end - change) / error);
                1.0 - below(beyond) + below(-beyond) + below(inside) - below(-inside)
            });
            decided.sum::<f64>() >= power * f64::from(PLACES)
        };
        let rates = [self.alpha, self.corrected];
        let sound = self.noise > 0.0 && rates.iter().all(|rate| (0.0..=1.0).contains(rate));
        let sound = sound && enough(MOST_RUNS);
        sound.then(|| first(fewest as f64 + 1.0, enough))
    }
}

/// Returns the first integer from `start` on that is enough, if every larger one is too.
#[expect(
    clippy::cast_sign_loss,
    reason = "starts from at least 2 and only grows"
)]
fn first(start: f64, enough: impl Fn(f64) -> bool) -> u64 {
    let (mut low, mut step) = (start - 1.0, 1.0);
    while !enough(low + step) {
        low += step;
        step *= 2.0;
    }
    let mut high = low + step;
    while high - low > 1.0 {
        let middle = (low + 0.5 * (high - low)).floor();
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high as u64
}
