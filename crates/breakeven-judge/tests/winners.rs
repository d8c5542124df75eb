//! Which device wins, and how sure the overview says that is.

use breakeven_judge::{Limits, Winner, overview};
use breakeven_profile::profile::{Failure, Operation, Profile, Run};

fn operation(device: &str, runs: &[&[f64]]) -> Operation {
    let mut operation = Operation::new("f", device);
    operation.runs = runs
        .iter()
        .map(|samples| Run {
            samples_ns: samples.to_vec(),
            ..Run::default()
        })
        .collect();
    operation
}

fn winners(operations: Vec<Operation>) -> Vec<Winner> {
    let profile = Profile {
        operations,
        ..Profile::default()
    };
    overview(&profile, &Limits::default()).winners
}

const NEAR_100: [f64; 6] = [99.0, 100.0, 101.0, 100.0, 102.0, 98.0];
const NEAR_200: [f64; 6] = [199.0, 200.0, 201.0, 200.0, 204.0, 196.0];

#[test]
fn one_run_a_side_gives_an_interval_within_the_run() {
    let winner = winners(vec![
        operation("slow", &[&NEAR_200]),
        operation("fast", &[&NEAR_100]),
    ])
    .remove(0);
    assert_eq!(
        (winner.device.as_str(), winner.runner_up.as_str()),
        ("fast", "slow")
    );
    assert!((winner.ratio - 2.0).abs() < 1e-9, "{}", winner.ratio);
    assert!(winner.clear && !winner.over_runs);
    let [lower, upper] = winner.interval.unwrap();
    assert!(
        (1.9..=2.0).contains(&lower) && (2.0..2.1).contains(&upper),
        "{lower} to {upper}"
    );
}

#[test]
fn runs_on_both_sides_are_what_counts() {
    let runs = |scale: f64| -> Vec<Vec<f64>> {
        [98.0, 100.0, 103.0]
            .iter()
            .map(|run| vec![run * scale; 4])
            .collect()
    };
    let side = |device: &str, scale| {
        let runs = runs(scale);
        let runs: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        operation(device, &runs)
    };
    let clear = winners(vec![side("a", 10.0), side("b", 30.0)]).remove(0);
    assert!(clear.over_runs && clear.clear);
    assert!((clear.ratio - 3.0).abs() < 1e-9, "{}", clear.ratio);
}

/// From ten runs on the test trims them, and the ratio did not.
#[test]
fn a_run_far_out_moves_the_ratio_no_more_than_its_interval() {
    let runs: Vec<[f64; 1]> = (0..10).map(|run| [100.0 + f64::from(run)]).collect();
    let mut slower: Vec<[f64; 1]> = runs.iter().map(|[ns]| [2.0 * ns]).collect();
    slower[9] = [1e6];
    let side = |device: &str, runs: &[[f64; 1]]| {
        let runs: Vec<&[f64]> = runs.iter().map(|run| &run[..]).collect();
        operation(device, &runs)
    };
    let found = winners(vec![side("a", &runs), side("b", &slower)]).remove(0);
    let [lower, upper] = found.interval.unwrap();
    assert!(
        lower < found.ratio && found.ratio < upper,
        "{} in {lower} to {upper}",
        found.ratio
    );
    assert!((found.ratio - 2.0).abs() < 0.01, "{}", found.ratio);
}

#[test]
fn equal_devices_have_no_clear_winner() {
    let tie = winners(vec![
        operation("a", &[&NEAR_100]),
        operation("b", &[&[100.0, 101.0, 99.0, 101.0, 98.0, 102.0]]),
    ])
    .remove(0);
    assert!(!tie.clear, "{tie:?}");
    let runs: [&[f64]; 3] = [&[100.0; 3], &[150.0; 3], &[200.0; 3]];
    let other: [&[f64]; 3] = [&[110.0; 3], &[140.0; 3], &[210.0; 3]];
    let noisy = winners(vec![operation("a", &runs), operation("b", &other)]).remove(0);
    assert!(noisy.over_runs && !noisy.clear, "{noisy:?}");
}

#[test]
fn two_runs_without_any_spread_do_not_make_certainty() {
    // A clock so coarse that every sample is the same.
    let coarse = winners(vec![
        operation("a", &[&[100.0; 3], &[100.0; 3]]),
        operation("b", &[&[101.0; 3], &[101.0; 3]]),
    ])
    .remove(0);
    assert!(!coarse.clear, "{coarse:?}");
}

#[test]
fn sizes_are_apart_and_failures_do_not_win() {
    let mut small = operation("a", &[&NEAR_100]);
    small.size = Some(1);
    let mut large = operation("b", &[&NEAR_200]);
    large.size = Some(2);
    assert_eq!(winners(vec![small, large]), []);
    let mut failed = operation("a", &[&NEAR_100]);
    failed.failure = Some(Failure {
        kind: "device lost".into(),
        message: "gone".into(),
    });
    assert_eq!(winners(vec![failed, operation("b", &[&NEAR_200])]), []);
}

#[test]
fn a_time_of_zero_has_no_winner() {
    let zero = operation("a", &[&[0.0, 0.0, 0.0]]);
    assert_eq!(
        winners(vec![zero.clone(), operation("b", &[&[0.0, 0.0, 0.0]])]),
        []
    );
    assert_eq!(winners(vec![zero, operation("b", &[&NEAR_100])]), []);
}
