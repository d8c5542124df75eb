//! Bootstrap confidence intervals.

use breakeven_profile::stats::{
    StatsError, check_finite, check_fraction, check_positive, finite, median_in_place,
    quantile_of_sorted,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// How to resample. The same options give the same interval on every machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
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
}

/// Percentile interval for any statistic of one sample of at least 2 values: the
/// quantiles of the statistic over resamples, for each of which it is called once
/// (Efron and Tibshirani 1993, "An introduction to the bootstrap", section 13.3).
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`],
/// [`StatsError::BadParameter`], and [`StatsError::Overflow`] where the statistic
/// is not finite.
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
        let mut median =
            |side: usize| median_in_place(&mut samples[side]).expect("checked: two values or more");
        median(1) / median(0)
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
    let at = |q| quantile_of_sorted(&resampled, q).expect("checked: a hundred resamples or more");
    Ok(BootstrapInterval {
        estimate,
        lower: at(tail),
        upper: at(1.0 - tail),
    })
}

/// An index below `n`: multiply and shift (Lemire 2019); the bias is n / 2⁶⁴.
fn below(random: &mut Xoshiro256PlusPlus, n: usize) -> usize {
    let scaled = (u128::from(random.next_u64()) * n as u128) >> 64;
    usize::try_from(scaled).expect("less than n, which is a usize")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    const OPTIONS: Bootstrap = Bootstrap {
        level: 0.95,
        resamples: 4000,
        seed: 7,
    };

    #[test]
    fn same_seed_same_interval() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i)).collect();
        let first = bootstrap(&values, mean, &OPTIONS).unwrap();
        assert_eq!(bootstrap(&values, mean, &OPTIONS), Ok(first));
        let other = Bootstrap { seed: 8, ..OPTIONS };
        assert_ne!(bootstrap(&values, mean, &other), Ok(first));
        assert!(first.lower < first.estimate && first.estimate < first.upper);
    }

    #[test]
    fn percentile_of_a_mean_is_the_normal_interval() {
        // 1..=400: plug-in deviation of the mean is √((n² − 1)/12/n) = 5.77.
        let values: Vec<f64> = (1..=400).map(f64::from).collect();
        let found = bootstrap(&values, mean, &OPTIONS).unwrap();
        let error = ((400.0f64 * 400.0 - 1.0) / 12.0 / 400.0).sqrt();
        assert!((found.lower - (200.5 - 1.96 * error)).abs() < 0.1 * error);
        assert!((found.upper - (200.5 + 1.96 * error)).abs() < 0.1 * error);
    }

    #[test]
    fn equal_values_have_an_interval_of_zero_width() {
        let found = bootstrap(&[0.1; 5], mean, &OPTIONS).unwrap();
        assert_eq!((found.lower, found.upper), (found.estimate, found.estimate));
        let ratio = bootstrap_median_ratio(&[2.0; 3], &[3.0; 4], &OPTIONS).unwrap();
        assert_eq!((ratio.lower, ratio.estimate, ratio.upper), (1.5, 1.5, 1.5));
    }

    #[test]
    fn refusals() {
        assert!(bootstrap(&[1.0], mean, &OPTIONS).is_err());
        let overflow = bootstrap(&[1.0, 2.0], |_| f64::NAN, &OPTIONS).unwrap_err();
        assert!(matches!(overflow, StatsError::Overflow { .. }));
        let few = Bootstrap {
            resamples: 10,
            ..OPTIONS
        };
        assert!(bootstrap(&[1.0, 2.0], mean, &few).is_err());
        assert!(bootstrap_median_ratio(&[0.0, 1.0], &[1.0, 1.0], &OPTIONS).is_err());
    }
}
