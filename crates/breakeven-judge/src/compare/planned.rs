//! Plans how many runs a comparison needs.

use serde::Serialize;

use super::judgement::FEWEST_RUNS;
use super::options::Threshold;
use super::verdict::Bounds;

/// The runs per side that a comparison of one operation needs, and the change that it then detects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedRuns {
    /// Runs per side with which an unchanged operation is reported as
    /// [`NoChange`](super::ChangeType::NoChange) 80 % of the time. A change of exactly the
    /// threshold is significant more often than that, but its estimate is below the threshold as
    /// often as above it.
    pub runs: u64,
    /// Smallest change, a fraction, that is reported as a change 80 % of the time with that many
    /// runs.
    pub seen_from: f64,
}

/// Computes the needed runs. `noise` is the standard deviation of the logarithms of run medians
/// (0.02 is 2 %). The definition is that by which a comparison requests more runs; the result is at
/// least four, the fewest for a verdict. It applies to a comparison of one operation; the
/// correction for many needs more. None if more than 1e9 would be needed, or if the noise is
/// negative or not a number.
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
