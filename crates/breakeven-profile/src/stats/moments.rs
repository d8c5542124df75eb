//! Moments of a stream: count, mean, variance, extremes in constant memory.

use serde::{Deserialize, Serialize};

use super::error::{MAX_MAGNITUDE, StatsError, check_finite};

/// Count, total, mean, spread and extremes of values that are not kept.
///
/// Pushing is Welford's recurrence (Welford 1962, "Note on a method for
/// calculating corrected sums of squares and products"); merging is that of
/// Chan, Golub and LeVeque (1979, "Updating formulae and a pairwise algorithm
/// for computing sample variances"). All but the count are in the unit of the
/// values (`m2`: its square). Empty moments are zero in every field; what
/// does not exist is `None` from the method that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
#[must_use]
pub struct Moments {
    count: u64,
    total: f64,
    mean: f64,
    m2: f64,
    min: f64,
    max: f64,
}

/// [`Moments`] as read from a file, not yet checked.
#[derive(Deserialize)]
struct Fields {
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
        Self::try_from(Fields {
            count,
            total: mean * count as f64,
            mean,
            m2,
            min,
            max,
        })
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
            (self.min, self.max) = (value, value);
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

impl TryFrom<Fields> for Moments {
    type Error = StatsError;

    fn try_from(fields: Fields) -> Result<Self, StatsError> {
        let Fields {
            count,
            total,
            mean,
            m2,
            min,
            max,
        } = fields;
        if count == 0 {
            return Ok(Self::new());
        }
        check_finite("mean, min, max of moments", &[mean, min, max], 3)?;
        let refuse = |name, value, expected| Err(StatsError::parameter(name, value, expected));
        if min > max {
            return refuse("min of moments", min, "at most their max");
        }
        // A reader of decimals may be off by the last digit.
        let slack = 1e-12 * min.abs().max(max.abs());
        if mean < min - slack || mean > max + slack {
            return refuse("mean of moments", mean, "between their min and max");
        }
        if !(0.0..=f64::MAX).contains(&m2) {
            return refuse("m2 of moments", m2, "a sum of squares, so 0 or more");
        }
        if !(0.0..=MAX_MAGNITUDE * count as f64).contains(&total.abs()) {
            return refuse("total of moments", total, "at most 1e140 for each value");
        }
        Ok(Self {
            count,
            total,
            mean: mean.clamp(min, max),
            m2,
            min,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
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
        assert!(serde_json::from_str::<Moments>(&text).is_ok());
        for wrong in [
            r#"{"count":2,"total":3,"mean":9,"m2":0.5,"min":1,"max":2}"#,
            r#"{"count":2,"total":3,"mean":1.5,"m2":-0.5,"min":1,"max":2}"#,
            r#"{"count":2,"total":3,"mean":1.5,"m2":0.5,"min":3,"max":2}"#,
            r#"{"count":2,"total":1e300,"mean":1.5,"m2":0.5,"min":1,"max":2}"#,
        ] {
            assert!(serde_json::from_str::<Moments>(wrong).is_err(), "{wrong}");
        }
    }
}
