//! Ranks, and the exact null distributions of sums of ranks.

/// Ranks of a pooled sample.
pub(super) struct Ranking {
    /// Twice the rank of each value, in the order of the values: ties share
    /// the mean of their ranks, which doubling makes whole.
    pub(super) doubled: Vec<u64>,
    /// Σ (t³ − t) over groups of t equal values; 0 without ties.
    pub(super) tie_sum: f64,
}

/// Ranks values that are finite.
pub(super) fn rank(values: &[f64]) -> Ranking {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut doubled = vec![0; values.len()];
    let mut tie_sum = 0.0;
    let mut first = 0;
    for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
        // Ranks first + 1 ..= first + t; twice their mean is their ends' sum.
        let shared = (2 * first + group.len() + 1) as u64;
        group.iter().for_each(|&i| doubled[i] = shared);
        let ties = group.len() as f64;
        tie_sum += ties * (ties * ties - 1.0);
        first += group.len();
    }
    Ranking { doubled, tie_sum }
}

/// Whether [`subset_sums`] of `size` out of `total` ranks is quick (a few
/// million additions) and its counts fit a `u64`: 25 against 25 does, 5
/// against 245, 2 against 623.
pub(super) fn exact_is_quick(size: usize, total: usize) -> bool {
    size.min(total - size).saturating_mul(total) <= 1250
}

/// How many of the subsets of `size` scores have each sum: `counts[sum]`.
///
/// One score at a time joins or stays out: the shift algorithm of Streitberg
/// and Röhmel (1986, "Exact distributions for permutation and rank tests"),
/// which takes ties as they come.
pub(super) fn subset_sums(scores: &[u64], size: usize) -> Vec<u64> {
    let mut largest = scores.to_vec();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let width = index(largest.iter().take(size).sum()) + 1;
    // by_size[j][s]: subsets of j of the scores so far that sum to s.
    let mut by_size = vec![vec![0u64; width]; size + 1];
    by_size[0][0] = 1;
    for &score in scores {
        let score = index(score);
        for j in (1..=size).rev() {
            let (smaller, larger) = by_size.split_at_mut(j);
            let (from, to) = (&smaller[j - 1], &mut larger[0]);
            // A score wider than the table is in no subset that fits it.
            for (to, from) in to.iter_mut().skip(score).zip(from) {
                *to += from;
            }
        }
    }
    by_size.swap_remove(size)
}

/// How many of the 2ⁿ subsets of the ranks 1..=n have each sum: the null
/// distribution of Wilcoxon's signed-rank statistic. For n up to 50.
pub(super) fn signed_rank_sums(n: usize) -> Vec<u64> {
    let mut counts = vec![0u64; n * (n + 1) / 2 + 1];
    counts[0] = 1;
    for rank in 1..=n {
        for sum in (rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

/// C(a + b, a), the ways to split a pooled sample in two; `f64::MAX` from there.
pub(super) fn splits(a: usize, b: usize) -> f64 {
    let mut ways = 1.0;
    for i in 1..=a.min(b) {
        ways *= (a.max(b) + i) as f64 / i as f64;
        if ways == f64::INFINITY {
            return f64::MAX;
        }
    }
    ways
}

fn index(sum: u64) -> usize {
    usize::try_from(sum).expect("sums of ranks are bounded by exact_is_quick")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_mean_of_their_ranks() {
        let ranking = rank(&[30.0, 10.0, 20.0, 20.0, -0.0, 0.0]);
        assert_eq!(ranking.doubled, [12, 6, 9, 9, 3, 3]);
        assert_eq!(ranking.tie_sum, 12.0);
    }

    #[test]
    fn pairs_out_of_four_ranks() {
        // 1+2, 1+3, 1+4 and 2+3, 2+4, 3+4.
        let counts = subset_sums(&[1, 2, 3, 4], 2);
        assert_eq!(counts, [0, 0, 0, 1, 1, 2, 1, 1]);
        assert_eq!(signed_rank_sums(3), [1, 1, 1, 2, 1, 1, 1]);
    }

    #[test]
    fn counts_are_binomial_and_never_overflow() {
        for (size, total, choose) in [
            (25, 50, 126_410_606_437_752),
            (2, 625, 195_000),
            (1, 1250, 1250),
        ] {
            assert!(exact_is_quick(size, total));
            let scores: Vec<u64> = (1..=total as u64).map(|rank| 2 * rank).collect();
            assert_eq!(subset_sums(&scores, size).iter().sum::<u64>(), choose);
        }
        assert!(!exact_is_quick(26, 52));
        assert_eq!((splits(3, 3), splits(2, 4)), (20.0, 15.0));
        assert_eq!(splits(100_000, 100_000), f64::MAX);
    }
}
