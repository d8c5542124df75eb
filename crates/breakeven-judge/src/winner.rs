//! Which device is fastest for an operation, and how certain that is.

use std::collections::HashMap;

use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats;
use breakeven_stats::{Bootstrap, bootstrap_median_ratio, log_ratio_test, typical};
use serde::Serialize;

/// Confidence level of the interval of [`Winner::ratio`].
const LEVEL: f64 = 0.95;

/// The fastest device for an operation of one size, by the medians of its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Winner {
    /// The operation's name.
    pub operation: String,
    /// Elements in one call.
    pub size: Option<u64>,
    /// The device's id.
    pub device: String,
    /// The next best device.
    pub runner_up: String,
    /// Runner-up's time divided by the winner's: 1 or more.
    pub ratio: f64,
    /// 95 % interval of the ratio: over runs if both have two or more (t-test on logarithms of run
    /// medians), else over the samples of one run (bootstrap of the medians), which does not cover
    /// differences between runs.
    pub interval: Option<[f64; 2]>,
    /// True if the interval is over runs.
    pub over_runs: bool,
    /// True if the interval excludes 1.
    pub clear: bool,
}

/// The winners, in the order of the operations.
pub(crate) fn winners(profile: &Profile) -> Vec<Winner> {
    let mut groups: Vec<Vec<&Operation>> = Vec::new();
    let mut group_of = HashMap::new();
    for operation in &profile.operations {
        let key = work(operation);
        let group = *group_of.entry(key).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(operation);
    }
    groups.iter().filter_map(|group| first_of(group)).collect()
}

/// Name, size and items.
pub(crate) type Work<'a> = (&'a str, Option<u64>, Option<u64>);

/// What identifies the work of an operation: name and size, or name and items per call if the size
/// is unknown. Spans of a batch on two devices have the same name and differ in their tasks.
pub(crate) fn work(operation: &Operation) -> Work<'_> {
    let items = operation.items.filter(|_| operation.size.is_none());
    (&operation.name, operation.size, items)
}

/// The winner among operations of one name and size; `None` if fewer than two have times.
fn first_of(operations: &[&Operation]) -> Option<Winner> {
    let sound = operations.iter().filter(|each| each.failure.is_none());
    let mut devices: Vec<(f64, &Operation)> = sound
        // A time of zero is below the clock's resolution: there is no ratio.
        .filter_map(|each| Some((typical_ns(each).filter(|ns| *ns > 0.0)?, *each)))
        .collect();
    devices.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    match devices[..] {
        [(_, best), (_, next), ..] => Some(winner(best, next)),
        _ => None,
    }
}

/// How many times faster `best` is than `next`, and how certain that is.
pub(crate) fn winner(best: &Operation, next: &Operation) -> Winner {
    let (best_runs, next_runs) = (run_medians(best), run_medians(next));
    let ratio = typical(&next_runs) / typical(&best_runs);
    let over_runs = best_runs.len() > 1 && next_runs.len() > 1;
    let (interval, significant) = if over_runs {
        match log_ratio_test(&best_runs, &next_runs, LEVEL) {
            // Runs without any spread give an interval of zero width: p decides.
            Ok(test) => (Some([test.lower, test.upper]), test.p_value < 1.0 - LEVEL),
            Err(_) => (None, false),
        }
    } else {
        let [best, next] = [best, next].map(|operation| {
            let samples = operation.samples_ns();
            samples.collect::<Vec<f64>>()
        });
        let options = Bootstrap {
            level: LEVEL,
            // Keeps the bootstrap of very large samples under a second.
            resamples: (20_000_000 / (best.len() + next.len()).max(1)).clamp(100, 2_000),
            seed: 1,
        };
        let interval = bootstrap_median_ratio(&best, &next, &options);
        let interval = interval.ok().map(|found| [found.lower, found.upper]);
        (interval, interval.is_some())
    };
    Winner {
        operation: best.name.clone(),
        size: best.size,
        device: best.device.clone(),
        runner_up: next.device.clone(),
        ratio,
        interval,
        over_runs,
        clear: significant && interval.is_some_and(|[lower, _]| lower > 1.0),
    }
}

/// The run medians that the test compares, ns, if there are any.
pub(crate) fn typical_ns(operation: &Operation) -> Option<f64> {
    let medians = run_medians(operation);
    (!medians.is_empty()).then(|| typical(&medians))
}

/// The median of each run with samples, ns.
pub fn run_medians(operation: &Operation) -> Vec<f64> {
    operation
        .runs
        .iter()
        .filter_map(|run| median(run.samples_ns.iter().copied()))
        .collect()
}

pub(crate) fn median(samples: impl Iterator<Item = f64>) -> Option<f64> {
    stats::median_in_place(&mut samples.collect::<Vec<f64>>())
}
