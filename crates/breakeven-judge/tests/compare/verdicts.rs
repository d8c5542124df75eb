//! Every verdict, from profiles whose noise is known.

use breakeven_judge::compare::{Method, Metric, NotTested, Options};
use breakeven_judge::{ChangeType, Limits, RelativeLimit, Scope, compare};
use breakeven_profile::profile::{Failure, Run};
use breakeven_profile::stats::Moments;
use breakeven_stats::LogRatioMethod;

use super::{compared, noisy, one, operation, profile, recorded, usual, verdicts};

const MS: f64 = 1e6;

#[test]
fn five_runs_a_side() {
    // Between-run deviation, true ratio, verdict.
    for (deviation, ratio, verdict) in [
        (0.01, 1.10, ChangeType::Regression),
        (0.01, 0.90, ChangeType::Improvement),
        (0.01, 1.00, ChangeType::NoChange),
        (0.01, 1.02, ChangeType::NoChange),
        // The error of the ratio is 0.063: 10 % is nothing to be sure of.
        (0.10, 1.10, ChangeType::Inconclusive),
        (0.10, 1.00, ChangeType::Inconclusive),
        (0.10, 1.50, ChangeType::Regression),
        // Surely slower, but is it 5 %?
        (0.01, 1.045, ChangeType::Inconclusive),
    ] {
        let (baseline, current) = (noisy(MS, deviation), noisy(MS * ratio, deviation));
        let found = one(&baseline, &current, &Options::default());
        assert_eq!(found.change_type, verdict, "{deviation} {ratio}: {found:?}");
        assert!(matches!(
            found.judged.method,
            Method::Test(LogRatioMethod::Welch { .. })
        ));
        assert!((found.judged.ratio.unwrap() - ratio).abs() < 1e-5);
        assert!((found.judged.noise.unwrap() - deviation).abs() < 1e-4);
        let effect = ratio.ln() / deviation;
        assert!(
            (found.judged.effect.unwrap() - effect).abs() < 0.02,
            "{found:?}"
        );
        let needed = found.judged.runs_needed.is_some();
        assert_eq!(needed, verdict == ChangeType::Inconclusive, "{found:?}");
    }
}

#[test]
fn figures_of_a_row() {
    let found = one(&[1_000_000; 5], &[1_250_000; 5], &Options::default());
    assert_eq!(found.change_type, ChangeType::Regression);
    assert_eq!(found.baseline_time_ms, Some(1.0));
    assert_eq!(found.current_time_ms, Some(1.25));
    assert_eq!(found.change_ms, Some(0.25));
    assert_eq!(found.change_percent, Some(25.0));
    assert_eq!((found.baseline_runs, found.current_runs), (5, 5));
    // No run differs from another: no noise, so no effect in units of it.
    assert_eq!((found.judged.noise, found.judged.effect), (Some(0.0), None));
    assert_eq!(
        found.judged.method,
        Method::Test(LogRatioMethod::Permutation)
    );
    // 2 of the 252 ways to choose five of ten.
    assert!((found.judged.p_value.unwrap() - 2.0 / 252.0).abs() < 1e-12);
    assert!(found.is_significant);
}

#[test]
fn no_spread_in_two_runs_is_no_certainty() {
    let found = one(&[1_000_000; 2], &[1_250_000; 2], &Options::default());
    assert_eq!(found.change_type, ChangeType::Inconclusive);
    assert_eq!(found.judged.runs_needed, Some(4));
    assert_eq!(found.judged.interval, None);
}

#[test]
fn a_median_is_taken_inside_a_run() {
    let mut spiky = operation("f", &noisy(MS, 0.01));
    for run in &mut spiky.runs {
        run.samples_ns[0] = 900.0 * MS;
    }
    let calm = profile([operation("f", &noisy(MS, 0.01))]);
    let found = usual(&calm, &profile([spiky])).unwrap();
    assert_eq!(verdicts(&found), [("f", ChangeType::NoChange)]);
}

#[test]
fn a_reservoir_is_judged_by_what_it_kept() {
    let mut kept = operation("f", &noisy(MS, 0.01));
    for run in &mut kept.runs {
        run.moments = Some(Moments::of(&[1.0, 9e9]).unwrap());
    }
    let all = recorded(profile([operation("f", &noisy(MS, 0.01))]));
    let found = usual(&all, &recorded(profile([kept]))).unwrap();
    assert_eq!(verdicts(&found), [("f", ChangeType::NoChange)]);
    let mut beside = found.operations[0].beside.iter();
    let calls = beside.find(|each| each.metric == Metric::CALLS).unwrap();
    assert_eq!(
        (calls.baseline_value, calls.current_value),
        (Some(9.0), Some(2.0))
    );
}

#[test]
fn one_run_a_side() {
    let found = one(&[1_000_000], &[2_000_000], &Options::default());
    assert_eq!(found.change_type, ChangeType::Inconclusive);
    assert_eq!(found.judged.method, Method::NotTested(NotTested::FewRuns));
    assert_eq!(found.judged.ratio, Some(2.0));
    assert_eq!((found.judged.interval, found.judged.p_value), (None, None));
    // One against five is no better: the noise may differ.
    let found = one(&[1_000_000], &noisy(2.0 * MS, 0.01), &Options::default());
    assert_eq!(found.judged.method, Method::NotTested(NotTested::FewRuns));
}

#[test]
fn the_plain_threshold_by_name() {
    let options = Options {
        plain_threshold: true,
        ..Options::default()
    };
    for (current, verdict) in [
        (1_050_000, ChangeType::Regression),
        (1_049_000, ChangeType::NoChange),
        (952_000, ChangeType::Improvement),
        (1_000_000, ChangeType::NoChange),
    ] {
        let found = one(&[1_000_000], &[current], &options);
        assert_eq!(found.change_type, verdict, "{current}");
        assert_eq!(found.judged.method, Method::PlainThreshold);
        assert!(!found.is_significant, "nothing was tested");
    }
}

