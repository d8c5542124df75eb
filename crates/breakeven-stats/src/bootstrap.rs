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
#[must_use]
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
#[must_use]
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
/// [`StatsError`] below two values, for a value or a statistic that is not finite, and for options
/// out of range.
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
/// Those of [`bootstrap()`], and for a value that is not positive.
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
        let (value, expected) = (options.resamples as f64, "between 100 and 1 000 000");
        return Err(StatsError::parameter("resamples", value, expected));
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
