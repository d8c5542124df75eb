//! Many ratios at once: the t-test on logarithms with variances that learn from each other.

use breakeven_profile::stats::{StatsError, check_fraction};

use crate::distribution::{f_upper_tail, t_two_sided, t_upper};
use crate::log_ratio::{
    LogMean, LogRatio, LogRatioMethod, Noise, log_means, log_ratio_test, result, satterthwaite,
    splits,
};
use crate::prior::{Estimate, Prior, pooled, priors};

/// Probability below which an operation's runs and what was known of its noise do not
/// agree: what was known then counts less.
const DISAGREE: f64 = 0.05;

/// The runs of one operation on two sides.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'v> {
    /// One positive value a run, of the side that is compared against.
    pub baseline: &'v [f64],
    /// One positive value a run, of the side that is judged.
    pub current: &'v [f64],
    /// What is known of the noise between its runs from elsewhere; without it, both
    /// sides need two runs.
    pub noise: Option<Noise>,
}

impl Noise {
    /// The posterior: the prior and the runs together.
    fn and(self, own: Estimate) -> Estimate {
        let variance = self.deviation * self.deviation;
        let agree = match own.freedom > 0.0 && self.freedom.is_finite() {
            true => f_upper_tail(own.variance / variance, own.freedom, self.freedom) / DISAGREE,
            false => 1.0,
        };
        let freedom = self.freedom * agree.min(1.0);
        let prior = Prior {
            variance,
            freedom,
            is_quiet: false,
        };
        prior.and(own)
    }
}

