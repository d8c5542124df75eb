//! Bootstrap confidence intervals.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::{
    distribution::{normal_cdf, normal_upper},
    error::{StatsError, check_finite, check_fraction, check_positive, finite},
    quantile::{median_in_place, quantile_of_sorted},
};

/// Most values for which the n leave-one-out samples of BCa are computed.
const MOST_JACKKNIFE: usize = 20_000;

/// How an interval is read off the resampled statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootstrapMethod {
    /// Their quantiles as they are: the choice for medians.
    Percentile,
    /// Quantiles corrected for bias and for skewness ("accelerated"): the
    /// choice for smooth statistics, such as a mean. Up to 20 000 values.
    Bca,
}

/// How to resample. The same options give the same interval on every machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// How the interval is read off.
    pub method: BootstrapMethod,
    /// Confidence level, such as 0.95.
    pub level: f64,
    /// Number of resamples, 100 to 1 000 000; 10 000 make the ends steady.
    pub resamples: usize,
    /// Seed of the Xoshiro256++ generator (Blackman and Vigna 2021).
    pub seed: u64,
}

/// A statistic and its interval, in the statistic's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BootstrapInterval {
    /// The statistic of the sample itself.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// The method that was used: BCa turns into percentile where the estimate
    /// lies outside all resamples, so that its bias has no measure.
    pub method: BootstrapMethod,
}

