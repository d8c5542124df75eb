//! Derives a verdict from an estimate, its interval and its p-value.

use breakeven_stats::{LogRatio, LogRatioMethod, Undecided};
use serde::Serialize;

use super::comparison::ChangeType;
use super::options::{FEWEST_RUNS, Threshold};

/// Probability with which the requested runs decide.
const POWER: f64 = 0.8;

/// The normal quantile at that probability.
const POWER_QUANTILE: f64 = 0.841_621_233_572_914_4;

/// Rounding tolerance for a change that is exactly the threshold.
pub(super) const ROUNDING: f64 = 1e-9;

/// The criteria for a verdict.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Smallest change that counts, a fraction.
    pub(super) threshold: f64,
    /// False-positive rate.
    pub(super) alpha: f64,
    /// 1 if more is worse, −1 if less is worse.
    pub(super) worse: f64,
}

impl Bounds {
    /// The threshold in log space: equal in both directions, so that exchanging the sides mirrors
    /// every verdict.
    fn log(self) -> f64 {
        self.threshold.ln_1p()
    }

    /// The verdict on a change without noise: worse or better from the threshold on.
    pub(super) fn alone(self, log_ratio: f64) -> ChangeType {
        if log_ratio.abs() < self.log() - ROUNDING {
            ChangeType::NoChange
        } else if log_ratio * self.worse > 0.0 {
            ChangeType::Regression
        } else {
            ChangeType::Improvement
        }
    }

    /// The verdict on a test: a change if it is significant after correction and reaches the
    /// threshold; no change if the interval is inside the threshold.
    pub(super) fn tested(self, test: &LogRatio, adjusted_p: f64) -> ChangeType {
        let beyond = self.alone(test.ratio.ln());
        if beyond != ChangeType::NoChange && adjusted_p <= self.alpha {
            return beyond;
        }
        let inside = |end: f64| end.ln().abs() < self.log();
        if inside(test.lower) && inside(test.upper) {
            ChangeType::NoChange
        } else {
            ChangeType::Inconclusive
        }
    }

    /// Runs per side that decide an inconclusive operation in 80 % of cases, given the known change
    /// and noise. `None` if no number of runs would.
    pub(super) fn runs_needed(
        self,
        test: &LogRatio,
        adjusted_p: f64,
        noise: f64,
        fewest_runs: usize,
    ) -> Option<u64> {
        let corrected = match adjusted_p {
            p if p > 0.0 => self.alpha * test.p_value / p,
            _ => self.alpha,
        };
        let undecided = Undecided {
            change: test.ratio.ln(),
            error: test.standard_error,
            noise,
            threshold: self.log(),
            alpha: self.alpha,
            corrected,
        };
        let fewest = fewest_runs as u64;
        match test.method {
            // The step of the clock hides a change: more runs do not show it.
            LogRatioMethod::Permutation if undecided.change.abs() < self.log() - ROUNDING => None,
            LogRatioMethod::Permutation => Some(runs_to_permute(corrected).max(fewest + 1)),
            // By its own runs alone, p is at least that of a permutation test.
            LogRatioMethod::Welch { .. } => {
                undecided.runs(fewest.max(runs_to_permute(corrected) - 1), POWER)
            }
            _ => undecided.runs(fewest, POWER),
        }
    }

    /// Runs per side with which the interval of an unchanged operation is inside the threshold. It
    /// may exceed it at either end.
    pub(super) fn runs_at_no_change(self, noise: f64) -> Option<u64> {
        // The noise is the standard deviation of logarithms; for a log-normal value this is the
        // coefficient of variation.
        let cv = (noise * noise).exp_m1().sqrt();
        let power = f64::midpoint(1.0, POWER);
        breakeven_stats::runs_needed(cv, self.log().exp(), self.alpha, power).ok()
    }

    /// The smallest change, a fraction, whose estimate exceeds the threshold with this many runs
    /// per side.
    pub(super) fn stays_beyond(self, noise: f64, runs: u64) -> f64 {
        let beyond = POWER_QUANTILE * noise * (2.0 / runs as f64).sqrt();
        (self.log() + beyond).exp_m1()
    }
}

/// Runs per side that allow enough permutations for a p-value of `alpha`: 2 of (2n over n).
fn runs_to_permute(alpha: f64) -> u64 {
    let (mut runs, mut ways) = (1, 2.0);
    while 2.0 / ways > alpha {
        runs += 1;
        ways *= 4.0 - 2.0 / runs as f64;
    }
    runs
}

/// The standard deviation between runs that a test used, in log space: its standard error is this
/// times √(1/n₀ + 1/n₁).
pub(super) fn noise(test: &LogRatio, baseline_runs: usize, current_runs: usize) -> f64 {
    let (n0, n1) = (baseline_runs as f64, current_runs as f64);
    test.standard_error / (n0.recip() + n1.recip()).sqrt()
}

