//! Energy of a call: verdicts as for times, by the same counters on both sides.

use breakeven_judge::compare::{Method, Metric, NotTested, Options};
use breakeven_judge::{ChangeType, CompareError, OperationComparison, compare};
use breakeven_profile::profile::{CountedEnergy, Energy, Operation};
use insta::assert_snapshot;

use super::{FIVE, compared, judging, operation, profile};

/// An operation of five runs whose calls take about so many joules, by these counters.
fn drawing(name: &str, joules: f64, deviation: f64, counters: &[(&str, &str)]) -> Operation {
    let mut operation = operation(name, &[1_000_000; 5]);
    for (run, place) in operation.runs.iter_mut().zip(FIVE) {
        let each = joules * (deviation * place).exp() / counters.len() as f64;
        let counter = |(of, how): &(&str, &str)| CountedEnergy {
            of: (*of).to_owned(),
            how: (*how).to_owned(),
            covers: None,
            joules: 100.0 * each,
            idle_watts: None,
        };
        run.energy = Some(Energy {
            calls: 100,
            over_ns: 1e8,
            idle_over_ns: None,
            counters: counters.iter().map(counter).collect(),
        });
    }
    operation
}

const RAPL: &[(&str, &str)] = &[("cpu", "rapl")];

fn judged(baseline: Operation, current: Operation) -> OperationComparison {
    let options = judging(Metric::ENERGY);
    compared(&profile([baseline]), &profile([current]), &options).operations[0].clone()
}

#[test]
fn more_energy_is_worse_whatever_the_times_are() {
    let before = || drawing("f", 0.02, 0.01, RAPL);
    let more = judged(before(), drawing("f", 0.023, 0.01, RAPL));
    assert_eq!(more.change_type, ChangeType::Regression);
    assert!((more.judged.ratio.unwrap() - 1.15).abs() < 1e-9);
    assert_eq!(more.change_percent, Some(0.0), "of the time");
    assert!(matches!(more.judged.method, Method::Test(_)));
    let less = judged(before(), drawing("f", 0.017, 0.01, RAPL));
    assert_eq!(less.change_type, ChangeType::Improvement);
    let same = judged(before(), drawing("f", 0.02, 0.01, RAPL));
    assert_eq!(same.change_type, ChangeType::NoChange);
    let noisy = judged(before(), drawing("f", 0.023, 0.3, RAPL));
    assert_eq!(noisy.change_type, ChangeType::Inconclusive);
}

#[test]
fn all_counters_of_a_call_are_added_up() {
    let both = &[("cpu", "rapl"), ("cuda:0", "driver")];
    let found = judged(drawing("f", 0.5, 0.01, both), drawing("f", 0.6, 0.01, both));
    assert!((found.judged.baseline_value.unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(found.change_type, ChangeType::Regression);
}

#[test]
fn few_runs_are_inconclusive() {
    let few = |joules| {
        let mut operation = drawing("f", joules, 0.01, RAPL);
        operation.runs.truncate(3);
        operation
    };
    let found = judged(few(0.02), few(0.04));
    assert_eq!(found.change_type, ChangeType::Inconclusive);
    assert_eq!(found.judged.method, Method::NotTested(NotTested::FewRuns));
}

#[test]
fn what_other_counters_reported_is_not_compared() {
    let both = &[("cpu", "rapl"), ("cuda:0", "driver")];
    let alone = &[("cuda:0", "driver")];
    let found = judged(
        drawing("f", 0.5, 0.01, both),
        drawing("f", 0.3, 0.01, alone),
    );
    assert_eq!(found.change_type, ChangeType::Inconclusive);
    let method = Method::NotTested(NotTested::OtherCounters);
    assert_eq!(found.judged.method, method);
    let summed = &[("cuda:0", "power")];
    let found = judged(
        drawing("f", 0.3, 0.01, alone),
        drawing("f", 0.3, 0.01, summed),
    );
    assert_eq!(found.judged.method, method);
}

#[test]
fn an_operation_without_energy_is_reported_beside_one_that_has_it() {
    let unreported = operation("g", &[1_000_000; 5]);
    let before = profile([
        drawing("f", 0.02, 0.01, RAPL),
        drawing("g", 0.02, 0.01, RAPL),
    ]);
    let after = profile([drawing("f", 0.02, 0.01, RAPL), unreported]);
    let found = compared(&before, &after, &judging(Metric::ENERGY));
    assert_eq!(found.operations[0].change_type, ChangeType::NoChange);
    let method = Method::NotTested(NotTested::NoValue);
    assert_eq!(found.operations[1].judged.method, method);
}

#[test]
fn no_energy_at_all_is_an_error_that_names_operation_and_side() {
    let refused = |baseline: Operation, current: Operation| {
        let side = |operation| [profile([operation])];
        let options = judging(Metric::ENERGY);
        compare(&side(baseline), &side(current), &options).unwrap_err()
    };
    let reported = || drawing("f", 0.02, 0.01, RAPL);
    let unreported = || operation("f", &[1_000_000; 5]);
    let error = refused(reported(), unreported());
    assert!(matches!(error, CompareError::NothingToJudge { .. }));
    assert_snapshot!(error, @"no operation has energy on both sides: f on cpu lacks it on the current side; judge another metric, or measure with it recorded (`breakeven profile` measures it where the machine has a counter)");
    assert_snapshot!(refused(unreported(), reported()), @"no operation has energy on both sides: f on cpu lacks it in the baseline; judge another metric, or measure with it recorded (`breakeven profile` measures it where the machine has a counter)");
    assert_snapshot!(refused(unreported(), unreported()), @"no operation has energy on both sides: f on cpu lacks it in the baseline and on the current side; judge another metric, or measure with it recorded (`breakeven profile` measures it where the machine has a counter)");
    // A counter that stood still counts nothing.
    assert_snapshot!(refused(reported(), drawing("f", 0.0, 0.01, RAPL)), @"no operation has energy on both sides: f on cpu lacks it on the current side; judge another metric, or measure with it recorded (`breakeven profile` measures it where the machine has a counter)");
}

#[test]
fn a_history_of_energy_reports_its_noise() {
    let once = |joules| {
        let mut operation = drawing("f", joules, 0.01, RAPL);
        operation.runs.truncate(1);
        profile([operation])
    };
    let history = (0..12).map(|index| once(0.02 + 0.0002 * f64::from(index % 3)));
    let options = Options {
        history: history.collect(),
        ..judging(Metric::ENERGY)
    };
    let found = &compared(&once(0.02), &once(0.03), &options).operations[0];
    assert_eq!(found.change_type, ChangeType::Regression);
}
