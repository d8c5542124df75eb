//! The ratio of two sides from their per-run medians: the t-test on logarithms.

use std::ops::Range;

use breakeven_profile::stats::{StatsError, check_fraction, check_positive};
use serde::Serialize;

use crate::distribution::{t_two_sided, t_upper};

/// The source of p and of the interval of a [`LogRatio`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogRatioMethod {
    /// Welch's t-test: the noise between runs is estimated from the runs.
    Welch {
        /// Satterthwaite's degrees of freedom.
        degrees_of_freedom: f64,
    },
    /// As Welch's, with the noise between runs estimated from all operations
    /// together ([`log_ratio_tests`](crate::log_ratio_tests)).
    Shared {
        /// Degrees of freedom of the operation's own runs together with those of the other
        /// operations.
        degrees_of_freedom: f64,
        /// The fraction of them that the other operations contributed.
        from_others: f64,
    },
    /// No spread on either side, so no noise to estimate (a coarse clock, most
    /// likely): p by exact permutation, and an interval of zero width.
    Permutation,
}

/// How much slower (above 1) or faster (below 1) `current` is than `baseline`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[must_use]
pub struct LogRatio {
    /// Estimate of current / baseline: the ratio of geometric means.
    pub ratio: f64,
    /// Lower end of the confidence interval of the ratio.
    pub lower: f64,
    /// Upper end of the confidence interval of the ratio.
    pub upper: f64,
    /// Confidence level of the interval, such as 0.95.
    pub level: f64,
    /// Two-sided p-value of "the ratio is 1".
    pub p_value: f64,
    /// Standard error of ln(ratio); for small noise, a relative error.
    pub standard_error: f64,
    /// How p and the interval were found.
    pub method: LogRatioMethod,
}

/// Noise between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Noise {
    /// Standard deviation of the logarithm of a run's value; for small noise the
    /// relative one: 0.02 is 2 %.
    pub deviation: f64,
    /// Degrees of freedom of that estimate; infinite if it is taken as exact.
    pub freedom: f64,
}

impl Noise {
    pub(crate) fn check(self) -> Result<(), StatsError> {
        let bad = |name, value, expected| Err(StatsError::parameter(name, value, expected));
        if !(1e-9..=10.0).contains(&self.deviation) {
            let expected = "between 1e-9 and 10 (0.02 is 2 %)";
            return bad("noise", self.deviation, expected);
        }
        if !(self.freedom >= 1.0 && self.freedom.is_finite()) {
            let expected = "1 or more, and finite";
            return bad("freedom of the noise", self.freedom, expected);
        }
        Ok(())
    }
}

/// Distance from the middle half of a side's runs, in widths of that half, from which a run
/// is far out (Tukey 1977, "Exploratory data analysis", section 2D).
const FAR_OUT: f64 = 3.0;

/// Welch's t-test on the logarithms of one positive value a run (its median),
/// at least two runs a side; the sides may differ in number.
///
/// Welch (1947, "The generalization of 'Student's' problem") with
/// Satterthwaite's (1946) degrees of freedom; on logarithms because noise of
/// timings is relative, so the estimate is a ratio and its interval is never
/// negative (Kalibera and Jones 2013, "Rigorous benchmarking in reasonable
/// time", on runs as the unit). Runs that lie far out, by three widths of the
/// side's middle half, are left out as in Yuen's (1974, "The two-sample trimmed
/// t for unequal population variances") test. More than a tenth of the runs at
/// one end are a state of the machine, and stay. A single run that was disturbed then moves
/// neither the estimate nor the width of its interval, and where none lies far
/// out this is Welch's test. Where neither side has any spread the t-test
/// would claim certainty; p is then that of the permutation test: the observed
/// split and its mirror, 2 / C(n₀ + n₁, n₀), and 1 where the sides are equal.
/// Ends of the interval beyond an `f64` stop at its smallest and largest value.
///
/// # Errors
/// [`StatsError`] below two values a side, for one that is not positive and finite, and for a
/// `level` that is not between 0 and 1.
pub fn log_ratio_test(
    baseline: &[f64],
    current: &[f64],
    level: f64,
) -> Result<LogRatio, StatsError> {
    check_fraction("level", level)?;
    let [one, other] = log_means(baseline, current, 2)?;
    let difference = other.mean - one.mean;
    let squared_error = one.squared_error + other.squared_error;
    if squared_error == 0.0 {
        let p_value = if difference == 0.0 {
            1.0
        } else {
            2.0 / splits(baseline.len(), current.len())
        };
        let method = LogRatioMethod::Permutation;
        return Ok(result(difference, 0.0, 0.0, level, p_value, method));
    }
    let degrees_of_freedom = satterthwaite(&one, &other);
    let error = squared_error.sqrt();
    Ok(result(
        difference,
        error,
        error * t_upper((1.0 - level) / 2.0, degrees_of_freedom),
        level,
        t_two_sided(difference / error, degrees_of_freedom),
        LogRatioMethod::Welch { degrees_of_freedom },
    ))
}

