//! The verdict on the whole.

use breakeven_judge::compare::{Metric, Options};
use breakeven_judge::gate::{Reason, hold_budgets};
use breakeven_judge::{Limits, Outcome, Policy, ProfilerComparison, Threshold, Verdict, gate};
use breakeven_profile::profile::{Environment, Operation, Profile, RecorderCost};

use super::{compared, judging, noisy, operation, profile};

const STRICT: Policy = Policy {
    allow_missing: false,
    require_decided: true,
    strict: false,
};

const LENIENT: Policy = Policy {
    allow_missing: true,
    require_decided: false,
    strict: false,
};

fn steady(name: &str, ratio: f64) -> Operation {
    operation(name, &noisy(ratio * 1e6, 0.01))
}

fn unsteady(name: &str) -> Operation {
    operation(name, &noisy(1e6, 0.3))
}

fn failed(name: &str) -> Operation {
    operation(name, &[])
}

fn comparison(
    baseline: impl IntoIterator<Item = Operation>,
    current: impl IntoIterator<Item = Operation>,
) -> ProfilerComparison {
    compared(&profile(baseline), &profile(current), &Options::default())
}

fn texts(verdict: &Verdict) -> Vec<String> {
    verdict.reasons.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_worse_passes() {
    let found = comparison(
        [steady("f", 1.0), steady("g", 1.0)],
        [steady("f", 1.0), steady("g", 0.5), steady("new", 1.0)],
    );
    let verdict = gate(&found, STRICT);
    assert_eq!(verdict.outcome, Outcome::Passed);
    assert_eq!(verdict.reasons, []);
}

#[test]
fn each_reason_alone() {
    for (baseline, current, outcome, text) in [
        (
            vec![steady("f", 1.0)],
            vec![steady("f", 1.2)],
            Outcome::Failed,
            "f on cpu: regression by +20.0 %",
        ),
        (
            vec![steady("f", 1.0), steady("g", 1.0)],
            vec![steady("f", 1.0), failed("g")],
            Outcome::Failed,
            "g on cpu: failed",
        ),
        (
            vec![steady("f", 1.0), steady("g", 1.0)],
            vec![steady("f", 1.0)],
            Outcome::Mismatched,
            "g on cpu: missing on the current side",
        ),
        (
            vec![steady("f", 1.0), unsteady("g")],
            vec![steady("f", 1.0), unsteady("g")],
            Outcome::Inconclusive,
            "g on cpu: inconclusive; about 300 runs per side would be needed",
        ),
        (
            vec![steady("f", 1.0), failed("g")],
            vec![steady("f", 1.0), failed("g")],
            Outcome::Failed,
            "g on cpu: failed",
        ),
        (
            vec![steady("f", 1.0), failed("g")],
            vec![steady("f", 1.0), steady("g", 1.0)],
            Outcome::Inconclusive,
            "g on cpu: inconclusive",
        ),
    ] {
        let found = comparison(baseline, current);
        let verdict = gate(&found, STRICT);
        assert_eq!(texts(&verdict), [text]);
        assert_eq!(verdict.outcome, outcome, "{text}");
        let let_pass = matches!(outcome, Outcome::Inconclusive | Outcome::Mismatched);
        let passed = gate(&found, LENIENT).outcome == Outcome::Passed;
        assert_eq!(passed, let_pass, "{text}");
    }
}

#[test]
fn a_failure_goes_before_a_mismatch_before_the_unknown() {
    let baseline = || {
        vec![
            unsteady("unknown"),
            steady("gone", 1.0),
            steady("worse", 1.0),
        ]
    };
    let outcome = |current| gate(&comparison(baseline(), current), STRICT);
    let all = outcome(vec![unsteady("unknown"), steady("worse", 1.2)]);
    assert_eq!(all.outcome, Outcome::Failed);
    let outcomes: Vec<Outcome> = all.reasons.iter().map(Reason::outcome).collect();
    assert_eq!(
        outcomes,
        [Outcome::Failed, Outcome::Mismatched, Outcome::Inconclusive]
    );
    let two = outcome(vec![unsteady("unknown"), steady("worse", 1.0)]);
    assert_eq!(two.outcome, Outcome::Mismatched);
    let one = outcome(vec![
        unsteady("unknown"),
        steady("gone", 1.0),
        steady("worse", 1.0),
    ]);
    assert_eq!(one.outcome, Outcome::Inconclusive);
}

#[test]
fn a_gate_passes_what_is_decided_and_says_how_much_is_not() {
    let both = [steady("f", 1.0), unsteady("g"), unsteady("h")];
    let found = comparison(both.clone(), both);
    let passed = gate(&found, Policy::default());
    assert_eq!(
        (passed.outcome, &passed.reasons[..]),
        (Outcome::Passed, &[][..])
    );
    assert_eq!(passed.undecided.len(), 2);
    let all = gate(&found, STRICT);
    assert_eq!((all.outcome, all.reasons.len()), (Outcome::Inconclusive, 2));
    assert_eq!(all.undecided, []);
    // Where not one is decided, nothing was judged.
    let found = comparison([unsteady("g")], [unsteady("g")]);
    assert_eq!(
        gate(&found, Policy::default()).outcome,
        Outcome::Inconclusive
    );
    let few = |name| operation(name, &noisy(1e6, 0.01)[..3]);
    let found = comparison([few("f"), few("g")], [few("f"), few("g")]);
    assert_eq!(
        gate(&found, Policy::default()).outcome,
        Outcome::Inconclusive
    );
    assert_eq!(found.undecided_text(), None);
}

#[test]
fn the_threshold_that_is_named_decides() {
    let both = [
        steady("f", 1.0),
        unsteady("g"),
        operation("h", &noisy(1e6, 0.1)),
    ];
    let found = comparison(both.clone(), both.clone());
    let text = found.undecided_text().unwrap();
    insta::assert_snapshot!(text, @"2 of 3 operations undecided: runs differ by up to 28.9 %. These runs decide at a threshold of 51.7 %, which hides smaller changes. At 5.0 %, about 300 runs per side would be needed");
    let percent = text.split("threshold of ").nth(1).unwrap();
    let percent: f64 = percent.split(' ').next().unwrap().parse().unwrap();
    let at = |percent: f64| {
        let options = Options {
            threshold: Threshold::percent(percent).unwrap(),
            ..Options::default()
        };
        let both = profile(both.clone());
        compared(&both, &both, &options)
            .get_summary()
            .inconclusive_count
    };
    assert_eq!((at(percent), at(percent - 0.2)), (0, 1));
}

/// One call of ten became five times as long: the mean is 40 % more, no median is.
#[test]
fn a_mean_that_moved_alone_is_undecided() {
    let with = |long: usize| {
        let mut operation = steady("f", 1.0);
        for run in &mut operation.runs {
            let median = run.samples_ns[0];
            run.samples_ns = vec![median; 10];
            run.samples_ns[..long].fill(5.0 * median);
        }
        operation
    };
    let found = comparison([with(0)], [with(1)]);
    let verdict = gate(&found, Policy::default());
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    insta::assert_snapshot!(texts(&verdict).join("\n"), @"f on cpu: inconclusive; the mean became worse by +40.0 %, which the medians do not show: a few calls take much longer");
    let among = comparison([with(0), steady("g", 1.0)], [with(1), steady("g", 1.0)]);
    let verdict = gate(&among, Policy::default());
    assert_eq!(
        (verdict.outcome, verdict.undecided.len()),
        (Outcome::Passed, 1)
    );
    assert_eq!(gate(&among, STRICT).outcome, Outcome::Inconclusive);
    let strict = Policy {
        strict: true,
        ..Policy::default()
    };
    assert_eq!(gate(&found, strict).outcome, Outcome::Failed);
    // A mean that fell leaves nothing to fear.
    let fell = comparison([with(1)], [with(0)]);
    assert_eq!(gate(&fell, Policy::default()).outcome, Outcome::Passed);
}

/// "regression by −20.0 %" reads as better.
#[test]
fn a_throughput_that_fell_is_lower() {
    let sides = [steady("f", 1.0), steady("f", 1.25)].map(|operation| profile([operation]));
    let found = compared(&sides[0], &sides[1], &judging(Metric::from("throughput")));
    assert_eq!(
        texts(&gate(&found, STRICT)),
        ["f on cpu: regression, 20.0 % lower"]
    );
}

/// `f` within, near and over its budget, by its mean of 1 ms.
#[test]
fn budgets() {
    let with = |text: &str, current: Profile| {
        let options = Options {
            limits: Limits::from_toml(text).unwrap(),
            ..Options::default()
        };
        let found = compared(&profile([steady("f", 1.0)]), &current, &options);
        (gate(&found, STRICT), hold_budgets(&found))
    };
    let fine = || profile([steady("f", 1.0)]);
    let budget = |max: &str| format!("[[budget]]\noperation = \"f\"\nmax = \"{max}\"\n");
    let (passed, _) = with(&budget("1.1 ms"), fine());
    assert_eq!(passed.outcome, Outcome::Passed);
    let (over, alone) = with(&budget("900 us"), fine());
    assert_eq!(over.outcome, Outcome::Failed);
    assert_eq!(over, alone);
    assert_eq!(
        texts(&over),
        ["f on cpu: mean of 1.00 ms exceeds its budget of 900 µs"]
    );
    let (idle, alone) = with("[[budget]]\noperation = \"nope\"\nmax = \"2 ms\"\n", fine());
    assert_eq!(idle.outcome, Outcome::Mismatched);
    assert_eq!(idle, alone);
    assert_eq!(
        texts(&idle),
        ["the limit of \"nope\" applies to no operation: there is no such operation"]
    );
    let (idle, _) = with(
        "[[budget]]\noperation = \"f\"\nmax = \"2 ms\"\n",
        profile([failed("f")]),
    );
    assert_eq!(idle.outcome, Outcome::Failed);
    assert_eq!(
        texts(&idle),
        [
            "f on cpu: failed",
            "the limit of \"f\" applies to no operation: the operation failed"
        ]
    );
}

#[test]
fn a_relative_limit_needs_both_sides() {
    let options = |operation: &str| Options {
        limits: Limits::from_toml(&format!(
            "[[budget]]\noperation = \"{operation}\"\nmax_increase = 0.3\n"
        ))
        .unwrap(),
        ..Options::default()
    };
    let baseline = profile([steady("f", 1.0)]);
    let current = profile([steady("f", 1.2), steady("new", 1.0)]);
    let outcome = |operation| gate(&compared(&baseline, &current, &options(operation)), STRICT);
    assert_eq!(outcome("f").outcome, Outcome::Passed);
    // The limit is the other's, so `f` is a regression.
    let idle = outcome("new");
    assert_eq!(idle.outcome, Outcome::Failed);
    assert_eq!(idle.reasons.len(), 2);
}

#[test]
fn what_is_left_out_neither_passes_nor_fails() {
    let with_memory = || {
        let mut operation = steady("f", 1.0);
        operation.memory_bytes = Some(64);
        operation
    };
    let both = || profile([with_memory(), steady("g", 1.0)]);
    let found = compared(&both(), &both(), &judging(Metric::MEMORY));
    assert_eq!(gate(&found, STRICT).outcome, Outcome::Passed);
}

#[test]
fn nothing_judged_is_no_pass() {
    let both = || Profile {
        environment: Environment {
            recorder: Some(RecorderCost {
                guard_ns: 80.0,
                inside_ns: 60.0,
            }),
            ..Environment::default()
        },
        ..profile([operation("f", &[80; 5])])
    };
    let verdict = gate(&compared(&both(), &both(), &Options::default()), STRICT);
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert_eq!(texts(&verdict), ["no operation was judged"]);
}