/// Interval for any statistic of one sample of at least 2 values. Calls the
/// statistic once per resample, for BCa also once per value.
///
/// Efron and Tibshirani (1993, "An introduction to the bootstrap"): section
/// 13.3 for percentile, 14.3 for BCa (Efron 1987).
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::TooMany`] (BCa only),
/// [`StatsError::NotFinite`], [`StatsError::BadParameter`], and
/// [`StatsError::Overflow`] where the statistic is not finite.
pub fn bootstrap(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    options: &Bootstrap,
) -> Result<BootstrapInterval, StatsError> {
    check_finite("values", values, 2)?;
    interval(&[values], |sample| statistic(&sample[0]), options)
}

/// Interval for median(current) / median(baseline), both of positive values,
/// at least 2 a side; each side is resampled by itself.
///
/// # Errors
/// Those of [`bootstrap()`], and [`StatsError::NotPositive`].
pub fn bootstrap_median_ratio(
    baseline: &[f64],
    current: &[f64],
    options: &Bootstrap,
) -> Result<BootstrapInterval, StatsError> {
    check_positive("baseline", baseline, 2)?;
    check_positive("current", current, 2)?;
    let ratio = |samples: &mut [Vec<f64>]| {
        let [baseline, current] = samples else {
            unreachable!("two samples go in");
        };
        median_in_place(current) / median_in_place(baseline)
    };
    interval(&[baseline, current], ratio, options)
}

/// Interval for a statistic of one or more samples, which it may reorder.
fn interval(
    samples: &[&[f64]],
    statistic: impl Fn(&mut [Vec<f64>]) -> f64,
    options: &Bootstrap,
) -> Result<BootstrapInterval, StatsError> {
    check_fraction("level", options.level)?;
    if !(100..=1_000_000).contains(&options.resamples) {
        return Err(StatsError::BadParameter {
            name: "resamples",
            value: options.resamples as f64,
            expected: "between 100 and 1 000 000",
        });
    }
    let largest = samples.iter().map(|s| s.len()).max().unwrap_or(0);
    if options.method == BootstrapMethod::Bca && largest > MOST_JACKKNIFE {
        return Err(StatsError::TooMany {
            what: "a sample for BCa",
            limit: MOST_JACKKNIFE,
            got: largest,
        });
    }
    let checked = |samples: &mut [Vec<f64>]| finite("the statistic", statistic(samples));
    let mut scratch: Vec<Vec<f64>> = samples.iter().map(|s| s.to_vec()).collect();
    let estimate = checked(&mut scratch)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut resampled = (0..options.resamples)
        .map(|_| {
            for (sample, scratch) in samples.iter().zip(&mut scratch) {
                scratch.fill_with(|| sample[below(&mut random, sample.len())]);
            }
            checked(&mut scratch)
        })
        .collect::<Result<Vec<f64>, StatsError>>()?;
    resampled.sort_unstable_by(f64::total_cmp);

    let tail = (1.0 - options.level) / 2.0;
    let corrected = match options.method {
        BootstrapMethod::Percentile => None,
        BootstrapMethod::Bca => {
            let skewness = acceleration(samples, checked)?;
            bca_tails(&resampled, estimate, skewness, tail)
        }
    };
    let (low, high) = corrected.unwrap_or((tail, 1.0 - tail));
    Ok(BootstrapInterval {
        estimate,
        lower: quantile_of_sorted(&resampled, low),
        upper: quantile_of_sorted(&resampled, high),
        method: match corrected {
            Some(_) => BootstrapMethod::Bca,
            None => BootstrapMethod::Percentile,
        },
    })
}

/// An index below `n`: multiply and shift (Lemire 2019); the bias is n / 2⁶⁴.
fn below(random: &mut Xoshiro256PlusPlus, n: usize) -> usize {
    let scaled = (u128::from(random.next_u64()) * n as u128) >> 64;
    usize::try_from(scaled).expect("less than n, which is a usize")
}

/// Quantiles to read the interval off at, or `None` where they do not exist.
fn bca_tails(resampled: &[f64], estimate: f64, skewness: f64, tail: f64) -> Option<(f64, f64)> {
    let less = resampled.partition_point(|&value| value < estimate);
    let not_more = resampled.partition_point(|&value| value <= estimate);
    // Resamples equal to the estimate count half, as medians often are.
    let share = (less + not_more) as f64 / (2 * resampled.len()) as f64;
    if share <= 0.0 || share >= 1.0 {
        return None;
    }
    let bias = -normal_upper(share);
    let corrected = |z: f64| {
        let reach = 1.0 - skewness * (bias + z);
        (reach > 0.0).then(|| normal_cdf(bias + (bias + z) / reach))
    };
    let z = normal_upper(tail);
    Some((corrected(-z)?, corrected(z)?))
}

/// Acceleration from the leave-one-out statistics of each sample; for several
/// samples as in Davison and Hinkley (1997, "Bootstrap methods and their
/// application", section 5.3.2).
fn acceleration(
    samples: &[&[f64]],
    statistic: impl Fn(&mut [Vec<f64>]) -> Result<f64, StatsError>,
) -> Result<f64, StatsError> {
    // Influence of each value, over the size of its sample.
    let mut influences = Vec::new();
    for (k, sample) in samples.iter().enumerate() {
        let mut without = Vec::with_capacity(sample.len());
        for left_out in 0..sample.len() {
            let mut rest: Vec<Vec<f64>> = samples.iter().map(|s| s.to_vec()).collect();
            rest[k].swap_remove(left_out);
            without.push(statistic(&mut rest)?);
        }
        let n = sample.len() as f64;
        let mean = without.iter().map(|value| value / n).sum::<f64>();
        let influence = |value: &f64| (mean / n - value / n) * (n - 1.0);
        influences.extend(without.iter().map(influence));
    }
    // The scale cancels; taking it out first keeps cubes within an f64.
    let scale = influences.iter().fold(0.0f64, |most, l| most.max(l.abs()));
    if scale == 0.0 || !scale.is_finite() {
        return Ok(0.0);
    }
    let power = |exponent| -> f64 { influences.iter().map(|l| (l / scale).powi(exponent)).sum() };
    Ok(power(3) / (6.0 * power(2).powf(1.5)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn options(method: BootstrapMethod) -> Bootstrap {
        Bootstrap {
            method,
            level: 0.95,
            resamples: 4000,
            seed: 7,
        }
    }

    #[test]
    fn same_seed_same_interval() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i)).collect();
        for method in [BootstrapMethod::Percentile, BootstrapMethod::Bca] {
            let first = bootstrap(&values, mean, &options(method)).unwrap();
            assert_eq!(bootstrap(&values, mean, &options(method)), Ok(first));
            let other = Bootstrap {
                seed: 8,
                ..options(method)
            };
            assert_ne!(bootstrap(&values, mean, &other), Ok(first));
            assert!(first.lower < first.estimate && first.estimate < first.upper);
        }
    }

    #[test]
    fn percentile_of_a_mean_is_the_normal_interval() {
        // 1..=400: plug-in deviation of the mean is √((n² − 1)/12/n) = 5.77.
        let values: Vec<f64> = (1..=400).map(f64::from).collect();
        let found = bootstrap(&values, mean, &options(BootstrapMethod::Percentile)).unwrap();
        let error = ((400.0f64 * 400.0 - 1.0) / 12.0 / 400.0).sqrt();
        assert!((found.lower - (200.5 - 1.96 * error)).abs() < 0.1 * error);
        assert!((found.upper - (200.5 + 1.96 * error)).abs() < 0.1 * error);
    }

    #[test]
    fn acceleration_of_a_mean_is_its_skewness() {
        // For a mean a = Σ d³ / (6 (Σ d²)^1.5) with d the deviations: for
        // 0, 0, 0, 4 those are −1, −1, −1, 3, so 24 / (6·12^1.5) = 0.0962.
        let found = acceleration(&[&[0.0, 0.0, 0.0, 4.0]], |s| Ok(mean(&s[0]))).unwrap();
        assert!((found - 24.0 / (6.0 * 12f64.powf(1.5))).abs() < 1e-12);
    }

    #[test]
    fn acceleration_adds_up_over_samples() {
        // In a difference of means the skewness of equal samples cancels.
        let sample: &[f64] = &[0.0, 0.0, 0.0, 4.0];
        let difference = |s: &mut [Vec<f64>]| Ok(mean(&s[1]) - mean(&s[0]));
        let found = acceleration(&[sample, sample], difference).unwrap();
        assert!(found.abs() < 1e-12);
    }

    #[test]
    fn equal_values_have_an_interval_of_zero_width() {
        let found = bootstrap(&[0.1; 5], mean, &options(BootstrapMethod::Bca)).unwrap();
        assert_eq!((found.lower, found.upper), (found.estimate, found.estimate));
        let ratio =
            bootstrap_median_ratio(&[2.0; 3], &[3.0; 4], &options(BootstrapMethod::Bca)).unwrap();
        assert_eq!((ratio.lower, ratio.estimate, ratio.upper), (1.5, 1.5, 1.5));
    }

    #[test]
    fn an_estimate_outside_all_resamples_is_not_corrected() {
        // The number of different values: no resample of 40 has all 40.
        let values: Vec<f64> = (0..40).map(f64::from).collect();
        let different = |sample: &[f64]| {
            let mut sorted = sample.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            sorted.len() as f64
        };
        let found = bootstrap(&values, different, &options(BootstrapMethod::Bca)).unwrap();
        assert_eq!(found.method, BootstrapMethod::Percentile);
    }

    #[test]
    fn refusals() {
        let percentile = options(BootstrapMethod::Percentile);
        assert!(bootstrap(&[1.0], mean, &percentile).is_err());
        assert!(matches!(
            bootstrap(&[1.0, 2.0], |_| f64::NAN, &percentile),
            Err(StatsError::Overflow { .. })
        ));
        let few = Bootstrap {
            resamples: 10,
            ..percentile
        };
        assert!(bootstrap(&[1.0, 2.0], mean, &few).is_err());
        assert!(matches!(
            bootstrap(&[1.0; 20_001], mean, &options(BootstrapMethod::Bca)),
            Err(StatsError::TooMany { .. })
        ));
        assert!(bootstrap_median_ratio(&[0.0, 1.0], &[1.0, 1.0], &percentile).is_err());
    }
}
