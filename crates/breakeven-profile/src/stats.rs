//! Describes one sample: pure functions on slices, which know no clock, file or profile. The crate
//! `breakeven-stats` builds tests, intervals and fits on these.
//!
//! Describe a sample with [`Summary`], or with [`Moments`] if its values are too many to keep; take
//! one figure of it with [`median`] or [`quantile`].
//!
//! Every function accepts any slice and returns a [`StatsError`] if there is no answer: it neither
//! panics nor returns a NaN. Values are finite and of magnitude up to [`MAX_MAGNITUDE`], which
//! keeps sums of their squares finite. The unit is the caller's choice, the same for all values.
//!
//! The checks ([`check_finite`] and its neighbours) and the quantiles of checked values
//! ([`median_in_place`], [`quantile_of_sorted`]) are public for statistics that build on these.

use serde::{Deserialize, Serialize};

// Errors of a sample or a parameter, and the checks that return them.

/// Largest magnitude of a value that the statistics accept: squares of 1e140, summed over 2⁶⁴
/// values, still fit an `f64`. Positive values (for logarithms) are at least its reciprocal.
pub const MAX_MAGNITUDE: f64 = 1e140;

/// Why there is no answer, in one line: what was wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StatsError(String);

impl StatsError {
    /// An error of that text.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The sample `what` has fewer than `needed` values.
    pub fn too_few(what: &str, needed: usize, got: usize) -> Self {
        Self(format!(
            "{what} has {got} value(s) where at least {needed} are needed; measure more"
        ))
    }

    /// A parameter is outside its range.
    pub fn parameter(name: &str, value: f64, expected: &str) -> Self {
        Self(format!("{name} is {value}; it must be {expected}"))
    }
}

/// Checks for at least `needed` values, each finite and of magnitude up to
/// [`MAX_MAGNITUDE`]. `what` is the argument's name in the error.
///
/// # Errors
/// [`StatsError`] if it fails.
pub fn check_finite(what: &str, values: &[f64], needed: usize) -> Result<(), StatsError> {
    let got = values.len();
    if got < needed {
        return Err(StatsError::too_few(what, needed, got));
    }
    let bad = |value: &f64| !(-MAX_MAGNITUDE..=MAX_MAGNITUDE).contains(value);
    match values.iter().position(bad) {
        Some(index) => Err(StatsError(format!(
            "{what}[{index}] is {}, not a finite number of magnitude up to 1e140; drop it or change \
             the unit",
            values[index]
        ))),
        None => Ok(()),
    }
}

/// [`check_finite`], and each value at least the reciprocal of [`MAX_MAGNITUDE`].
///
/// # Errors
/// [`StatsError`] if it fails.
pub fn check_positive(what: &str, values: &[f64], needed: usize) -> Result<(), StatsError> {
    check_finite(what, values, needed)?;
    match values.iter().position(|&v| v < MAX_MAGNITUDE.recip()) {
        Some(index) => Err(StatsError(format!(
            "{what}[{index}] is {}, not a positive number of at least 1e-140; a time that rounds to \
             zero was measured too coarsely",
            values[index]
        ))),
        None => Ok(()),
    }
}

/// Checks a confidence level, a power or an error rate: strictly between 0 and 1.
///
/// # Errors
/// [`StatsError`] if it fails.
pub fn check_fraction(name: &str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    let expected = "between 0 and 1, both excluded";
    Err(StatsError::parameter(name, value, expected))
}

/// Returns `value` if it is finite.
///
/// # Errors
/// [`StatsError`] if it is not.
pub fn finite(what: &str, value: f64) -> Result<f64, StatsError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(StatsError(format!(
            "{what} comes out as {value}; change the unit so that values are nearer to 1"
        )))
    }
}

// Moments of a stream: count, mean, variance, extremes in constant memory.

/// Count, total, mean, spread and extremes of values that are not kept.
///
/// Pushing is Welford's recurrence (Welford 1962, "Note on a method for
/// calculating corrected sums of squares and products"); merging is that of
/// Chan, Golub and LeVeque (1979, "Updating formulae and a pairwise algorithm
/// for computing sample variances"). All but the count are in the unit of the
/// values (`m2`: its square). Empty moments are zero in every field; what
/// does not exist is `None` from the method that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[must_use]
pub struct Moments {
    count: u64,
    total: f64,
    mean: f64,
    m2: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// Moments of no values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moments of a slice.
    ///
    /// # Errors
    /// [`StatsError`] with the index of a value that is not finite.
    pub fn of(values: &[f64]) -> Result<Self, StatsError> {
        check_finite("values", values, 0)?;
        let mut moments = Self::new();
        values.iter().for_each(|&value| moments.add(value));
        Ok(moments)
    }

