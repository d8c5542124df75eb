//! Many ratios at once: the t-test on logarithms with variances that learn from each other.

use breakeven_profile::stats::{StatsError, check_fraction, median};
use statrs::function::gamma::digamma;

use crate::distribution::{bisect, t_two_sided, t_upper};
use crate::log_ratio::{LogRatio, LogRatioMethod, log_mean, log_ratio_test, result, satterthwaite};

/// Least variance that the prior is fitted on, as a part of the median one: a
/// clock's steps can make a variance all but zero, and its logarithm boundless.
const FLOOR: f64 = 1e-5;

/// [`log_ratio_test`] of many operations together, each a pair (baseline,
/// current) of run medians, in the order given.
///
/// Five runs say little of the noise between runs, fifty operations of five runs
/// a lot: how far noise differs from operation to operation is fitted (as a
/// scaled inverse χ² distribution, by the mean and the spread of the logarithms
/// of the variances), and each operation's variance is drawn towards the common
/// one by as much as that fit says. Where operations are equally noisy, each
/// test gains the degrees of freedom of the others; where they are not, or where
/// there is one operation alone, this is Welch's test again. Smyth (2004,
/// "Linear models and empirical Bayes methods for assessing differential
/// expression in microarray experiments", section 6.2), on Welch's (1947)
/// squared error and Satterthwaite's (1946) degrees of freedom, so that neither
/// the sides' noise nor their number of runs need be equal. Degrees of freedom
/// are at most those of all operations together.
///
/// # Errors
///
/// Each operation has its own: as [`log_ratio_test`].
pub fn log_ratio_tests(
    pairs: &[(&[f64], &[f64])],
    level: f64,
) -> Vec<Result<LogRatio, StatsError>> {
    let sides: Vec<Result<Sides, StatsError>> = pairs
        .iter()
        .map(|(baseline, current)| Sides::of(baseline, current, level))
        .collect();
    let known = sides.iter().flatten();
    let noisy: Vec<&Sides> = known.filter(|sides| sides.variance > 0.0).collect();
    let pooled: f64 = noisy.iter().map(|sides| sides.freedom).sum();
    let Some(prior) = Prior::fit(&noisy) else {
        return pairs
            .iter()
            .map(|(baseline, current)| log_ratio_test(baseline, current, level))
            .collect();
    };
    sides
        .into_iter()
        .map(|sides| sides.map(|sides| sides.test(&prior, pooled, level)))
        .collect()
}

/// One operation's sides, before it has learnt from the others.
struct Sides {
    /// ln(current / baseline).
    difference: f64,
    /// Variance of one run's logarithm, as Welch's squared error has it.
    variance: f64,
    /// Satterthwaite's degrees of freedom of that variance.
    freedom: f64,
    /// Squared error over variance: 1/n₀ + 1/n₁.
    share: f64,
}

impl Sides {
    fn of(baseline: &[f64], current: &[f64], level: f64) -> Result<Self, StatsError> {
        check_fraction("level", level)?;
        let baseline = log_mean("baseline", baseline, 2)?;
        let current = log_mean("current", current, 2)?;
        let squared_error = baseline.squared_error + current.squared_error;
        let freedom = if squared_error > 0.0 {
            satterthwaite(&baseline, &current)
        } else {
            baseline.n + current.n - 2.0
        };
        let share = baseline.n.recip() + current.n.recip();
        Ok(Self {
            difference: current.mean - baseline.mean,
            variance: squared_error / share,
            freedom,
            share,
        })
    }

    fn test(&self, prior: &Prior, pooled: f64, level: f64) -> LogRatio {
        let variance = prior.posterior(self.variance, self.freedom);
        let freedom = (prior.freedom + self.freedom).min(pooled.max(self.freedom));
        let error = (variance * self.share).sqrt();
        result(
            self.difference,
            error,
            error * t_upper((1.0 - level) / 2.0, freedom),
            level,
            t_two_sided(self.difference / error, freedom),
            LogRatioMethod::Shared {
                degrees_of_freedom: freedom,
                from_others: freedom - self.freedom,
            },
        )
    }
}

/// How variances lie about the common one: `freedom` · `variance` / χ².
struct Prior {
    /// Infinite where the operations show no more spread than chance would.
    freedom: f64,
    variance: f64,
}

