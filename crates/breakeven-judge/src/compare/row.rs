//! What a row says of an operation before it is judged.

use super::comparison::{ChangeType, OperationComparison, Quantity};
use super::judgement::typical;
use super::method::{Method, NotTested};
use super::metric::Metric;
use super::options::Options;
use super::sides::{Measured, Pair};

/// The row of a pair that is on one side only, or not judged yet.
pub(super) fn of(pair: &Pair<'_>, options: &Options) -> OperationComparison {
    let (baseline, current) = (pair.baseline.as_ref(), pair.current.as_ref());
    let any = current.or(baseline).expect("on a side at least");
    let both = baseline.zip(current);
    let (was, is) = (baseline.and_then(time_ms), current.and_then(time_ms));
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
        change_type: match (baseline, current) {
            (Some(_), None) => ChangeType::Removed,
            (None, Some(_)) => ChangeType::New,
            _ => ChangeType::Inconclusive,
        },
        is_significant: false,
        baseline_value: None,
        current_value: None,
        ratio: None,
        interval: None,
        p_value: None,
        adjusted_p_value: None,
        noise: None,
        effect: None,
        baseline_runs: baseline.map_or(0, |measured| measured.runs().count()),
        current_runs: current.map_or(0, |measured| measured.runs().count()),
        runs_needed: None,
        method: Method::NotTested(NotTested::OneSide),
        threshold: options
            .limits
            .increase_of(any.first())
            .unwrap_or(options.threshold),
        memory: both.and_then(|sides| quantity(sides, Metric::Memory)),
        calls: both.and_then(|sides| quantity(sides, Metric::Calls)),
        failed: current.is_some_and(Measured::failed) && !baseline.is_some_and(Measured::failed),
    }
}

fn time_ms(measured: &Measured<'_>) -> Option<f64> {
    let medians = measured.values(Metric::Time, false)?;
    (!medians.is_empty()).then(|| typical(&medians))
}

/// A figure of both sides, where both tell it.
fn quantity(
    (baseline, current): (&Measured<'_>, &Measured<'_>),
    metric: Metric,
) -> Option<Quantity> {
    let typical = |measured: &Measured<'_>| {
        breakeven_profile::stats::median(&measured.values(metric, false)?).ok()
    };
    Some(Quantity::of(typical(baseline)?, typical(current)?))
}
