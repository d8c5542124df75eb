//! Errors of a sample or a parameter, and the checks that return them.

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
            assert!(error.to_string().starts_with("x[1] is "), "{error}");
        }
        assert!(check_fraction("level", f64::NAN).is_err());
        assert!(finite("slope", f64::NAN).is_err());
    }
}