impl Prior {
    /// `None` where there are fewer than two operations to learn from.
    fn fit(noisy: &[&Sides]) -> Option<Self> {
        if noisy.len() < 2 {
            return None;
        }
        let variances: Vec<f64> = noisy.iter().map(|sides| sides.variance).collect();
        let least = FLOOR * median(&variances).ok()?;
        // ln of a variance, less what its own few degrees of freedom do to it.
        let logs: Vec<f64> = noisy
            .iter()
            .map(|sides| {
                let half = sides.freedom / 2.0;
                sides.variance.max(least).ln() - digamma(half) + half.ln()
            })
            .collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let by_chance = noisy.iter().map(|sides| trigamma(sides.freedom / 2.0));
        let true_spread = spread - by_chance.sum::<f64>() / count;
        Some(if true_spread > 0.0 {
            let half = inverse_trigamma(true_spread);
            Self {
                freedom: 2.0 * half,
                variance: (mean + digamma(half) - half.ln()).exp(),
            }
        } else {
            Self {
                freedom: f64::INFINITY,
                // Of one common variance, their mean says more than their logarithms.
                variance: variances.iter().sum::<f64>() / count,
            }
        })
    }

    fn posterior(&self, variance: f64, freedom: f64) -> f64 {
        if self.freedom.is_infinite() {
            self.variance
        } else {
            (self.freedom * self.variance + freedom * variance) / (self.freedom + freedom)
        }
    }
}

/// ψ′(x) for x > 0: up by the recurrence to where the asymptotic series holds
/// (Abramowitz and Stegun 1964, 6.4.6 and 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += (x * x).recip();
        x += 1.0;
    }
    let square = (x * x).recip();
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + x.recip() + square / 2.0 + square / x * series
}

/// The x > 0 with ψ′(x) = `y`, for y > 0. Bisection: ψ′ falls from ∞ to 0, and
/// 1/x < ψ′(x) < 1/x + 1/x² encloses the answer.
fn inverse_trigamma(y: f64) -> f64 {
    let high = 0.5 * (1.0 + (1.0 + 4.0 * y).sqrt()) / y;
    bisect(y.recip(), high, |x| trigamma(x) > y)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{E, PI};

    use super::*;

    #[test]
    fn trigamma_at_known_places_and_back() {
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-12);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-12);
        for x in [0.01, 0.5, 1.0, 3.7, 80.0, 1e6] {
            let back = inverse_trigamma(trigamma(x));
            assert!((back / x - 1.0).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn one_operation_alone_is_welchs_test() {
        let (a, b) = ([100.0, 104.0, 99.0], [110.0, 115.0, 108.0]);
        let alone = log_ratio_tests(&[(&a, &b)], 0.95);
        assert_eq!(alone, [log_ratio_test(&a, &b, 0.95)]);
    }

    #[test]
    fn equally_noisy_operations_share_all_they_know() {
        // Two operations with the same variance: nothing but chance between
        // them, so the prior is certain and freedom is that of both, 2 · 2.
        let (a, b) = ([1.0, E * E], [E.powi(3), E.powi(5)]);
        let both = log_ratio_tests(&[(&a, &b), (&b, &a)], 0.95);
        let [first, second] = [both[0].unwrap(), both[1].unwrap()];
        assert_eq!(
            first.method,
            LogRatioMethod::Shared {
                degrees_of_freedom: 4.0,
                from_others: 2.0
            }
        );
        assert_eq!(first.p_value, second.p_value);
        assert!((first.ratio * second.ratio - 1.0).abs() < 1e-12);
        assert!(first.p_value < log_ratio_test(&a, &b, 0.95).unwrap().p_value);
    }

    #[test]
    fn a_quiet_operation_does_not_make_a_noisy_one_certain() {
        // Variances a factor of 10^6 apart in six operations: almost nothing is shared.
        let quiet = [100.0, 100.1, 99.9];
        let noisy = [100.0, 200.0, 50.0];
        let other = [101.0, 101.1, 100.9];
        let pairs: [(&[f64], &[f64]); 4] = [
            (&quiet, &other),
            (&other, &quiet),
            (&noisy, &quiet),
            (&quiet, &quiet),
        ];
        let together = log_ratio_tests(&pairs, 0.95)[2].unwrap();
        let alone = log_ratio_test(&noisy, &quiet, 0.95).unwrap();
        assert!(together.p_value > 0.5 && alone.p_value > 0.5);
        assert!(together.standard_error > 0.5 * alone.standard_error);
    }

    #[test]
    fn an_operation_that_cannot_be_tested_keeps_its_error() {
        let (a, b, one) = ([1.0, 2.0], [3.0, 5.0], [1.0]);
        let tests = log_ratio_tests(&[(&a, &b), (&one, &b), (&b, &a)], 0.95);
        assert!(tests[0].is_ok() && tests[2].is_ok());
        assert!(matches!(tests[1], Err(StatsError::TooFew { .. })));
        assert!(log_ratio_tests(&[], 0.95).is_empty());
    }
}
