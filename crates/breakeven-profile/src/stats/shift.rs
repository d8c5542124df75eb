//! Location and shift by ranks: the Hodges–Lehmann estimates.

use serde::Serialize;

use super::{
    distribution::{normal_cdf, normal_upper},
    error::{StatsError, check_finite, check_fraction},
    quantile::whole,
    rank::{exact_is_quick, signed_rank_sums, subset_sums},
    select::{kth_difference, kth_walsh_average},
};

/// Up to this many values the signed-rank distribution is counted out; its
/// counts then stay below 2⁵⁰.
const EXACT_SIGNED_RANK: usize = 50;

/// An estimate in the unit of the values, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// The Hodges–Lehmann estimate.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// The level that the interval has. Ranks come in steps, so it is at least
    /// the level asked for, except where samples are too small for that: then
    /// the interval is the widest there is and this says what it is worth.
    pub level: f64,
}

/// Pseudo-median of one sample: the median of the averages of all pairs
/// (Walsh averages, each value with itself included), and the interval that
/// inverts Wilcoxon's signed-rank test. It assumes a symmetric distribution;
/// of paired differences, it is their shift.
///
/// Hodges and Lehmann (1963, "Estimates of location based on rank tests");
/// interval of Tukey, in Hollander, Wolfe and Chicken (2014, "Nonparametric
/// statistical methods", section 3.3). Exact up to 50 values, normal with
/// continuity correction above. n log n time, linear memory.
///
/// # Errors
/// [`StatsError::TooFew`] for no values, [`StatsError::NotFinite`],
/// [`StatsError::BadParameter`] for `level`.
pub fn pseudo_median(values: &[f64], level: f64) -> Result<Shift, StatsError> {
    check_finite("values", values, 1)?;
    check_fraction("level", level)?;
    let sorted = ascending(values);
    let n = values.len() as u64;
    let rank = if values.len() <= EXACT_SIGNED_RANK {
        exact_rank(&signed_rank_sums(values.len()), level)
    } else {
        let n = n as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
        normal_rank(n * (n + 1.0) / 4.0, variance, level)
    };
    Ok(estimate(n * (n + 1) / 2, rank, |k| {
        kth_walsh_average(&sorted, k)
    }))
}

