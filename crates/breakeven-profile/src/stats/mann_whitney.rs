//! The Mann–Whitney U test.

use serde::Serialize;

use super::{
    distribution::normal_two_sided,
    error::{StatsError, check_finite},
    rank::{Ranking, exact_is_quick, rank, subset_sums},
};

/// Where the p-value of a [`MannWhitney`] comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MannWhitneyMethod {
    /// All ways to deal the pooled (and, where values tie, shared) ranks out
    /// to the two samples, counted.
    Exact,
    /// Normal approximation, corrected for ties and continuity.
    Normal,
}

/// Does one of two samples tend to have the larger values, and how much?
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MannWhitney {
    /// U of `a`: pairs with a > b, plus half the pairs with a = b; between 0
    /// and n_a·n_b. That of `b` is n_a·n_b − U.
    pub u: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// How `p_value` was found.
    pub method: MannWhitneyMethod,
    /// Probability of superiority, P(a < b) + ½ P(a = b) (Vargha and Delaney
    /// 2000): 0.5 where neither tends to be larger, 1 where every b is.
    pub superiority: f64,
    /// Cliff's (1993) delta, P(a < b) − P(a > b), between −1 and 1.
    pub cliffs_delta: f64,
}

/// Mann–Whitney U test (Mann and Whitney 1947; Wilcoxon 1945), two-sided.
///
/// Exact where n·(n_a + n_b) ≤ 1250 for the smaller size n: the conditional
/// distribution given the ties, and p twice the smaller tail, at most 1.
/// Otherwise normal, with the variance corrected for ties and ½ taken off the
/// distance for continuity (Lehmann 1975, "Nonparametrics", section 1.2).
/// Takes n log n time. Values of one sample must be independent: of several
/// iterations in one process, that is an assumption.
///
/// # Errors
/// [`StatsError::TooFew`] for an empty sample, [`StatsError::NotFinite`].
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Result<MannWhitney, StatsError> {
    check_finite("a", a, 1)?;
    check_finite("b", b, 1)?;
    let ranking = rank(&[a, b].concat());
    let pairs = a.len() as f64 * b.len() as f64;
    let doubled_u = ranking.doubled[..a.len()].iter().sum::<u64>() - least_sum(a.len());
    let u = doubled_u as f64 / 2.0;
    let (p_value, method) = if exact_is_quick(a.len(), a.len() + b.len()) {
        (exact(&ranking, a.len()), MannWhitneyMethod::Exact)
    } else {
        let sizes = (a.len() as f64, b.len() as f64);
        (normal(u, sizes, ranking.tie_sum), MannWhitneyMethod::Normal)
    };
    let superiority = (pairs - u) / pairs;
    Ok(MannWhitney {
        u,
        p_value,
        method,
        superiority,
        cliffs_delta: 2.0 * superiority - 1.0,
    })
}

/// Twice the sum of the ranks 1..=n.
fn least_sum(n: usize) -> u64 {
    let n = n as u64;
    n * (n + 1)
}

/// Twice the smaller tail of the rank sum's permutation distribution.
fn exact(ranking: &Ranking, size_a: usize) -> f64 {
    let (of_a, of_b) = ranking.doubled.split_at(size_a);
    let smaller = if of_a.len() <= of_b.len() { of_a } else { of_b };
    let counts = subset_sums(&ranking.doubled, smaller.len());
    let observed = smaller.iter().sum::<u64>();
    let total: u64 = counts.iter().sum();
    let (mut below, mut above) = (0u64, 0u64);
    for (sum, count) in (0u64..).zip(&counts) {
        below += if sum <= observed { *count } else { 0 };
        above += if sum >= observed { *count } else { 0 };
    }
    (2.0 * (below.min(above) as f64 / total as f64)).min(1.0)
}

fn normal(u: f64, (size_a, size_b): (f64, f64), tie_sum: f64) -> f64 {
    let all = size_a + size_b;
    let variance = size_a * size_b / 12.0 * (all + 1.0 - tie_sum / (all * (all - 1.0)));
    let distance = ((u - size_a * size_b / 2.0).abs() - 0.5).max(0.0);
    // All values equal: no variance, no distance, nothing to tell apart.
    if distance == 0.0 || variance <= 0.0 {
        return 1.0;
    }
    normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_threes_by_hand() {
        // One dealing out of C(6, 3) = 20 is as extreme at each end.
        let test = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!((test.u, test.method), (0.0, MannWhitneyMethod::Exact));
        assert!((test.p_value - 0.1).abs() < 1e-15);
        assert_eq!((test.superiority, test.cliffs_delta), (1.0, 1.0));
    }

    #[test]
    fn ties_are_dealt_out_exactly() {
        // Ranks 1, 2.5, 2.5, 4 with {1, 2.5} in a: sums 3.5 (2 ways), 5 (2:
        // 1+4 and 2.5+2.5), 6.5 (2 ways). Lower tail 2 of 6, so p = 2/3.
        let test = mann_whitney(&[1.0, 2.0], &[2.0, 3.0]).unwrap();
        assert_eq!(test.u, 0.5);
        assert!((test.p_value - 2.0 / 3.0).abs() < 1e-15);
        assert!((test.superiority - 3.5 / 4.0).abs() < 1e-15);
    }

    #[test]
    fn equal_values_differ_in_nothing() {
        for n in [1, 5, 400] {
            let test = mann_whitney(&vec![1.0; n], &vec![1.0; n]).unwrap();
            assert_eq!((test.p_value, test.superiority), (1.0, 0.5));
        }
    }

    #[test]
    fn normal_meets_exact_where_one_ends() {
        // The same shifted samples, one value a side apart across the limit.
        let sample =
            |n: u32, by: f64| -> Vec<f64> { (0..n).map(|i| f64::from(i * 37 % n) + by).collect() };
        let exact = mann_whitney(&sample(25, 0.0), &sample(25, 4.5)).unwrap();
        let normal = mann_whitney(&sample(26, 0.0), &sample(26, 4.7)).unwrap();
        assert_eq!(exact.method, MannWhitneyMethod::Exact);
        assert_eq!(normal.method, MannWhitneyMethod::Normal);
        assert!((exact.p_value - normal.p_value).abs() < 0.01);
    }
}
