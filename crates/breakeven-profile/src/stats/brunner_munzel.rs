//! The Brunner–Munzel test.

use serde::Serialize;

use super::{
    distribution::t_two_sided,
    error::{StatsError, check_finite},
    rank::{rank, splits},
};

/// Where the p-value of a [`BrunnerMunzel`] comes from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BrunnerMunzelMethod {
    /// Student's t approximation.
    StudentT {
        /// The statistic W; positive where `b` tends to be larger.
        statistic: f64,
        /// Satterthwaite's degrees of freedom.
        degrees_of_freedom: f64,
    },
    /// Both variances are zero (the samples do not overlap, or all values are
    /// equal), so W does not exist: exact permutation of the values instead.
    Permutation,
}

/// Does one of two samples tend to have the larger values, without the
/// assumption that their spreads are equal?
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BrunnerMunzel {
    /// Two-sided p-value.
    pub p_value: f64,
    /// How `p_value` was found.
    pub method: BrunnerMunzelMethod,
    /// P(a < b) + ½ P(a = b), as in [`MannWhitney`](super::MannWhitney).
    pub superiority: f64,
}

/// Brunner–Munzel test (Brunner and Munzel 2000, "The nonparametric
/// Behrens–Fisher problem"), two-sided, with their t approximation; it is
/// reliable from about 10 values a side.
///
/// Where the samples do not overlap, both placement variances are zero and W
/// is infinite, which would claim a p of 0 from two values a side. Then p is
/// that of the permutation test (Neubert and Brunner 2007): the observed split
/// and its mirror, 2 / C(n_a + n_b, n_a). Where all values are equal, p is 1.
///
/// # Errors
/// [`StatsError::TooFew`] below two values a side, [`StatsError::NotFinite`].
pub fn brunner_munzel(a: &[f64], b: &[f64]) -> Result<BrunnerMunzel, StatsError> {
    check_finite("a", a, 2)?;
    check_finite("b", b, 2)?;
    let pooled = rank(&[a, b].concat()).doubled;
    let (pooled_a, pooled_b) = pooled.split_at(a.len());
    let (mean_a, variance_a) = placements(pooled_a, &rank(a).doubled);
    let (mean_b, variance_b) = placements(pooled_b, &rank(b).doubled);
    let (size_a, size_b) = (a.len() as f64, b.len() as f64);
    let superiority = mean_b / size_a;
    let (part_a, part_b) = (size_a * variance_a, size_b * variance_b);
    let variance = part_a + part_b;
    if variance == 0.0 {
        return Ok(BrunnerMunzel {
            p_value: without_overlap(mean_a, mean_b, a.len(), b.len()),
            method: BrunnerMunzelMethod::Permutation,
            superiority,
        });
    }
    // Mean pooled ranks differ by the difference of mean placements plus that
    // of mean inner ranks, (n_b + 1)/2 − (n_a + 1)/2.
    let apart = mean_b - mean_a + 0.5 * (size_b - size_a);
    let statistic = size_a * size_b * apart / ((size_a + size_b) * variance.sqrt());
    let degrees_of_freedom =
        variance * variance / (part_a * part_a / (size_a - 1.0) + part_b * part_b / (size_b - 1.0));
    Ok(BrunnerMunzel {
        p_value: t_two_sided(statistic, degrees_of_freedom),
        method: BrunnerMunzelMethod::StudentT {
            statistic,
            degrees_of_freedom,
        },
        superiority,
    })
}

/// Mean and variance (n − 1) of the placements of a sample: for each value,
/// how many of the other sample lie below it (pooled less inner rank).
fn placements(pooled: &[u64], inner: &[u64]) -> (f64, f64) {
    let n = pooled.len() as f64;
    let placed = || pooled.iter().zip(inner).map(|(all, own)| all - own);
    // Doubled and whole, so that equal placements have a variance of exactly 0.
    let mean = placed().sum::<u64>() as f64 / n;
    let squares: f64 = placed().map(|p| (p as f64 - mean).powi(2)).sum();
    (mean / 2.0, squares / (n - 1.0) / 4.0)
}

/// p of the permutation test where both variances are zero.
fn without_overlap(mean_a: f64, mean_b: f64, size_a: usize, size_b: usize) -> f64 {
    // All values equal: half of the other sample lies below each.
    if mean_a > 0.0 && mean_b > 0.0 {
        return 1.0;
    }
    2.0 / splits(size_a, size_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_do_not_overlap_are_permuted() {
        let test = brunner_munzel(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!(test.method, BrunnerMunzelMethod::Permutation);
        assert!((test.p_value - 0.1).abs() < 1e-15);
        assert_eq!(test.superiority, 1.0);
        let mirror = brunner_munzel(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((mirror.p_value, mirror.superiority), (test.p_value, 0.0));
    }

    #[test]
    fn equal_values_differ_in_nothing() {
        let test = brunner_munzel(&[2.0, 2.0], &[2.0, 2.0, 2.0]).unwrap();
        assert_eq!((test.p_value, test.superiority), (1.0, 0.5));
    }

    #[test]
    fn symmetric_overlap_has_a_statistic_of_zero() {
        let test = brunner_munzel(&[1.0, 4.0], &[2.0, 3.0]).unwrap();
        assert_eq!((test.p_value, test.superiority), (1.0, 0.5));
    }
}