/// [`log_ratio_test`] of many operations together, in the order given.
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
/// An operation that is far noisier than the rest neither widens the common
/// noise nor borrows from it: variances that lie apart (a false discovery rate
/// below 1 %) count by that rate in a second fit, and what an operation takes
/// from the others falls by how much rarer its variance is than its rank among
/// them allows (Phipson et al. 2016, "Robust hyperparameter estimation protects
/// against hypervariable genes and improves power to detect differential
/// expression"; weights by the rate are those of limma's `fitFDistUnequalDF1`, which
/// begins at 30 %: on real runs that takes from the power of the others and is no surer).
///
/// An operation whose variance lies apart below the rest is judged by its own runs
/// (by the noise of the others no change of it would ever be found), and so is one
/// without any spread. Few runs may all be in one of a machine's states, so p is then at
/// least that of the permutation test, which needs about seven runs a side among fifty
/// operations; the test that borrows is taken if its p is smaller.
///
/// What is known of an operation's noise from elsewhere ([`Noise`]) adds its
/// degrees of freedom to those of the operation's own runs, unless these are so
/// much noisier that the two disagree.
///
/// # Errors
///
/// Each operation has its own: as [`log_ratio_test`], and for its noise.
pub fn log_ratio_tests(pairs: &[Pair<'_>], level: f64) -> Vec<Result<LogRatio, StatsError>> {
    let sides: Vec<Result<Sides, StatsError>> =
        pairs.iter().map(|pair| Sides::of(pair, level)).collect();
    let estimates: Vec<Estimate> = sides.iter().flatten().map(|sides| sides.own).collect();
    let pooled = pooled(&estimates);
    let mut priors = priors(&estimates).into_iter().flatten();
    let tests = pairs.iter().zip(sides).map(|(pair, sides)| {
        let sides = sides?;
        let prior = priors.next();
        let is_quiet = prior.is_none_or(|prior| prior.is_quiet) || sides.own.variance == 0.0;
        if pair.noise.is_some() || !is_quiet {
            return Ok(sides.test(prior, pooled, level));
        }
        let mut alone = log_ratio_test(pair.baseline, pair.current, level)?;
        let Some(prior) = prior else { return Ok(alone) };
        let least = 2.0 / splits(pair.baseline.len(), pair.current.len());
        alone.p_value = alone.p_value.max(least);
        let shared = sides.test(Some(prior), pooled, level);
        Ok(if alone.p_value <= shared.p_value {
            alone
        } else {
            shared
        })
    });
    tests.collect()
}

/// One operation's sides, before it has learned from the other operations.
struct Sides {
    /// ln(current / baseline).
    difference: f64,
    /// Variance of one run's logarithm, as Welch's squared error has it, with
    /// Satterthwaite's degrees of freedom.
    own: Estimate,
    /// Squared error over variance: 1/n₀ + 1/n₁.
    share: f64,
}

impl Sides {
    fn of(pair: &Pair<'_>, level: f64) -> Result<Self, StatsError> {
        check_fraction("level", level)?;
        let needed = if pair.noise.is_some() { 1 } else { 2 };
        let [baseline, current] = log_means(pair.baseline, pair.current, needed)?;
        let share = baseline.n.recip() + current.n.recip();
        let squared_error = baseline.squared_error + current.squared_error;
        let freedom = baseline.freedom + current.freedom;
        let mut own = if baseline.freedom > 0.0 && current.freedom > 0.0 {
            Estimate {
                variance: squared_error / share,
                freedom: match squared_error > 0.0 {
                    true => satterthwaite(&baseline, &current),
                    false => freedom,
                },
            }
        } else {
            // A single run has no spread: that of the other side is all there is.
            let of = |side: &LogMean| side.n * side.squared_error;
            Estimate {
                variance: of(&baseline) + of(&current),
                freedom,
            }
        };
        if let Some(noise) = pair.noise {
            noise.check()?;
            own = noise.and(own);
        }
        Ok(Self {
            difference: current.mean - baseline.mean,
            own,
            share,
        })
    }

    /// Returns the test, with a prior if there are other operations; `pooled` are the degrees of
    /// freedom of all together.
    fn test(&self, prior: Option<Prior>, pooled: f64, level: f64) -> LogRatio {
        let tail = (1.0 - level) / 2.0;
        let together = prior.map_or(self.own, |prior| prior.and(self.own));
        let freedom = together.freedom.min(pooled.max(self.own.freedom));
        let error = (together.variance * self.share).sqrt();
        result(
            self.difference,
            error,
            error * t_upper(tail, freedom),
            level,
            t_two_sided(self.difference / error, freedom),
            LogRatioMethod::Shared {
                degrees_of_freedom: freedom,
                from_others: freedom - self.own.freedom,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::E;

    use super::*;

    fn pairs<'v>(sides: &[(&'v [f64], &'v [f64])]) -> Vec<Pair<'v>> {
        let pair = |&(baseline, current): &(&'v [f64], &'v [f64])| Pair {
            baseline,
            current,
            noise: None,
        };
        sides.iter().map(pair).collect()
    }

    #[test]
    fn one_operation_alone_is_welchs_test() {
        let (a, b) = ([100.0, 104.0, 99.0], [110.0, 115.0, 108.0]);
        let alone = log_ratio_tests(&pairs(&[(&a, &b)]), 0.95);
        assert_eq!(alone, [log_ratio_test(&a, &b, 0.95)]);
    }

    #[test]
    fn equally_noisy_operations_share_all_they_know() {
        // Two operations with the same variance: nothing but chance between
        // them, so the prior is certain and freedom is that of both, 2 · 2.
        let (a, b) = ([1.0, E * E], [E.powi(3), E.powi(5)]);
        let both = log_ratio_tests(&pairs(&[(&a, &b), (&b, &a)]), 0.95);
        let [first, second] = [both[0].clone().unwrap(), both[1].clone().unwrap()];
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
        let sides: [(&[f64], &[f64]); 4] = [
            (&quiet, &other),
            (&other, &quiet),
            (&noisy, &quiet),
            (&quiet, &quiet),
        ];
        let together = log_ratio_tests(&pairs(&sides), 0.95)[2].clone().unwrap();
        let alone = log_ratio_test(&noisy, &quiet, 0.95).unwrap();
        assert!(together.p_value > 0.5 && alone.p_value > 0.5);
        assert!(together.standard_error > 0.5 * alone.standard_error);
    }

    /// Their interval was -30 to +43 % when the other operations had a noise of 40 %.
    #[test]
    fn equal_values_are_no_change_whatever_the_others_do() {
        let noisy: [[f64; 10]; 2] = [
            [
                100.0, 180.0, 70.0, 120.0, 60.0, 150.0, 90.0, 110.0, 75.0, 130.0,
            ],
            [
                95.0, 60.0, 170.0, 130.0, 80.0, 65.0, 105.0, 140.0, 125.0, 85.0,
            ],
        ];
        let [one, other] = [[100.0; 10], [110.0; 10]];
        let sides: [(&[f64], &[f64]); 4] = [
            (&one, &one),
            (&one, &other),
            (&noisy[0], &noisy[1]),
            (&noisy[1], &noisy[0]),
        ];
        let tests = log_ratio_tests(&pairs(&sides), 0.95);
        let [same, changed] = [tests[0].clone().unwrap(), tests[1].clone().unwrap()];
        assert_eq!((same.lower, same.upper, same.p_value), (1.0, 1.0, 1.0));
        assert!(
            changed.p_value < 1e-4 && changed.lower > 1.09,
            "{changed:?}"
        );
    }

    #[test]
    fn an_operation_that_cannot_be_tested_keeps_its_error() {
        let (a, b, one) = ([1.0, 2.0], [3.0, 5.0], [1.0]);
        let tests = log_ratio_tests(&pairs(&[(&a, &b), (&one, &b), (&b, &a)]), 0.95);
        assert!(tests[0].is_ok() && tests[2].is_ok());
        assert!(tests[1].is_err());
        assert!(log_ratio_tests(&[], 0.95).is_empty());
    }
}