    /// Moments from given sums: the count, the mean, the sum of squared deviations from it, the
    /// minimum and the maximum.
    ///
    /// # Errors
    /// [`StatsError`] if no values can have these moments.
    pub fn of_parts(
        count: u64,
        mean: f64,
        m2: f64,
        min: f64,
        max: f64,
    ) -> Result<Self, StatsError> {
        // The mean of rounded values may be off by the last digit.
        let mean = match min <= max {
            true => mean.clamp(min, max),
            false => mean,
        };
        let moments = Self {
            count,
            total: mean * count as f64,
            mean,
            m2,
            min,
            max,
        };
        moments.check()?;
        Ok(moments)
    }

    /// Checks moments that were read.
    pub(crate) fn check(&self) -> Result<(), StatsError> {
        if self.count == 0 {
            return Ok(());
        }
        let (min, max) = (self.min, self.max);
        check_finite("mean, min, max of moments", &[self.mean, min, max], 3)?;
        let refuse = |name, value, expected| Err(StatsError::parameter(name, value, expected));
        if min > max {
            return refuse("min of moments", min, "at most their max");
        }
        // A reader of decimals may be off by the last digit.
        let slack = 1e-12 * min.abs().max(max.abs());
        if self.mean < min - slack || self.mean > max + slack {
            return refuse("mean of moments", self.mean, "between their min and max");
        }
        if !(0.0..=f64::MAX).contains(&self.m2) {
            return refuse("m2 of moments", self.m2, "a sum of squares, so 0 or more");
        }
        if !(0.0..=MAX_MAGNITUDE * self.count as f64).contains(&self.total.abs()) {
            return refuse(
                "total of moments",
                self.total,
                "at most 1e140 for each value",
            );
        }
        Ok(())
    }

    /// Adds one value.
    ///
    /// # Errors
    /// [`StatsError`] if it is not finite; the moments are then as before.
    pub fn push(&mut self, value: f64) -> Result<(), StatsError> {
        check_finite("value", &[value], 1)?;
        self.add(value);
        Ok(())
    }

    fn add(&mut self, value: f64) {
        if self.count == 0 {
            *self = Self {
                min: value,
                max: value,
                ..Self::new()
            };
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count = self.count.saturating_add(1);
        self.total += value;
        let before = value - self.mean;
        // The clamp only removes rounding of the last digit.
        self.mean = (self.mean + before / self.count as f64).clamp(self.min, self.max);
        self.m2 += (before * (value - self.mean)).max(0.0);
    }

    /// Adds the values of `other`. The result equals that of pushing them one by one, up to
    /// rounding; the count saturates.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let (all, apart) = (mine + theirs, other.mean - self.mean);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.mean = (self.mean + apart * (theirs / all)).clamp(self.min, self.max);
        // Only a count that has saturated can lift these two out of range.
        self.m2 = (self.m2 + other.m2 + apart * apart * (mine * (theirs / all))).min(f64::MAX);
        self.total = (self.total + other.total).clamp(f64::MIN, f64::MAX);
        self.count = self.count.saturating_add(other.count);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values; 0 for none.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Arithmetic mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Smallest value; `None` without values.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value; `None` without values.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// Unbiased variance (divided by n − 1); `None` below two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.m2 / (self.count - 1) as f64)
    }

    /// Standard deviation, the root of [`variance`](Self::variance).
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Coefficient of variation: deviation over |mean|, a fraction. `None` below two values, and if
    /// the mean is zero or close to it.
    pub fn cv(&self) -> Option<f64> {
        let cv = self.deviation()? / self.mean.abs();
        cv.is_finite().then_some(cv)
    }
}

// Quantiles of a sample.

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

// One sample in ten figures.

/// A sample described. All but `count` and `cv` are in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[must_use]
pub struct Summary {
    /// Number of values, at least 1.
    pub count: u64,
    /// Their sum.
    pub total: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation (divisor n − 1); `None` for a single value.
    pub deviation: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// 0.5-quantile; this and the two below as in [`quantile()`].
    pub median: f64,
    /// 0.95-quantile.
    pub p95: f64,
    /// 0.99-quantile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
    /// Deviation over |mean|, a fraction; `None` for a single value and for a
    /// mean of zero.
    pub cv: Option<f64>,
}

impl Summary {
    /// Describes a sample in any order.
    ///
    /// # Errors
    /// [`StatsError`] for no values, and one that is not finite.
    pub fn of(values: &[f64]) -> Result<Self, StatsError> {
        check_finite("values", values, 1)?;
        let moments = Moments::of(values)?;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |q| quantile_of_sorted(&sorted, q).expect("checked: at least one value");
        Ok(Self {
            count: moments.count(),
            total: moments.total(),
            mean: moments.mean().expect("checked: at least one value"),
            deviation: moments.deviation(),
            min: sorted[0],
            median: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: sorted[sorted.len() - 1],
            cv: moments.cv(),
        })
    }
}

#[cfg(test)]
mod error_tests {
    use super::*;

