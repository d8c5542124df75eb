//! How to compare.

use serde::{Deserialize, Serialize};

use super::error::CompareError;
use super::metric::Metric;
use crate::budget::Limits;

/// Greatest threshold: eleven times as long. More is a slip of the pen.
const MOST_THRESHOLD: f64 = 10.0;

/// How p-values are corrected for the number of operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Benjamini and Hochberg: of the changes that are reported, `alpha` are false.
    #[default]
    BenjaminiHochberg,
    /// Holm: that any change is reported falsely has probability `alpha`.
    Holm,
    /// None: of the operations that did not change, `alpha` are reported.
    None,
}

/// What counts as a change, and how sure one must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Change from which an operation is better or worse, a fraction: 0.05 is 5 %.
    /// Measured in log space, so that twice as slow and twice as fast are as far.
    pub threshold: f64,
    /// Rate of false alarms; the interval has the confidence level 1 − alpha.
    pub alpha: f64,
    /// Correction for the number of operations.
    pub correction: Correction,
    /// Relative standard deviation between runs (0.03 is 3 %), for operations
    /// with a single run on a side; without it those cannot be judged.
    pub noise: Option<f64>,
    /// Judge by the threshold alone, without any test.
    pub plain_threshold: bool,
    /// What is judged.
    pub metric: Metric,
    /// Budgets that the current side is held against, and thresholds of single
    /// operations.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold: 0.05,
            alpha: 0.05,
            correction: Correction::default(),
            noise: None,
            plain_threshold: false,
            metric: Metric::default(),
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// Refuses what would make every verdict a pass, or none.
    pub(super) fn check(&self) -> Result<(), CompareError> {
        let bad = |name, value, expected| {
            Err(CompareError::Option {
                name,
                value,
                expected,
            })
        };
        let threshold = self.threshold;
        if !(threshold > 0.0 && threshold <= MOST_THRESHOLD) {
            let expected = "above 0 and at most 10 (0.05 is 5 %)";
            return bad("threshold", threshold, expected);
        }
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return bad("alpha", self.alpha, "between 0 and 1, both excluded");
        }
        match self.noise {
            Some(noise) if !(1e-9..=10.0).contains(&noise) => {
                bad("noise", noise, "between 1e-9 and 10 (0.03 is 3 %)")
            }
            _ => Ok(()),
        }
    }
}