/// Returns the typical value of a side's runs: the geometric mean of those that [`log_ratio_test`]
/// keeps. 0 if a value is 0 or no number above it.
pub fn typical(runs: &[f64]) -> f64 {
    if runs.windows(2).all(|pair| pair[0] == pair[1]) {
        // Without what rounding would add.
        return runs.first().copied().unwrap_or(0.0);
    }
    if !runs.iter().all(|run| *run > 0.0) {
        return 0.0;
    }
    LogMean::of(runs).mean.exp()
}

/// Runs of one side, in logarithms.
pub(crate) struct LogMean {
    /// Number of runs.
    pub(crate) n: f64,
    /// Mean of their logarithms, of those that do not lie far out.
    pub(crate) mean: f64,
    /// That mean's squared standard error; 0 for one run.
    pub(crate) squared_error: f64,
    /// Degrees of freedom of that error.
    pub(crate) freedom: f64,
}

impl LogMean {
    fn of(runs: &[f64]) -> Self {
        let mut logs: Vec<f64> = runs.iter().map(|run| run.ln()).collect();
        logs.sort_unstable_by(f64::total_cmp);
        let kept = kept(&logs);
        let (n, h) = (logs.len() as f64, kept.len() as f64);
        let mean = logs[kept.clone()].iter().sum::<f64>() / h;
        // Winsorised: what was cut away counts as the nearest that was kept.
        let (lowest, highest) = (logs[kept.start], logs[kept.end - 1]);
        let mean = mean.clamp(lowest, highest);
        let winsorised = logs.iter().map(|log| log.clamp(lowest, highest));
        let centre = (winsorised.clone().sum::<f64>() / n).clamp(lowest, highest);
        let squares: f64 = winsorised.map(|log| (log - centre).powi(2)).sum();
        let freedom = h - 1.0;
        Self {
            n,
            mean,
            squared_error: if freedom > 0.0 {
                squares / (h * freedom)
            } else {
                0.0
            },
            freedom,
        }
    }
}

/// Which of the sorted logarithms are kept. If half of all are equal, as with a coarse clock,
/// there is no width to judge by.
fn kept(logs: &[f64]) -> Range<usize> {
    let count = logs.len();
    let (low, high) = (logs[count / 4], logs[count - 1 - count / 4]);
    if low == high {
        return 0..count;
    }
    let reach = FAR_OUT * (high - low);
    let below = logs.partition_point(|log| *log < low - reach);
    let above = count - logs.partition_point(|log| *log <= high + reach);
    let few = |found: usize| match found <= count / 10 {
        true => found,
        false => 0,
    };
    few(below)..count - few(above)
}

pub(crate) fn log_means(
    baseline: &[f64],
    current: &[f64],
    needed: usize,
) -> Result<[LogMean; 2], StatsError> {
    check_positive("baseline", baseline, needed)?;
    check_positive("current", current, needed)?;
    Ok([baseline, current].map(LogMean::of))
}

/// Degrees of freedom of the sum of two squared errors that are not both zero.
pub(crate) fn satterthwaite(one: &LogMean, other: &LogMean) -> f64 {
    let part = |side: &LogMean| side.squared_error * side.squared_error / side.freedom;
    (one.squared_error + other.squared_error).powi(2) / (part(one) + part(other))
}