#[test]
fn new_and_removed() {
    let f = || operation("f", &noisy(MS, 0.01));
    let baseline = profile([operation("old", &noisy(MS, 0.01)), f()]);
    let current = profile([operation("new", &noisy(MS, 0.01)), f()]);
    let found = usual(&baseline, &current).unwrap();
    assert_eq!(
        verdicts(&found),
        [
            ("old", ChangeType::Removed),
            ("f", ChangeType::NoChange),
            ("new", ChangeType::New)
        ]
    );
    assert_eq!(found.operations[0].current_time_ms, None);
    assert_eq!(found.operations[2].baseline_time_ms, None);
    let summary = found.get_summary();
    assert_eq!((summary.new_count, summary.removed_count), (1, 1));
}

#[test]
fn device_and_size_distinguish_operations() {
    let mut large = operation("f", &noisy(MS, 0.01));
    large.size = Some(2);
    let mut gpu = operation("f", &noisy(MS, 0.01));
    gpu.device = "cuda:0".to_owned();
    let small = operation("f", &noisy(MS, 0.01));
    let all = profile([small.clone(), large, gpu]);
    let found = usual(&profile([small]), &all).unwrap();
    let kinds: Vec<ChangeType> = found.operations.iter().map(|o| o.change_type).collect();
    assert_eq!(
        kinds,
        [ChangeType::NoChange, ChangeType::New, ChangeType::New]
    );
}

#[test]
fn several_files_a_side_are_put_together() {
    let files = |median: f64| -> Vec<_> {
        let medians = noisy(median, 0.01).into_iter();
        medians
            .map(|median| profile([operation("f", &[median])]))
            .collect()
    };
    let found = compare(&files(MS), &files(1.1 * MS), &Options::default()).unwrap();
    let whole = one(
        &noisy(MS, 0.01),
        &noisy(1.1 * MS, 0.01),
        &Options::default(),
    );
    assert_eq!(found.operations, [whole]);
}

#[test]
fn correction_is_over_all_operations() {
    // With the noise of five operations known, p is 0.02 or so.
    let mut pairs = vec![(
        operation("f", &noisy(MS, 0.05)),
        operation("f", &noisy(1.07 * MS, 0.05)),
    )];
    for index in 0..4 {
        let same = operation(&format!("same{index}"), &noisy(MS, 0.05));
        pairs.push((same.clone(), same));
    }
    let (baseline, current): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let (baseline, current) = (profile(baseline), profile(current));
    let found = compared(&baseline, &current, &Options::default()).operations[0].clone();
    assert_eq!(found.change_type, ChangeType::Inconclusive);
    let p = found.judged.p_value.unwrap();
    assert!((0.011..0.04).contains(&p), "{found:?}");
    assert!((found.judged.adjusted_p_value.unwrap() - 5.0 * p).abs() < 1e-12);
}

#[test]
fn a_limit_of_its_own_takes_the_place_of_the_threshold() {
    let limits = Limits {
        increases: vec![RelativeLimit {
            scope: Scope {
                operation: "f".to_owned(),
                device: None,
                size: None,
            },
            max_increase: 0.5,
        }],
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..Options::default()
    };
    let found = one(&noisy(MS, 0.01), &noisy(1.2 * MS, 0.01), &options);
    assert_eq!(found.change_type, ChangeType::NoChange);
    assert_eq!(found.judged.threshold, 0.5);
}

#[test]
fn what_failed_is_not_judged() {
    let mut failed = operation("f", &noisy(MS, 0.01));
    failed.failure = Some(Failure {
        kind: "crash".to_owned(),
        message: "signal 11".to_owned(),
    });
    let fine = operation("f", &noisy(MS, 0.01));
    for (baseline, current, fails) in [
        (&fine, &failed, true),
        (&failed, &fine, false),
        (&failed, &failed, true),
    ] {
        let side = |operation: &_| profile([Clone::clone(operation)]);
        let found = usual(&side(baseline), &side(current)).unwrap();
        let found = &found.operations[0];
        assert_eq!(found.change_type, ChangeType::Inconclusive);
        assert_eq!(found.judged.method, Method::NotTested(NotTested::Failed));
        assert_eq!(found.failed, fails);
    }
    // Without samples it failed too, whether it says so or not.
    let mut empty = operation("f", &[]);
    empty.runs.push(Run::default());
    let found = usual(&profile([fine]), &profile([empty])).unwrap();
    assert!(found.operations[0].failed);
}

#[test]
fn the_largest_change_comes_first() {
    let of = |ratios: [f64; 4]| {
        profile(
            ["a", "b", "c", "d"]
                .iter()
                .zip(ratios)
                .map(|(name, ratio)| operation(name, &noisy(ratio * MS, 0.01))),
        )
    };
    let found = usual(&of([1.0; 4]), &of([1.2, 1.4, 0.5, 0.8])).unwrap();
    let names = |operations: Vec<&breakeven_judge::OperationComparison>| -> Vec<String> {
        operations.iter().map(|o| o.key.name.clone()).collect()
    };
    assert_eq!(names(found.get_regressions(9)), ["b", "a"]);
    assert_eq!(names(found.get_regressions(1)), ["b"]);
    assert_eq!(names(found.get_improvements(9)), ["c", "d"]);
    assert_eq!(names(found.by_weight()), ["b", "a", "c", "d"]);
    let summary = found.get_summary();
    assert_eq!(
        (summary.regressions_count, summary.improvements_count),
        (2, 2)
    );
}
