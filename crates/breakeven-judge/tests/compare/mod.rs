//! Comparisons of profiles that are made up, so that what must come out is known.

mod beside;
mod counters;
mod doubts;
mod energy;
mod errors;
mod gate;
mod known;
mod laws;
mod machine_load;
mod metrics;
mod planned;
mod printed;
mod runs_needed;
mod verdicts;

use breakeven_judge::compare::{Metric, Options};
use breakeven_judge::{
    ChangeType, CompareError, OperationComparison, ProfilerComparison, Threshold, compare,
    compare_profiling_runs,
};
use breakeven_profile::profile::{Operation, Profile, Run};

/// Relative places of five runs: a standard deviation of 1, mean 0.
pub(crate) const FIVE: [f64; 5] = [-1.265, -0.632, 0.0, 0.632, 1.265];

/// Run medians about `median_ns` that differ by this relative deviation.
pub(crate) fn noisy(median_ns: f64, deviation: f64) -> Vec<u64> {
    FIVE.iter()
        .map(|place| whole(median_ns * (deviation * place).exp()))
        .collect()
}

#[expect(clippy::cast_sign_loss, reason = "times of tests are positive")]
pub(crate) fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// An operation with runs of these medians, nine samples each.
pub(crate) fn operation(name: &str, medians_ns: &[u64]) -> Operation {
    let mut operation = Operation::new(name, "cpu");
    operation.runs = medians_ns.iter().map(|median| run(*median)).collect();
    operation
}

pub(crate) fn run(median_ns: u64) -> Run {
    Run {
        samples_ns: vec![median_ns as f64; 9],
        ..Run::default()
    }
}

/// As a recorder in a program has it: how often something was called is the program's.
pub(crate) fn recorded(mut profile: Profile) -> Profile {
    let operations = profile.operations.iter_mut();
    for run in operations.flat_map(|operation| &mut operation.runs) {
        run.nested_calls = Some(0);
    }
    profile
}

pub(crate) fn profile(operations: impl IntoIterator<Item = Operation>) -> Profile {
    Profile {
        operations: operations.into_iter().collect(),
        ..Profile::default()
    }
}

/// Two profiles compared.
pub(crate) fn compared(
    baseline: &Profile,
    current: &Profile,
    options: &Options,
) -> ProfilerComparison {
    let side = std::slice::from_ref::<Profile>;
    compare(side(baseline), side(current), options).unwrap()
}

/// Two profiles compared by the defaults: 5 %.
pub(crate) fn usual(
    baseline: &Profile,
    current: &Profile,
) -> Result<ProfilerComparison, CompareError> {
    compare_profiling_runs(baseline, current, Threshold::percent(5.0)?)
}

/// One operation compared, from its medians on both sides.
pub(crate) fn one(baseline: &[u64], current: &[u64], options: &Options) -> OperationComparison {
    let of = |medians| profile([operation("f", medians)]);
    let mut comparison = compared(&of(baseline), &of(current), options);
    assert_eq!(comparison.operations.len(), 1);
    comparison.operations.remove(0)
}

pub(crate) fn judging(metric: Metric) -> Options {
    Options {
        metric,
        ..Options::default()
    }
}

/// The verdicts by name.
pub(crate) fn verdicts(comparison: &ProfilerComparison) -> Vec<(&str, ChangeType)> {
    let operations = comparison.operations.iter();
    operations
        .map(|operation| (operation.key.name.as_str(), operation.change_type))
        .collect()
}
