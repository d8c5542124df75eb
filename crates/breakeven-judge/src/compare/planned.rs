//! How many runs a comparison needs, before it is made.

use serde::Serialize;

use super::judgement::FEWEST_RUNS;
use super::options::Threshold;
use super::verdict::Bounds;

/// The runs that a comparison of one operation needs on each side, and what it then sees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedRuns {
    /// Runs on each side with which an operation that did not change is judged
    /// [`NoChange`](super::ChangeType::NoChange) in four of five comparisons. A change of
    /// exactly the threshold is significant more often than that; but its estimate is as
    /// often below the threshold as beyond it.
    pub runs: u64,
    /// The least change, a fraction, that is judged a change in four of five comparisons
    /// of so many runs.
    pub seen_from: f64,
}

/// Runs needed where `noise` is the standard deviation of the logarithms of run medians
/// (0.02 is 2 %), by the definition with which a comparison asks for more runs: at least
/// the four below which nothing is called. It holds for a comparison of one operation; a
/// correction for many of them needs more. None where more than 1e9 would be needed, and
/// for a noise that is negative or no number.
pub fn planned_runs(noise: f64, threshold: Threshold, alpha: f64) -> Option<PlannedRuns> {
    if noise.is_nan() || noise < 0.0 {
        return None;
    }
    let bounds = Bounds {
        threshold: threshold.as_fraction(),
        alpha,
        worse: 1.0,
    };
    let runs = bounds.runs_at_no_change(noise)?.max(FEWEST_RUNS as u64);
    let seen_from = bounds.stays_beyond(noise, runs);
    Some(PlannedRuns { runs, seen_from })
}
