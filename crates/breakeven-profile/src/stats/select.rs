//! Order statistics of all pairs of a sample, without making the pairs.
//!
//! The pairs of two sorted samples are a matrix sorted both ways: how many lie
//! at or below a bound takes one walk along its staircase, n + m steps. The
//! k-th smallest is then found by bisection over the floating-point numbers
//! themselves, at most 64 walks (in the manner of Johnson and Mizoguchi 1978,
//! "Selecting the k-th element in X + Y"). A million values a side: about half
//! a second and no memory beyond the samples.

/// The k-th smallest (from 1) of all `to[j] − from[i]`, both ascending.
pub(super) fn kth_difference(from: &[f64], to: &[f64], k: u64) -> f64 {
    let least = to[0] - from[from.len() - 1];
    let most = to[to.len() - 1] - from[0];
    bisect(least, most, k, |bound| {
        let mut below = 0;
        let mut count = 0;
        for &start in from {
            while below < to.len() && to[below] - start <= bound {
                below += 1;
            }
            count += below as u64;
        }
        count
    })
}

/// The k-th smallest (from 1) of all `(x[i] + x[j]) / 2` with i ≤ j, the Walsh
/// averages; `x` ascending.
pub(super) fn kth_walsh_average(x: &[f64], k: u64) -> f64 {
    bisect(x[0], x[x.len() - 1], k, |bound| {
        let mut end = x.len();
        let mut count = 0;
        for (i, &first) in x.iter().enumerate() {
            while end > i && 0.5 * (first + x[end - 1]) > bound {
                end -= 1;
            }
            if end <= i {
                break;
            }
            count += (end - i) as u64;
        }
        count
    })
}

/// The smallest number from `least` to `most` with at least `k` at or below it.
/// Rounding of a sum or difference is monotone, so this is one of the pairs.
fn bisect(least: f64, most: f64, k: u64, count_to: impl Fn(f64) -> u64) -> f64 {
    let (mut low, mut high) = (order_key(least), order_key(most));
    while low < high {
        let half = i64::try_from(low.abs_diff(high) / 2).expect("half of a u64 fits an i64");
        let middle = low + half;
        if count_to(from_order_key(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // A zero may come out negative, which nobody wants to read.
    from_order_key(low) + 0.0
}

/// Integers in the order of the numbers: of negative ones, all bits but the
/// sign are turned round. Its own inverse, on bits.
fn order_key(value: f64) -> i64 {
    turn(value.to_bits().cast_signed())
}

fn from_order_key(key: i64) -> f64 {
    f64::from_bits(turn(key).cast_unsigned())
}

fn turn(bits: i64) -> i64 {
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_in_order() {
        let (from, to) = ([-3.0, 0.0, 0.0, 7.5], [-1.0, 2.0, 1e6]);
        let mut all: Vec<f64> = from
            .iter()
            .flat_map(|start| to.iter().map(move |end| end - start))
            .collect();
        all.sort_by(f64::total_cmp);
        for (k, expected) in (1..).zip(&all) {
            assert_eq!(kth_difference(&from, &to, k), *expected, "{k}");
        }
    }

    #[test]
    fn every_walsh_average_in_order() {
        let x = [-5.0, -1.0, 0.0, 0.0, 2.0, 1e9];
        let mut all: Vec<f64> = (0..x.len())
            .flat_map(|i| (i..x.len()).map(move |j| 0.5 * (x[i] + x[j])))
            .collect();
        all.sort_by(f64::total_cmp);
        for (k, expected) in (1..).zip(&all) {
            assert_eq!(kth_walsh_average(&x, k), *expected, "{k}");
        }
    }
}
