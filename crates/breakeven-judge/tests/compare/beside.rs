//! What a median does not show: rare long calls, memory, too few runs, a shift of all.

use breakeven_judge::compare::{Metric, Options};
use breakeven_judge::gate::Reason;
use breakeven_judge::{ChangeType, Limits, Outcome, Policy, gate};
use breakeven_profile::profile::Profile;

use super::{compared, noisy, operation, profile, recorded, usual};

const MS: f64 = 1e6;

/// Five runs of twenty calls of 10 ms, `long` of which take 110 ms.
fn with_long_calls(long: usize) -> Profile {
    let mut operation = operation("f", &noisy(10.0 * MS, 0.01));
    for run in &mut operation.runs {
        let median = run.samples_ns[0];
        run.samples_ns = vec![median; 20];
        run.samples_ns[..long].fill(11.0 * median);
    }
    profile([operation, super::operation("g", &noisy(MS, 0.01))])
}

/// The mean doubled, and the comparison said "unchanged", of throughput too.
#[test]
fn two_of_twenty_calls_that_take_eleven_times_as_long() {
    let (fine, spiky) = (with_long_calls(0), with_long_calls(2));
    let found = usual(&fine, &spiky).unwrap();
    let f = &found.operations[0];
    assert_eq!(f.change_type, ChangeType::NoChange);
    let beside: Vec<_> = f.changed_beside().collect();
    assert_eq!(beside.len(), 1);
    assert_eq!(
        (&beside[0].metric, beside[0].change_type),
        (&Metric::MEAN, ChangeType::Regression)
    );
    assert!((beside[0].ratio.unwrap() - 2.0).abs() < 1e-6);
    assert_eq!(found.get_summary().changed_beside_count, 1);
    let mut text = Vec::new();
    found.page().text(100, false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("mean 10.0 ms to 20.0 ms, +100.0 %: worse"),
        "{text}"
    );
    // A gate fails only where that was asked for.
    assert_eq!(gate(&found, Policy::default()).outcome, Outcome::Passed);
    let strict = gate(
        &found,
        Policy {
            strict: true,
            ..Policy::default()
        },
    );
    assert_eq!(strict.outcome, Outcome::Failed);
    assert_eq!(
        strict.reasons[0].to_string(),
        "f on cpu: regression of its mean by +100.0 %"
    );
    assert!(matches!(strict.reasons[0], Reason::Beside { .. }));
    for metric in [
        Metric::MEAN,
        Metric::from("p95"),
        Metric::from("p99"),
        Metric::from("total"),
        Metric::from("throughput"),
    ] {
        let options = Options {
            metric: metric.clone(),
            ..Options::default()
        };
        let (fine, spiky) = (recorded(fine.clone()), recorded(spiky.clone()));
        let found = compared(&fine, &spiky, &options);
        let kinds: Vec<ChangeType> = found.operations.iter().map(|o| o.change_type).collect();
        assert_eq!(
            kinds,
            [ChangeType::Regression, ChangeType::NoChange],
            "{metric}"
        );
    }
}

#[test]
fn memory_that_tripled_is_listed_and_has_budgets() {
    let holding = |bytes| {
        let mut operation = operation("f", &noisy(MS, 0.01));
        operation.memory_bytes = Some(bytes);
        profile([operation])
    };
    let limits = |max: &str| {
        let text = format!("[[budget]]\noperation = \"f\"\nmax_memory = \"{max}\"\n");
        Options {
            limits: Limits::from_toml(&text).unwrap(),
            ..Options::default()
        }
    };
    let found = compared(&holding(1 << 20), &holding(3 << 20), &limits("2 MiB"));
    assert_eq!(found.operations[0].change_type, ChangeType::NoChange);
    let strict = gate(
        &found,
        Policy {
            strict: true,
            ..Policy::default()
        },
    );
    let texts: Vec<String> = strict.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "f on cpu: regression of its memory by +200.0 %",
            "f on cpu: memory of 3 MiB exceeds its budget of 2 MiB"
        ]
    );
    let held = compared(&holding(1 << 20), &holding(3 << 20), &limits("4 MiB"));
    assert_eq!(gate(&held, Policy::default()).outcome, Outcome::Passed);
    // Memory that nobody recorded is held by nothing, and does not pass for kept.
    let unreported = profile([operation("f", &noisy(MS, 0.01))]);
    let idle = compared(&unreported, &unreported, &limits("4 MiB"));
    assert_eq!(gate(&idle, Policy::default()).outcome, Outcome::Mismatched);
}