    #[test]
    fn messages_name_the_place_and_the_remedy() {
        let error = check_positive("baseline", &[3.0, 0.0], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "baseline[1] is 0, not a positive number of at least 1e-140; \
             a time that rounds to zero was measured too coarsely"
        );
        let error = check_finite("current", &[1.0], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "current has 1 value(s) where at least 2 are needed; measure more"
        );
        let error = check_fraction("level", 95.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "level is 95; it must be between 0 and 1, both excluded"
        );
    }

    #[test]
    fn nan_infinity_and_absurd_magnitudes_are_refused() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e141] {
            let error = check_finite("x", &[0.0, value], 1).unwrap_err();
            assert!(error.to_string().starts_with("x[1] is "), "{error}");
        }
        assert!(check_fraction("level", f64::NAN).is_err());
        assert!(finite("slope", f64::NAN).is_err());
    }
}

#[cfg(test)]
mod moments_tests {
    use super::*;

    #[test]
    fn textbook_sample() {
        // 2 4 4 4 5 5 7 9: mean 5, squares about it sum to 32.
        let moments = Moments::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(moments.count(), 8);
        assert_eq!(moments.total(), 40.0);
        assert_eq!(moments.mean(), Some(5.0));
        assert!((moments.variance().unwrap() - 32.0 / 7.0).abs() < 1e-14);
        assert_eq!((moments.min(), moments.max()), (Some(2.0), Some(9.0)));
    }

    #[test]
    fn nothing_one_and_equal_values() {
        assert_eq!(Moments::new().mean(), None);
        let mut one = Moments::new();
        one.push(3.0).unwrap();
        assert_eq!(
            (one.mean(), one.variance(), one.cv()),
            (Some(3.0), None, None)
        );
        let equal = Moments::of(&[0.1; 1000]).unwrap();
        assert_eq!((equal.mean(), equal.deviation()), (Some(0.1), Some(0.0)));
        assert_eq!(Moments::of(&[-1.0, 1.0]).unwrap().cv(), None);
    }

    #[test]
    fn a_large_offset_does_not_eat_the_variance() {
        let moments = Moments::of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).unwrap();
        assert!((moments.variance().unwrap() - 30.0).abs() < 1e-6);
    }

    #[test]
    fn parts_that_no_values_have_are_refused() {
        for [mean, min, max] in [
            [1.0, f64::NAN, f64::NAN],
            [f64::NAN, 1.0, 2.0],
            [1.0, 2.0, 1.0],
        ] {
            assert!(
                Moments::of_parts(2, mean, 0.0, min, max).is_err(),
                "{mean} {min} {max}"
            );
        }
    }

    #[test]
    fn a_refused_value_changes_nothing() {
        let mut moments = Moments::of(&[1.0, 2.0]).unwrap();
        let before = moments;
        assert!(moments.push(f64::NAN).is_err());
        assert_eq!(moments, before);
    }

    #[test]
    fn a_file_cannot_bring_in_impossible_moments() {
        let text = serde_json::to_string(&Moments::of(&[1.0, 2.0, 4.0]).unwrap()).unwrap();
        let check = |text: &str| serde_json::from_str::<Moments>(text).unwrap().check();
        assert!(check(&text).is_ok());
        for wrong in [
            r#"{"count":2,"total":3,"mean":9,"m2":0.5,"min":1,"max":2}"#,
            r#"{"count":2,"total":3,"mean":1.5,"m2":-0.5,"min":1,"max":2}"#,
            r#"{"count":2,"total":3,"mean":1.5,"m2":0.5,"min":3,"max":2}"#,
            r#"{"count":2,"total":1e300,"mean":1.5,"m2":0.5,"min":1,"max":2}"#,
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}

#[cfg(test)]
mod quantile_tests {
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

#[cfg(test)]
mod summary_tests {
    use super::*;

    #[test]
    fn one_to_a_hundred_and_one() {
        let values: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        let summary = Summary::of(&values).unwrap();
        assert_eq!(summary.count, 101);
        assert_eq!(summary.total, 5151.0);
        assert_eq!((summary.min, summary.max), (1.0, 101.0));
        assert_eq!(summary.median, 51.0);
        assert!((summary.p95 - 96.0).abs() < 1e-12);
        assert!((summary.p99 - 100.0).abs() < 1e-12);
        assert!((summary.mean - 51.0).abs() < 1e-12);
        // Variance of 1..=n is n (n + 1) / 12.
        let deviation = (101.0f64 * 102.0 / 12.0).sqrt();
        assert!((summary.deviation.unwrap() - deviation).abs() < 1e-12);
        assert!((summary.cv.unwrap() - deviation / 51.0).abs() < 1e-12);
    }

    #[test]
    fn one_value_has_no_deviation() {
        let summary = Summary::of(&[4.0]).unwrap();
        assert_eq!((summary.deviation, summary.cv), (None, None));
        assert_eq!((summary.median, summary.p99, summary.max), (4.0, 4.0, 4.0));
        assert!(Summary::of(&[]).is_err());
    }
}