/// The runs per side that a comparison of one operation needs, and the change that it then detects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedRuns {
    /// Runs per side with which an unchanged operation is reported as
    /// [`NoChange`](super::ChangeType::NoChange) 80 % of the time. A change of exactly the
    /// threshold is significant more often than that, but its estimate is below the threshold as
    /// often as above it.
    pub runs: u64,
    /// Smallest change, a fraction, that is reported as a change 80 % of the time with that many
    /// runs.
    pub seen_from: f64,
}

/// Computes the needed runs. `noise` is the standard deviation of the logarithms of run medians
/// (0.02 is 2 %). The definition is that by which a comparison requests more runs; the result is at
/// least four, the fewest for a verdict. It applies to a comparison of one operation; the
/// correction for many needs more. None if more than 1e9 would be needed, or if the noise is
/// negative or not a number.
pub fn planned_runs(noise: f64, threshold: Threshold, alpha: f64) -> Option<PlannedRuns> {
    if noise.is_nan() || noise < 0.0 {
        return None;
    }
    let bounds = Bounds {
        threshold: threshold.as_fraction(),
        alpha,
        worse: 1.0,
    };
    let runs = bounds.runs_at_no_change(noise)?.max(FEWEST_RUNS as u64);
    let seen_from = bounds.stays_beyond(noise, runs);
    Some(PlannedRuns { runs, seen_from })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        threshold: 0.05,
        alpha: 0.05,
        worse: 1.0,
    };

    fn test(ratio: f64, lower: f64, upper: f64, p_value: f64) -> LogRatio {
        LogRatio {
            ratio,
            lower,
            upper,
            level: 0.95,
            p_value,
            standard_error: 0.01,
            method: LogRatioMethod::Welch {
                degrees_of_freedom: 1e6,
            },
        }
    }

    #[test]
    fn the_threshold_itself_is_a_change() {
        assert_eq!(BOUNDS.alone(1.05f64.ln()), ChangeType::Regression);
        assert_eq!(BOUNDS.alone((1.0 / 1.05f64).ln()), ChangeType::Improvement);
        assert_eq!(BOUNDS.alone(1.0499f64.ln()), ChangeType::NoChange);
        let less_is_worse = Bounds {
            worse: -1.0,
            ..BOUNDS
        };
        assert_eq!(less_is_worse.alone(0.5f64.ln()), ChangeType::Regression);
    }

    #[test]
    fn significant_and_large_enough_or_inside_or_unknown() {
        for (ratio, lower, upper, p, verdict) in [
            (1.10, 1.06, 1.14, 0.001, ChangeType::Regression),
            (0.90, 0.86, 0.94, 0.001, ChangeType::Improvement),
            // Large, and not significant.
            (1.10, 0.98, 1.22, 0.08, ChangeType::Inconclusive),
            // Significant, and too small.
            (1.02, 1.01, 1.03, 0.001, ChangeType::NoChange),
            // Significant, perhaps too small.
            (1.04, 1.02, 1.06, 0.001, ChangeType::Inconclusive),
            // No effect visible, and none excluded.
            (1.00, 0.90, 1.11, 0.9, ChangeType::Inconclusive),
            (1.00, 0.97, 1.03, 0.9, ChangeType::NoChange),
        ] {
            let found = BOUNDS.tested(&test(ratio, lower, upper, p), p);
            assert_eq!(found, verdict, "{ratio} {lower} {upper} {p}");
        }
    }

    #[test]
    fn correction_decides() {
        let test = test(1.10, 1.02, 1.18, 0.03);
        assert_eq!(BOUNDS.tested(&test, 0.05), ChangeType::Regression);
        assert_eq!(BOUNDS.tested(&test, 0.06), ChangeType::Inconclusive);
    }

    fn needed(ratio: f64) -> Option<u64> {
        BOUNDS.runs_needed(&test(ratio, 0.9, 1.2, 0.2), 0.2, 0.03, 5)
    }

    #[test]
    fn more_runs_are_asked_for_the_nearer_the_threshold() {
        assert!(needed(1.0) < needed(1.03) && needed(1.03) < needed(1.045));
        assert!(needed(1.10) < needed(1.06));
        let corrected = BOUNDS.runs_needed(&test(1.08, 0.9, 1.2, 0.02), 0.2, 0.03, 5);
        assert!(corrected > needed(1.08));
    }

    /// 3 runs per side without any spread have a p-value of at least 0.1.
    #[test]
    fn runs_asked_for_without_any_spread_could_not_settle_it() {
        let same = LogRatio {
            method: LogRatioMethod::Permutation,
            ..test(1.3, 1.3, 1.3, 1.0 / 3.0)
        };
        assert_eq!(BOUNDS.runs_needed(&same, 1.0 / 3.0, 0.0, 2), Some(4));
        // Corrected to a third of 5 %: 2 of 70 is too much, 2 of 252 is not.
        assert_eq!(BOUNDS.runs_needed(&same, 1.0, 0.0, 2), Some(5));
    }

    #[test]
    fn noise_is_the_deviation_between_runs() {
        let found = noise(&test(1.0, 0.9, 1.1, 0.5), 4, 4);
        assert!((found - 0.01 * 2f64.sqrt()).abs() < 1e-15);
    }
}