/// Shift from `baseline` to `current`: the median of all pairwise differences
/// current − baseline, and the interval that inverts the Mann–Whitney test. It
/// assumes that the two differ in location only.
///
/// Hodges and Lehmann (1963); interval of Moses, in Hollander, Wolfe and
/// Chicken (2014, section 4.3). Exact (as if without ties, which widens the
/// interval) where [`mann_whitney`](super::mann_whitney()) is, normal with
/// continuity correction above. n log n time, linear memory: the n·m
/// differences are never made.
///
/// # Errors
/// [`StatsError::TooFew`] for an empty sample, [`StatsError::NotFinite`],
/// [`StatsError::BadParameter`] for `level`.
pub fn shift(baseline: &[f64], current: &[f64], level: f64) -> Result<Shift, StatsError> {
    check_finite("baseline", baseline, 1)?;
    check_finite("current", current, 1)?;
    check_fraction("level", level)?;
    let (from, to) = (ascending(baseline), ascending(current));
    let (n, m) = (from.len(), to.len());
    let rank = if exact_is_quick(n, n + m) {
        let size = n.min(m);
        let ranks: Vec<u64> = (1..=(n + m) as u64).collect();
        // From the least rank sum on, the sums are U = 0, 1, 2, …
        exact_rank(&subset_sums(&ranks, size)[size * (size + 1) / 2..], level)
    } else {
        let (n, m) = (n as f64, m as f64);
        normal_rank(n * m / 2.0, n * m * (n + m + 1.0) / 12.0, level)
    };
    Ok(estimate(n as u64 * m as u64, rank, |k| {
        kth_difference(&from, &to, k)
    }))
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The interval goes from the `k`-th smallest pair to the `k`-th largest.
struct Rank {
    k: u64,
    level: f64,
}

/// Largest k ≥ 1 with P(statistic ≤ k − 1) ≤ (1 − level)/2, where `counts`
/// holds in how many ways the statistic is 0, 1, 2, …
fn exact_rank(counts: &[u64], level: f64) -> Rank {
    let total = counts.iter().sum::<u64>() as f64;
    let tail = (1.0 - level) / 2.0;
    let (mut k, mut below) = (1, counts[0]);
    // Half of the statistic's range is where a tail ends in any case.
    for (next, count) in (2..).zip(&counts[1..counts.len().div_ceil(2)]) {
        if (below + count) as f64 / total > tail {
            break;
        }
        below += count;
        k = next;
    }
    Rank {
        k,
        level: (1.0 - 2.0 * below as f64 / total).max(0.0),
    }
}

/// [`exact_rank`] of a statistic that is normal but for its steps of 1.
fn normal_rank(mean: f64, variance: f64, level: f64) -> Rank {
    let deviation = variance.sqrt();
    let reach = deviation * normal_upper((1.0 - level) / 2.0);
    let k = (mean + 0.5 - reach).floor().max(1.0);
    Rank {
        k: whole(k) as u64,
        level: (1.0 - 2.0 * normal_cdf((k - 0.5 - mean) / deviation)).max(0.0),
    }
}

/// Median and interval of `pairs` values given by their order.
fn estimate(pairs: u64, rank: Rank, kth: impl Fn(u64) -> f64) -> Shift {
    let upper_middle = kth(pairs / 2 + 1);
    let lower_middle = if pairs % 2 == 1 {
        upper_middle
    } else {
        kth(pairs / 2)
    };
    // A level near 0 may ask for ends that have passed each other.
    let k = rank.k.min(pairs.div_ceil(2));
    Shift {
        estimate: f64::midpoint(lower_middle, upper_middle),
        lower: kth(k),
        upper: kth(pairs + 1 - k),
        level: rank.level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_against_three_by_hand() {
        // Differences 9 10 11 / 8 9 10 / 7 8 9, sorted: 7 8 8 9 9 9 10 10 11.
        // The widest interval misses with 2 of 20 dealings.
        let found = shift(&[1.0, 2.0, 3.0], &[10.0, 11.0, 12.0], 0.95).unwrap();
        assert_eq!((found.estimate, found.lower, found.upper), (9.0, 7.0, 11.0));
        assert!((found.level - 0.9).abs() < 1e-15);
    }

    #[test]
    fn pseudo_median_by_hand() {
        // Walsh averages of 1 2 6: 1 1.5 2 3.5 4 6, median 2.75.
        let found = pseudo_median(&[6.0, 1.0, 2.0], 0.95).unwrap();
        assert_eq!((found.estimate, found.lower, found.upper), (2.75, 1.0, 6.0));
        assert!((found.level - 0.75).abs() < 1e-15);
    }

    #[test]
    fn exact_ranks_are_those_of_the_tables() {
        // Hollander, Wolfe and Chicken, and every table of U: for 10 against
        // 10 the critical value at 5 % two-sided is 23, for 8 signed ranks 3.
        let ranks: Vec<u64> = (1..=20).collect();
        assert_eq!(exact_rank(&subset_sums(&ranks, 10)[55..], 0.95).k, 24);
        assert_eq!(exact_rank(&signed_rank_sums(8), 0.95).k, 4);
    }

    #[test]
    fn normal_rank_meets_the_exact_one() {
        let ranks: Vec<u64> = (1..=50).collect();
        let exact = exact_rank(&subset_sums(&ranks, 25)[325..], 0.95);
        let normal = normal_rank(312.5, 625.0 * 51.0 / 12.0, 0.95);
        assert!(exact.k.abs_diff(normal.k) <= 1);
        assert!((exact.level - normal.level).abs() < 2e-3);
    }

    #[test]
    fn a_single_value_has_an_interval_worth_nothing() {
        let found = pseudo_median(&[5.0], 0.95).unwrap();
        assert_eq!((found.lower, found.upper, found.level), (5.0, 5.0, 0.0));
        assert!(shift(&[], &[1.0], 0.95).is_err());
    }

    #[test]
    fn a_hundred_thousand_a_side_in_little_memory() {
        let baseline: Vec<f64> = (0..100_000)
            .map(|i| f64::from(i * 7919 % 100_003))
            .collect();
        let current: Vec<f64> = baseline.iter().map(|v| v + 12.0).collect();
        let found = shift(&baseline, &current, 0.95).unwrap();
        assert_eq!(found.estimate, 12.0);
        assert!(found.lower < 12.0 && found.upper > 12.0);
    }
}