#[test]
fn three_runs_a_side_call_nothing_unless_the_noise_is_known() {
    let few = |ratio: f64| profile([operation("f", &noisy(ratio * MS, 0.01)[..3])]);
    let found = usual(&few(1.0), &few(2.0)).unwrap();
    let f = &found.operations[0];
    assert_eq!(f.change_type, ChangeType::Inconclusive);
    assert_eq!(f.judged.runs_needed, Some(4));
    assert!(f.is_suspected);
    let summary = found.get_summary();
    assert_eq!(
        (summary.suspected_count, summary.inconclusive_count),
        (1, 1)
    );
    assert!(summary.text().contains("1 may have changed: too few runs"));
    assert!(!usual(&few(1.0), &few(1.04)).unwrap().operations[0].is_suspected);
    // Six earlier profiles of a run each: the noise is theirs.
    let history = noisy(MS, 0.01).into_iter().chain([1_000_000]);
    let options = Options {
        history: history
            .map(|median| profile([operation("f", &[median])]))
            .collect(),
        ..Options::default()
    };
    for (ratio, verdict) in [(2.0, ChangeType::Regression), (1.0, ChangeType::NoChange)] {
        let found = compared(&few(1.0), &few(ratio), &options);
        assert_eq!(found.operations[0].change_type, verdict, "{ratio}");
        assert!(found.operations[0].judged.noise.unwrap() < 0.02);
    }
    // A history of something else says so, and calls nothing.
    let other = Options {
        history: vec![profile([operation("g", &noisy(MS, 0.01))])],
        ..Options::default()
    };
    let found = compared(&few(1.0), &few(2.0), &other);
    assert_eq!(found.operations[0].change_type, ChangeType::Inconclusive);
    assert_eq!(
        found.warnings[0].to_string(),
        "the history does not cover the noise of f on cpu"
    );
}

#[test]
fn what_all_operations_have_in_common_is_said_first() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let side = |ratio: f64, of_f: f64| {
        profile(names.map(|name| {
            let own = if name == "f" { of_f } else { 1.0 };
            operation(name, &noisy(own * ratio * MS, 0.01))
        }))
    };
    let found = usual(&side(1.0, 1.0), &side(1.2, 1.5)).unwrap();
    let shift = found.common_shift.unwrap();
    assert!((shift.ratio - 1.2).abs() < 1e-6);
    assert_eq!((shift.operations, shift.of), (6, 6));
    assert_eq!(found.get_summary().regressions_count, 6);
    let mut text = Vec::new();
    found.page().text(100, false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.starts_with("6 of 6 operations changed by about +20.0 %"),
        "{text}"
    );
    let relative = Options {
        relative_to_common_shift: true,
        ..Options::default()
    };
    let found = compared(&side(1.0, 1.0), &side(1.2, 1.5), &relative);
    let summary = found.get_summary();
    assert_eq!((summary.regressions_count, summary.no_change_count), (1, 5));
    assert!((found.operations[5].judged.ratio.unwrap() - 1.5).abs() < 1e-6);
    let f = &found.operations[5];
    for as_measured in [f.current_time_ms, f.judged.current_value] {
        assert!((as_measured.unwrap() - 1.8).abs() < 1e-6, "{as_measured:?}");
    }
    let mut text = Vec::new();
    found.page().text(100, false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("relative change"), "{text}");
    let plain = Options {
        plain_threshold: true,
        ..relative.clone()
    };
    // A plain threshold has no common shift: nothing was tested.
    let found = compared(&side(1.0, 1.0), &side(1.2, 1.5), &plain);
    assert!(!found.relative_to_common_shift);
    // One that changed alone is no shift, and there is nothing to be relative to.
    let one = compared(&side(1.0, 1.0), &side(1.0, 1.5), &relative);
    assert_eq!(
        (one.common_shift, one.relative_to_common_shift),
        (None, false)
    );
    assert_eq!(one.get_summary().regressions_count, 1);
}

#[test]
fn fractions_of_a_nanosecond_are_distinguished() {
    let side = |ns: f64| {
        let mut operation = operation("f", &[1; 5]);
        for (run, part) in operation.runs.iter_mut().zip(super::FIVE) {
            run.samples_ns = vec![ns * (0.01 * part).exp(); 9];
        }
        profile([operation])
    };
    for (before, after, ratio) in [(0.61, 0.90, 0.90 / 0.61), (3.4, 3.6, 3.6 / 3.4)] {
        let found = usual(&side(before), &side(after)).unwrap();
        let f = &found.operations[0];
        assert_eq!(f.change_type, ChangeType::Regression);
        assert!((f.judged.ratio.unwrap() - ratio).abs() < 1e-9, "{before}");
    }
}
