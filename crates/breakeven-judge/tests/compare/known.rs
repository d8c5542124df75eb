//! What is known beside the runs of the two sides: the clock's step, the order of the runs,
//! a history.

use breakeven_judge::compare::{Options, compare};
use breakeven_judge::{ChangeType, OperationComparison, ProfilerComparison};
use breakeven_profile::profile::{Clock, Profile};

use super::{compared, noisy, one, operation, profile, usual};

const MS: f64 = 1e6;

/// An operation whose runs are all alike, beside others that vary by 40 %.
fn steady_among_noisy(steady_ns: [u64; 2], step_ns: f64) -> OperationComparison {
    let side = |steady, shift: f64| {
        let noisy = |name, shift: f64| {
            let twice = [noisy(MS, 0.4), noisy(MS * shift, 0.4)].concat();
            operation(name, &twice)
        };
        let mut side = profile([
            operation("steady", &[steady; 10]),
            noisy("g", shift),
            noisy("h", 1.0 / shift),
        ]);
        side.environment.clock = Some(Clock {
            resolution_ns: step_ns,
            ..Clock::default()
        });
        side
    };
    let [before, after] = steady_ns;
    let mut found = usual(&side(before, 1.0), &side(after, 1.1)).unwrap();
    found.operations.remove(0)
}

/// Their interval was that of the other operations' noise.
#[test]
fn ten_equal_values_are_no_change_within_the_step_of_the_clock() {
    let same = steady_among_noisy([1_000_000, 1_000_000], 10_000.0);
    assert_eq!(same.change_type, ChangeType::NoChange);
    let [lower, upper] = same.judged.interval.unwrap();
    assert!((upper - 1.01).abs() < 1e-9 && (lower * upper - 1.0).abs() < 1e-9);
    // A step of 10 % hides what a threshold of 5 % asks for.
    let coarse = steady_among_noisy([1_000_000, 1_000_000], 100_000.0);
    assert_eq!(coarse.change_type, ChangeType::Inconclusive);
    assert_eq!(coarse.judged.note_text(), "more runs would not decide it");
    let slower = steady_among_noisy([1_000_000, 1_100_000], 1_000.0);
    assert_eq!(slower.change_type, ChangeType::Regression);
}

/// Two sides of profiles of one run each, created at these minutes.
fn at(baseline: &[u32], current: &[u32]) -> ProfilerComparison {
    let side = |minutes: &[u32]| -> Vec<Profile> {
        let medians = noisy(MS, 0.01).into_iter();
        let each = medians.zip(minutes).map(|(median, minute)| Profile {
            created: Some(format!("2026-01-01T10:{minute:02}:00Z")),
            ..profile([operation("f", &[median])])
        });
        each.collect()
    };
    compare(&side(baseline), &side(current), &Options::default()).unwrap()
}

#[test]
fn sides_that_were_not_measured_in_turns_are_warned_of() {
    let in_turns = at(&[0, 2, 4, 6, 8], &[1, 3, 5, 7, 9]);
    assert_eq!(in_turns.warnings, []);
    let found = at(&[0, 1, 2, 3, 4], &[5, 6, 7, 8, 9]);
    let warning = "the sides were not measured in turns: all runs on the current side";
    assert!(found.warnings[0].text.starts_with(warning));
    assert_eq!(at(&[5, 6, 7, 8, 9], &[0, 1, 2, 3, 4]).warnings.len(), 1);
}

#[test]
fn relative_to_no_common_shift_says_so() {
    let side = |ns: f64| profile([operation("f", &noisy(ns, 0.01))]);
    let options = Options {
        relative_to_common_shift: true,
        ..Options::default()
    };
    let found = compared(&side(MS), &side(1.1 * MS), &options);
    assert_eq!(
        found.warnings[0].to_string(),
        "the changes are not relative: 1 tested operation(s) have no common shift, which needs at least 5 that move together"
    );
}

/// One run each of "f", about 1 ms with 1 % of noise; from the tenth on of another level.
fn history(runs: usize, level: f64) -> Vec<Profile> {
    let run = |index: usize| {
        let noise = 1.0 + 0.014 * (index as f64 * 2.4).sin();
        let level = if index < 10 { 1.0 } else { level };
        profile([operation("f", &[super::whole(MS * level * noise)])])
    };
    (0..runs).map(run).collect()
}

/// The step was taken for a noise of 6 %, and the slow-down was inconclusive.
#[test]
fn a_step_in_the_history_hides_no_slow_down() {
    for level in [1.0, 1.5] {
        let options = Options {
            history: history(20, level),
            ..Options::default()
        };
        let [before, after] = [1.0, 1.07].map(|factor| noisy(MS * level * factor, 0.01));
        let found = one(&before[1..4], &after[1..4], &options);
        assert_eq!(
            found.change_type,
            ChangeType::Regression,
            "{level}: {found:?}"
        );
    }
}
