//! One sample in ten figures.

use serde::Serialize;

use super::{
    error::{StatsError, check_finite},
    moments::Moments,
    quantile::quantile_of_sorted,
};

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
    /// 0.5-quantile; this and the two below as in [`quantile`](super::quantile()).
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
mod tests {
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
