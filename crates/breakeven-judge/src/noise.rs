//! How much the times of an unchanged operation vary.

use breakeven_profile::profile::Operation;
use breakeven_profile::stats::{Moments, quantile};
use breakeven_stats::deviation_interval;
use serde::Serialize;

use crate::winner::{run_medians, typical_ns};

/// Level of [`Noise::between_interval`].
const LEVEL: f64 = 0.9;

/// The noise of an operation's times, in log space: 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    /// Number of runs with samples.
    pub runs: usize,
    /// Number of their samples.
    pub samples: usize,
    /// The geometric mean of the runs' medians, ns.
    pub typical_ns: f64,
    /// Standard deviation of the samples within a run, over all runs.
    pub within: f64,
    /// The 99th percentile of the samples divided by their median.
    pub tail: f64,
    /// Standard deviation of the runs' medians: the noise that a comparison uses.
    pub between: f64,
    /// The interval of `between` at the level 0.9: a few runs say little about it.
    pub between_interval: [f64; 2],
}

impl Noise {
    /// The noise of an operation's samples. None with fewer than two runs with samples, and if a
    /// time is not positive: it has no logarithm.
    pub fn of(operation: &Operation) -> Option<Self> {
        let runs = operation.runs.iter().map(|run| &run.samples_ns);
        let runs: Vec<&Vec<f64>> = runs.filter(|samples| !samples.is_empty()).collect();
        let mut samples: Vec<f64> = runs.iter().copied().flatten().copied().collect();
        if samples.iter().any(|ns| !ns.is_finite() || *ns <= 0.0) {
            return None;
        }
        let logs = |values: &[f64]| values.iter().map(|ns| ns.ln()).collect::<Vec<f64>>();
        let medians = logs(&run_medians(operation));
        let between_interval = deviation_interval(&medians, LEVEL).ok()?;
        let (mut squares, mut freedom) = (0.0, 0.0);
        for run in &runs {
            let others = run.len() as f64 - 1.0;
            let variance = Moments::of(&logs(run)).ok()?.variance();
            squares += variance.unwrap_or(0.0) * others;
            freedom += others;
        }
        samples.sort_by(f64::total_cmp);
        let at = |part| quantile(&samples, part).ok();
        Some(Self {
            runs: runs.len(),
            samples: samples.len(),
            typical_ns: typical_ns(operation)?,
            within: if freedom > 0.0 {
                (squares / freedom).sqrt()
            } else {
                0.0
            },
            tail: at(0.99)? / at(0.5)?,
            between: Moments::of(&medians).ok()?.deviation()?,
            between_interval,
        })
    }
}