pub(crate) fn result(
    difference: f64,
    standard_error: f64,
    reach: f64,
    level: f64,
    p_value: f64,
    method: LogRatioMethod,
) -> LogRatio {
    let ratio = |log: f64| log.exp().clamp(f64::MIN_POSITIVE, f64::MAX);
    LogRatio {
        ratio: ratio(difference),
        lower: ratio(difference - reach),
        upper: ratio(difference + reach),
        level,
        p_value,
        standard_error,
        method,
    }
}

/// C(a + b, a), the ways to split a pooled sample in two; `f64::MAX` from there.
pub(crate) fn splits(a: usize, b: usize) -> f64 {
    let factors = (1..=a.min(b)).map(|i| (a.max(b) + i) as f64 / i as f64);
    factors.product::<f64>().min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::E;

    use super::*;

    #[test]
    fn what_has_no_logarithm_is_no_typical_value() {
        for runs in [[0.0, 5.0, 6.0], [f64::NAN, 5.0, 6.0], [-1.0, 5.0, 6.0]] {
            assert_eq!(typical(&runs), 0.0, "{runs:?}");
        }
        assert_eq!(typical(&[5.0, f64::INFINITY]), f64::INFINITY);
    }

    #[test]
    fn welch_by_hand() {
        // Logs 0, 2 and 3, 5: means 1 and 4, variances 2, error √2, 2 degrees
        // of freedom, t = 3/√2. For 2 degrees P(|T| ≥ t) = 1 − t/√(t² + 2).
        let test = log_ratio_test(&[1.0, E * E], &[E.powi(3), E.powi(5)], 0.95).unwrap();
        let t = 3.0 / 2f64.sqrt();
        assert!((test.ratio.ln() - 3.0).abs() < 1e-12);
        assert!((test.standard_error - 2f64.sqrt()).abs() < 1e-12);
        assert!((test.p_value - (1.0 - t / (t * t + 2.0).sqrt())).abs() < 1e-12);
        let LogRatioMethod::Welch { degrees_of_freedom } = test.method else {
            panic!("{:?}", test.method);
        };
        assert!((degrees_of_freedom - 2.0).abs() < 1e-12);
        assert!(test.lower < 1.0 && test.upper > test.ratio);
    }

    #[test]
    fn a_run_far_out_is_left_out_and_a_frequent_state_is_not() {
        let mut runs = [
            100.0, 101.0, 99.0, 102.0, 98.0, 100.5, 99.5, 101.5, 98.5, 100.0,
        ];
        let typical_of_ten = typical(&runs);
        runs[3] = 300.0;
        assert!((typical(&runs) / typical_of_ten - 1.0).abs() < 0.005);
        let disturbed = log_ratio_test(&runs, &[100.0; 10].map(|run| run * 1.1), 0.95).unwrap();
        assert!(
            disturbed.p_value < 1e-6 && disturbed.upper < 1.12,
            "{disturbed:?}"
        );
        // Two of ten are a state.
        runs[5] = 300.0;
        assert!(typical(&runs) > 120.0);
    }

    #[test]
    fn no_spread_is_not_certainty() {
        let test = log_ratio_test(&[100.0; 2], &[101.0; 2], 0.95).unwrap();
        assert_eq!(test.method, LogRatioMethod::Permutation);
        assert!((test.p_value - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!((test.lower, test.upper), (test.ratio, test.ratio));
        let same = log_ratio_test(&[100.0; 3], &[100.0; 4], 0.95).unwrap();
        assert_eq!((same.ratio, same.p_value), (1.0, 1.0));
    }

    #[test]
    fn splits_are_binomial_and_never_overflow() {
        assert_eq!((splits(3, 3), splits(2, 4)), (20.0, 15.0));
        assert_eq!(splits(100_000, 100_000), f64::MAX);
    }

    #[test]
    fn refusals() {
        let refused = |baseline: &[f64], kind: &str| {
            let error = log_ratio_test(baseline, &[1.0, 2.0], 0.95).unwrap_err();
            assert!(error.to_string().starts_with(kind), "{error}");
        };
        refused(&[1.0], "baseline has 1 value(s)");
        refused(&[1.0, 0.0], "baseline[1] is 0, not a positive number");
        assert!(log_ratio_test(&[1.0, 2.0], &[1.0, 2.0], 1.0).is_err());
    }
}
