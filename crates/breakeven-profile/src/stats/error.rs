//! Errors of a sample or a parameter, and the checks that return them.

/// Largest magnitude of a value that the statistics accept: squares of 1e140, summed over 2⁶⁴
/// values, still fit an `f64`. Positive values (for logarithms) are at least its reciprocal.
pub const MAX_MAGNITUDE: f64 = 1e140;

/// Why there is no answer: what was wrong, where, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// The sample is empty, or too small for this statistic.
    #[error("{what} has {got} value(s) where at least {needed} are needed; measure more")]
    TooFew {
        /// The sample or argument.
        what: &'static str,
        /// The smallest number of values.
        needed: usize,
        /// The number of values given.
        got: usize,
    },
    /// The work would exceed its bound.
    #[error(
        "{what} has {got} values where at most {limit} are accepted; keep every k-th value, or a \
         random sample"
    )]
    TooMany {
        /// The sample or argument.
        what: &'static str,
        /// The largest number of values.
        limit: usize,
        /// The number of values given.
        got: usize,
    },
    /// Two slices that belong together differ in length.
    #[error("x has {x} values and y has {y}; give one y for each x")]
    LengthMismatch {
        /// Length of `x`.
        x: usize,
        /// Length of `y`.
        y: usize,
    },
    /// A NaN, an infinity, or a value beyond [`MAX_MAGNITUDE`].
    #[error(
        "{what}[{index}] is {value}, not a finite number of magnitude up to 1e140; drop it or change the unit"
    )]
    NotFinite {
        /// The sample or argument.
        what: &'static str,
        /// Where in it.
        index: usize,
        /// The value there.
        value: f64,
    },
    /// A value that must have a logarithm is zero, negative or below 1e-140.
    #[error(
        "{what}[{index}] is {value}, not a positive number of at least 1e-140; a time that rounds to zero was measured too coarsely"
    )]
    NotPositive {
        /// The sample or argument.
        what: &'static str,
        /// Where in it.
        index: usize,
        /// The value there.
        value: f64,
    },
    /// A value that must lie in 0..=1 does not.
    #[error("{what}[{index}] is {value}, not a probability between 0 and 1")]
    NotProbability {
        /// The sample or argument.
        what: &'static str,
        /// Where in it.
        index: usize,
        /// The value there.
        value: f64,
    },
    /// A slice that must ascend does not.
    #[error("{what}[{index}] is smaller than the value before it; sort in ascending order first")]
    NotSorted {
        /// The sample or argument.
        what: &'static str,
        /// The first place where the order breaks.
        index: usize,
    },
    /// All values are equal, but the statistic needs differences.
    #[error("all values of {what} are equal, so nothing follows from them; vary {what}")]
    NoSpread {
        /// The sample or argument.
        what: &'static str,
    },
    /// A parameter is outside its range.
    #[error("{name} is {value}; it must be {expected}")]
    BadParameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The values it may have.
        expected: &'static str,
    },
    /// The result does not fit an `f64`, or a statistic given by the caller
    /// returned something that is not finite.
    #[error("{what} comes out as {value}; change the unit so that values are nearer to 1")]
    Overflow {
        /// The result.
        what: &'static str,
        /// The value.
        value: f64,
    },
}

/// Checks for at least `needed` values, each finite and of magnitude up to
/// [`MAX_MAGNITUDE`]. `what` is the argument's name in the error.
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`].
pub fn check_finite(what: &'static str, values: &[f64], needed: usize) -> Result<(), StatsError> {
    let got = values.len();
    if got < needed {
        return Err(StatsError::TooFew { what, needed, got });
    }
    let bad = |value: &f64| !(-MAX_MAGNITUDE..=MAX_MAGNITUDE).contains(value);
    match values.iter().position(bad) {
        Some(index) => Err(StatsError::NotFinite {
            what,
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// [`check_finite`], and each value at least the reciprocal of [`MAX_MAGNITUDE`].
///
/// # Errors
/// Those of [`check_finite`], and [`StatsError::NotPositive`].
pub fn check_positive(what: &'static str, values: &[f64], needed: usize) -> Result<(), StatsError> {
    check_finite(what, values, needed)?;
    match values.iter().position(|&v| v < MAX_MAGNITUDE.recip()) {
        Some(index) => Err(StatsError::NotPositive {
            what,
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Checks a confidence level, a power or an error rate: strictly between 0 and 1.
///
/// # Errors
/// [`StatsError::BadParameter`] for the parameter `name`.
pub fn check_fraction(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(StatsError::BadParameter {
        name,
        value,
        expected: "between 0 and 1, both excluded",
    })
}

/// Returns `value` if it is finite.
///
/// # Errors
/// [`StatsError::Overflow`] for the result `what`.
pub fn finite(what: &'static str, value: f64) -> Result<f64, StatsError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(StatsError::Overflow { what, value })
    }
}

#[cfg(test)]
mod tests {
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
            assert!(matches!(error, StatsError::NotFinite { index: 1, .. }));
        }
        assert!(check_fraction("level", f64::NAN).is_err());
        assert!(finite("slope", f64::NAN).is_err());
    }
}
