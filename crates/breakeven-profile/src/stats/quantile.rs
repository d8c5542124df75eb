//! Quantiles of a sample.

use super::error::{StatsError, check_finite};

/// The `q`-quantile (0 ≤ q ≤ 1) of an ascending sample, interpolated between
/// the two nearest order statistics: type 7 of Hyndman and Fan (1996, "Sample
/// quantiles in statistical packages"), the default of NumPy and R.
///
/// # Errors
/// [`StatsError`] for no values, one that is not finite, values out of order, and another `q`.
pub fn quantile(sorted: &[f64], q: f64) -> Result<f64, StatsError> {
    check_finite("sorted", sorted, 1)?;
    if let Some(before) = sorted.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(StatsError::new(format!(
            "sorted[{}] is smaller than the value before it; sort in ascending order first",
            before + 1
        )));
    }
    if !(0.0..=1.0).contains(&q) {
        return Err(StatsError::parameter("q", q, "between 0 and 1"));
    }
    Ok(quantile_of_sorted(sorted, q).expect("checked: at least one value"))
}

/// The median of a sample in any order.
///
/// # Errors
/// [`StatsError`] for no values, and one that is not finite.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    check_finite("values", values, 1)?;
    Ok(median_in_place(&mut values.to_vec()).expect("checked: at least one value"))
}

/// [`quantile`] of values that were checked: finite, of any magnitude, and
/// ascending; `q` between 0 and 1. `None` for no values.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    let below = whole(position).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let part = position - below as f64;
    let between = low * (1.0 - part) + high * part;
    // Rounding may take it past one of the two.
    Some(if between < low {
        low
    } else if between > high {
        high
    } else {
        between
    })
}

/// [`median`] of values that were checked: finite, of any magnitude. It reorders
/// them, and takes linear time. `None` for no values.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::MIN, f64::max);
    Some(f64::midpoint(lower, upper))
}

/// The whole part of a number that is not negative.
#[expect(
    clippy::cast_sign_loss,
    reason = "callers pass positions, which are 0 or more"
)]
fn whole(position: f64) -> usize {
    position as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_7_by_hand() {
        let sorted = [10.0, 20.0, 40.0, 80.0];
        assert_eq!(quantile(&sorted, 0.0), Ok(10.0));
        assert_eq!(quantile(&sorted, 1.0), Ok(80.0));
        // (n - 1) q = 1.5: halfway from 20 to 40.
        assert_eq!(quantile(&sorted, 0.5), Ok(30.0));
        // (n - 1) q = 2.25: a quarter of the way from 40 to 80.
        assert_eq!(quantile(&sorted, 0.75), Ok(50.0));
        assert_eq!(quantile(&[7.0], 0.3), Ok(7.0));
    }

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&[5.0, 1.0, 3.0]), Ok(3.0));
        assert_eq!(median(&[5.0, 1.0, 3.0, 4.0]), Ok(3.5));
        assert_eq!(median(&[2.0]), Ok(2.0));
    }

    #[test]
    fn checked_values_may_be_of_any_magnitude_and_none() {
        assert_eq!(median_in_place(&mut [1e300, -1e300, 1e200]), Some(1e200));
        assert_eq!(quantile_of_sorted(&[1e200, 3e200], 0.5), Some(2e200));
        assert_eq!(median_in_place(&mut []), None);
        assert_eq!(quantile_of_sorted(&[], 0.5), None);
    }

    #[test]
    fn refusals() {
        let refused = |sorted: &[f64]| quantile(sorted, 0.5).unwrap_err().to_string();
        assert!(refused(&[]).contains("measure more"));
        assert!(refused(&[1.0, 3.0, 2.0]).starts_with("sorted[2] is smaller"));
        assert!(quantile(&[1.0], 1.1).is_err());
        assert!(quantile(&[1.0], f64::NAN).is_err());
        assert!(median(&[f64::NAN]).is_err());
    }
}
