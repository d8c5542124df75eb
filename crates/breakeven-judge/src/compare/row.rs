//! What a row says about an operation besides its verdict.

use breakeven_profile::stats::quantile_of_sorted;
use breakeven_stats::typical;

use super::change::Change;
use super::comparison::OperationComparison;
use super::method::{Method, NotTested};
use super::metric::Metric;
use super::sides::{Measured, Pair};

/// Samples per side below which their spread says little.
const FEW_SAMPLES: usize = 5;

/// Smallest change of such a side to be suspected: 50 %.
const LARGE: f64 = 1.5;

/// Builds the row of a pair from the change of its judged metric.
pub(super) fn of(pair: &Pair<'_>, judged: Change) -> OperationComparison {
    let (baseline, current) = (pair.baseline.as_ref(), pair.current.as_ref());
    let any = current
        .or(baseline)
        .expect("operations are paired by what a side has");
    let runs = |side: Option<&Measured<'_>>| side.map_or(0, |measured| measured.runs().count());
    let (before, after) = (runs(baseline), runs(current));
    let was = baseline.and_then(time_ms);
    let is = current.and_then(time_ms);
    let times = was.zip(is);
    OperationComparison {
        operation: pair.key.name.clone(),
        device: pair.key.device.clone(),
        size: pair.key.size,
        workload: any.first().workload.clone(),
        software_gpu: any.is_on_software_gpu(),
        baseline_time_ms: was,
        current_time_ms: is,
        change_ms: times.map(|(was, is)| is - was),
        change_percent: times
            .filter(|(was, _)| *was > 0.0)
            .map(|(was, is)| (is / was - 1.0) * 100.0),
        change_type: judged.change_type,
        is_significant: judged.is_significant,
        baseline_runs: before,
        current_runs: after,
        is_suspected: baseline
            .zip(current)
            .is_some_and(|(before, after)| is_suspected(&judged, before, after)),
        failed: current.is_some_and(Measured::failed),
        judged,
        beside: Vec::new(),
    }
}

fn time_ms(measured: &Measured<'_>) -> Option<f64> {
    let medians = measured.values(&Metric::Time, false)?;
    (!medians.is_empty()).then(|| typical(&medians))
}

/// True if there are too few runs for a verdict, and the change is larger than the range of 90 % of
/// the samples of each side.
fn is_suspected(judged: &Change, baseline: &Measured<'_>, current: &Measured<'_>) -> bool {
    if judged.method != Method::NotTested(NotTested::FewRuns) || !judged.is_beyond() {
        return false;
    }
    let dwarfs = |measured: &Measured<'_>| {
        let runs = measured.runs();
        let mut samples: Vec<f64> = runs.flat_map(|(_, run)| &run.samples_ns).copied().collect();
        samples.sort_unstable_by(f64::total_cmp);
        let at = |q| quantile_of_sorted(&samples, q).unwrap_or(0.0);
        let range = (at(0.95) / at(0.05)).ln();
        let least = if samples.len() < FEW_SAMPLES {
            LARGE.ln()
        } else {
            0.0
        };
        judged.distance() > range.max(least)
    };
    dwarfs(baseline) && dwarfs(current)
}
