//! Memory, calls and throughput.

use breakeven_judge::compare::{Change, METRICS, Method, Metric, NotTested, Options};
use breakeven_judge::{ChangeType, OperationComparison};
use breakeven_profile::profile::{Operation, Run};

use super::{compared, judging, noisy, operation, profile, recorded};

/// An operation whose runs held this much memory.
fn holding(bytes: &[u64]) -> Operation {
    let mut operation = operation("f", &vec![1_000_000; bytes.len()]);
    for (run, bytes) in operation.runs.iter_mut().zip(bytes) {
        run.memory_bytes = Some(*bytes);
    }
    operation
}

fn memory(baseline: &[u64], current: &[u64], options: &Options) -> OperationComparison {
    let options = Options {
        metric: Metric::MEMORY,
        ..options.clone()
    };
    let (baseline, current) = (profile([holding(baseline)]), profile([holding(current)]));
    compared(&baseline, &current, &options).operations[0].clone()
}

#[test]
fn a_count_without_noise_is_held_against_the_threshold() {
    let usual = Options::default();
    for (current, verdict) in [
        (104, ChangeType::NoChange),
        (105, ChangeType::Regression),
        (95, ChangeType::Improvement),
        (100, ChangeType::NoChange),
        (0, ChangeType::Improvement),
    ] {
        let found = memory(&[100; 2], &[current; 2], &usual);
        assert_eq!(found.change_type, verdict, "{current}");
        assert_eq!(found.judged.method, Method::SameInEveryRun);
        assert_eq!(found.is_significant, current != 100);
        assert_eq!(found.judged.p_value, None);
    }
}

#[test]
fn from_zero_is_a_regression() {
    let found = memory(&[0; 2], &[64; 2], &Options::default());
    assert_eq!(found.change_type, ChangeType::Regression);
    assert_eq!(found.judged.ratio, None);
    assert_eq!(found.judged.change_text(), "from zero");
    let none = memory(&[0; 2], &[0; 2], &Options::default());
    assert_eq!(none.change_type, ChangeType::NoChange);
}

#[test]
fn one_run_of_a_count_reports_nothing_of_its_noise() {
    let found = memory(&[100], &[200], &Options::default());
    assert_eq!(found.judged.method, Method::NotTested(NotTested::FewRuns));
    let plain = Options {
        plain_threshold: true,
        ..Options::default()
    };
    let found = memory(&[100], &[200], &plain);
    assert_eq!(found.change_type, ChangeType::Regression);
}

#[test]
fn a_count_with_noise_is_tested() {
    let found = memory(
        &[100, 101, 99, 100],
        &[120, 121, 119, 120],
        &Options::default(),
    );
    assert_eq!(found.change_type, ChangeType::Regression);
    assert!(matches!(found.judged.method, Method::Test(_)));
    let found = memory(&[0, 100, 100, 100], &[100; 4], &Options::default());
    assert_eq!(
        found.judged.method,
        Method::NotTested(NotTested::ZeroAmongValues)
    );
    assert_eq!(found.change_type, ChangeType::Inconclusive);
}

#[test]
fn memory_that_is_not_reported() {
    let known = holding(&[100; 2]);
    let unknown = operation("g", &[1_000_000; 2]);
    let mut half = holding(&[100; 2]);
    half.name = "h".to_owned();
    let mut other_half = half.clone();
    other_half.runs[0].memory_bytes = None;
    let baseline = profile([known.clone(), unknown.clone(), half]);
    let current = profile([known, unknown, other_half]);
    let found = compared(&baseline, &current, &judging(Metric::MEMORY));
    let methods: Vec<Method> = found.operations.iter().map(|o| o.judged.method).collect();
    assert_eq!(
        methods,
        [
            Method::SameInEveryRun,
            Method::NotTested(NotTested::NoValues),
            Method::NotTested(NotTested::NoValue),
        ]
    );
    // What neither side reports is not against it.
    assert_eq!(found.get_summary().left_out_count, 1);
    assert_eq!(found.get_summary().inconclusive_count, 1);
}

#[test]
fn an_operations_memory_stands_for_runs_that_report_none() {
    let with = |bytes| {
        let mut operation = operation("f", &[1_000_000; 2]);
        operation.memory_bytes = Some(bytes);
        profile([operation])
    };
    let found = compared(&with(100), &with(200), &judging(Metric::MEMORY));
    assert_eq!(found.operations[0].change_type, ChangeType::Regression);
    assert_eq!(found.operations[0].judged.baseline_value, Some(100.0));
}

#[test]
fn memory_and_calls_stand_beside_the_time() {
    let mut more = holding(&[200; 2]);
    for run in &mut more.runs {
        run.samples_ns = vec![1e6; 18];
    }
    let found = compared(
        &recorded(profile([holding(&[100; 2])])),
        &recorded(profile([more])),
        &Options::default(),
    );
    let found = &found.operations[0];
    let texts: Vec<String> = found.changed_beside().map(Change::beside_text).collect();
    assert_eq!(
        texts,
        [
            "memory 100 B to 200 B, +100.0 %: worse",
            "calls 9 to 18, +100.0 %: worse"
        ]
    );
}

#[test]
fn calls() {
    let with = |calls: usize| {
        let mut operation = Operation::new("f", "cpu");
        operation.runs = vec![
            Run {
                samples_ns: vec![1e6; calls],
                ..Run::default()
            };
            2
        ];
        recorded(profile([operation]))
    };
    let found = compared(&with(100), &with(120), &judging(Metric::CALLS));
    assert_eq!(found.operations[0].change_type, ChangeType::Regression);
    assert_eq!(found.operations[0].judged.current_value, Some(120.0));
}

#[test]
fn less_throughput_is_worse() {
    let with = |median_ns: f64, items| {
        let mut operation = operation("f", &noisy(median_ns, 0.01));
        operation.items = items;
        profile([operation])
    };
    let judge = |baseline, current| {
        compared(&baseline, &current, &judging(Metric::from("throughput"))).operations[0].clone()
    };
    let slower = judge(with(1e6, None), with(1.2e6, None));
    assert_eq!(slower.change_type, ChangeType::Regression);
    assert!((slower.judged.baseline_value.unwrap() - 1000.0).abs() < 0.1);
    assert!((slower.judged.ratio.unwrap() - 1.0 / 1.2).abs() < 1e-5);
    // Slower by a fifth, and half as much again in a call.
    let more = judge(with(1e6, Some(10)), with(1.2e6, Some(15)));
    assert_eq!(more.change_type, ChangeType::Improvement);
    // Items against calls would be no comparison.
    let half_reported = judge(with(1e6, Some(10)), with(1e6, None));
    assert_eq!(half_reported.change_type, ChangeType::NoChange);
    assert!((half_reported.judged.baseline_value.unwrap() - 1000.0).abs() < 0.1);
    let nothing = judge(with(1e6, Some(0)), with(1e6, Some(10)));
    assert_eq!(nothing.change_type, ChangeType::NoChange);
}

#[test]
fn what_was_not_timed_is_judged_by_its_memory_and_not_by_time() {
    let untimed = |bytes: u64| {
        let mut untimed = holding(&[bytes; 4]);
        (untimed.runs.iter_mut()).for_each(|run| run.samples_ns.clear());
        untimed.name = "m".to_owned();
        profile([operation("f", &[1_000_000; 4]), untimed])
    };
    let (baseline, current) = (untimed(100), untimed(200));
    let by_memory = compared(&baseline, &current, &judging(Metric::MEMORY));
    let found = by_memory
        .operations
        .iter()
        .find(|each| each.key.name == "m");
    assert_eq!(
        found.map(|each| each.change_type),
        Some(ChangeType::Regression)
    );
    for metric in [Metric::TIME, Metric::MEAN, Metric::from("throughput")] {
        let by_time = compared(&baseline, &current, &judging(metric));
        let found = by_time.operations.iter().find(|each| each.key.name == "m");
        let method = found.map(|each| each.judged.method);
        assert_eq!(method, Some(Method::NotTested(NotTested::NoValues)));
    }
}

/// The documentation of the option, here and in Python, names each metric.
#[test]
fn every_metric_is_documented() {
    for document in [
        "docs/judging.md",
        "crates/breakeven-python/python/breakeven/_compare.py",
    ] {
        let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for known in &METRICS {
            assert!(
                text.contains(known.names[0]),
                "{} in {document}",
                known.names[0]
            );
        }
    }
}
