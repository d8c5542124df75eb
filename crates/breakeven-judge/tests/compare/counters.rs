//! Counters of a profile, and what is no verdict: how often a benchmark tool repeats.

use breakeven_judge::compare::{Method, Metric, NotTested, Options};
use breakeven_judge::{ChangeType, Outcome, Policy, gate};
use breakeven_profile::profile::{Counter, Profile};

use super::{compared, judging, noisy, operation, profile, recorded, usual, verdicts};

const STRICT: Policy = Policy {
    allow_missing: false,
    require_decided: false,
    strict: true,
};

/// Five runs of `f` that take the same time, each with this value of a counter.
fn counted(name: &str, unit: &str, higher_is_better: bool, values: &[f64; 5]) -> Profile {
    let mut operation = operation("f", &noisy(1e6, 0.01));
    let unit = unit.to_owned();
    let counter = Counter {
        unit,
        higher_is_better,
    };
    operation.counters.insert(name.to_owned(), counter);
    for (run, value) in operation.runs.iter_mut().zip(values) {
        run.counters.insert(name.to_owned(), *value);
    }
    profile([operation])
}

#[test]
fn a_counter_is_judged_by_its_name_and_direction() {
    for (higher_is_better, verdict) in [
        (false, ChangeType::Regression),
        (true, ChangeType::Improvement),
    ] {
        let of = |value: f64| counted("rate", "MB/s", higher_is_better, &[value; 5]);
        let found = compared(&of(80.0), &of(160.0), &judging(Metric::from("rate")));
        assert_eq!(verdicts(&found), [("f", verdict)]);
        let judged = &found.operations[0].judged;
        assert_eq!(judged.metric.text(80.5), "80.5 MB/s");
        assert_eq!(serde_json::to_value(judged).unwrap()["metric"], "rate");
    }
    let noisy = |scale: f64| {
        counted(
            "misses",
            "",
            false,
            &[1.0, 1.01, 0.99, 1.02, 0.98].map(|part| part * scale),
        )
    };
    let found = compared(&noisy(5.0), &noisy(6.0), &judging(Metric::from("misses")));
    assert_eq!(verdicts(&found), [("f", ChangeType::Regression)]);
    assert!(found.operations[0].judged.p_value.is_some());
}

#[test]
fn counters_in_other_units_or_below_zero_are_not_compared() {
    let judged = |before: &Profile, after: &Profile| {
        let side = |one: &Profile| {
            let mut fine = counted("heap", "B", false, &[8.0; 5]).operations.remove(0);
            fine.name = "other".to_owned();
            let mut one = one.clone();
            one.operations.push(fine);
            one
        };
        let options = judging(Metric::from("heap"));
        compared(&side(before), &side(after), &options).operations[0]
            .judged
            .clone()
    };
    let (bytes, kilobytes) = (
        counted("heap", "B", false, &[2048.0; 5]),
        counted("heap", "KiB", false, &[2.0; 5]),
    );
    let found = judged(&bytes, &kilobytes);
    assert_eq!(found.method, Method::NotTested(NotTested::NoValue));
    let found = judged(&bytes, &counted("heap", "B", false, &[-1.0; 5]));
    assert_eq!(found.method, Method::NotTested(NotTested::NoValue));
    let text = breakeven_judge::compare(
        std::slice::from_ref(&bytes),
        std::slice::from_ref(&bytes),
        &judging(Metric::from("heaps")),
    );
    assert_eq!(
        text.unwrap_err().to_string(),
        "no operation has heaps on both sides: f on cpu lacks it in the baseline and on the \
         current side; judge another metric, or measure with it recorded (there are time, \
         median, mean, p95, p99, total, memory, energy, calls, throughput, and the counters of the profiles)"
    );
}

#[test]
fn strict_fails_on_allocations_as_on_memory() {
    let of = |count: f64| counted("allocations", "", false, &[count; 5]);
    let found = usual(&of(2.0), &of(200.0)).unwrap();
    assert_eq!(gate(&found, Policy::default()).outcome, Outcome::Passed);
    let strict = gate(&found, STRICT);
    assert_eq!(strict.outcome, Outcome::Failed);
    assert_eq!(
        strict.reasons[0].to_string(),
        "f on cpu: regression of its allocations by +9900.0 %"
    );
    // Any other counter is judged where it is asked for.
    let of = |count: f64| counted("branches", "", false, &[count; 5]);
    let found = usual(&of(2.0), &of(200.0)).unwrap();
    assert_eq!(gate(&found, STRICT).outcome, Outcome::Passed);
}

/// Twice as fast, so a benchmark tool repeats it twice as often.
#[test]
fn how_often_a_benchmark_tool_repeats_is_no_verdict() {
    let repeated = |ns: f64, calls: usize| {
        let mut operation = operation("f", &noisy(ns, 0.01));
        for run in &mut operation.runs {
            run.samples_ns = vec![run.samples_ns[0]; calls];
        }
        profile([operation])
    };
    let (before, after) = (repeated(2e6, 20), repeated(1e6, 40));
    let found = usual(&before, &after).unwrap();
    assert_eq!(verdicts(&found), [("f", ChangeType::Improvement)]);
    assert_eq!(gate(&found, STRICT).outcome, Outcome::Passed);
    for metric in [Metric::CALLS, Metric::from("total")] {
        let side = std::slice::from_ref::<Profile>;
        let refused = breakeven_judge::compare(side(&before), side(&after), &judging(metric));
        let text = refused.unwrap_err().to_string();
        assert!(
            text.ends_with("by the recorder: how often a benchmark tool repeats is its own choice"),
            "{text}"
        );
    }
    // In a program's own recording twice the calls are the program's.
    let found = usual(&recorded(before), &recorded(after)).unwrap();
    assert_eq!(gate(&found, STRICT).outcome, Outcome::Failed);
}

/// A benchmark that no longer runs leaves its old file, which was copied for every run.
#[test]
fn copies_of_one_measurement_are_one_run() {
    let stale = || {
        let mut operation = operation("stale", &[1_000_000; 5]);
        for run in &mut operation.runs {
            run.samples_ns = vec![1e6, 1.01e6, 0.99e6];
        }
        operation
    };
    let alone = profile([stale()]);
    let found = usual(&alone, &alone).unwrap();
    let judged = &found.operations[0];
    assert_eq!(judged.judged.method, Method::NotTested(NotTested::FewRuns));
    assert_eq!((judged.baseline_runs, judged.current_runs), (1, 1));
    assert_eq!(
        gate(&found, Policy::default()).outcome,
        Outcome::Inconclusive
    );
    let warned = |found: &breakeven_judge::ProfilerComparison| {
        let texts: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
        texts.iter().any(|text| {
            text.starts_with(
                "runs have the same samples on the baseline and the current side of stale on cpu: ",
            )
        })
    };
    assert!(warned(&found), "{:?}", found.warnings);
    // Among others the gate passes for what these show, and says that one is undecided.
    let fine = || operation("fine", &noisy(1e6, 0.01));
    let both = profile([stale(), fine()]);
    let verdict = gate(&usual(&both, &both).unwrap(), Policy::default());
    assert_eq!(verdict.outcome, Outcome::Passed);
    assert_eq!(verdict.undecided.len(), 1);
    // Equal values inside a run are what a coarse clock has.
    let coarse = profile([operation("f", &[1_000_000; 5])]);
    let found = compared(&coarse, &coarse, &Options::default());
    assert_eq!(found.operations[0].baseline_runs, 5);
}

/// Some of the files of a side were copied from another one.
#[test]
fn copies_count_once_whichever_and_however_many_they_are() {
    let side = |base: f64, copies: &[usize]| {
        let mut operation = operation("f", &[1_000_000; 6]);
        for (at, run) in operation.runs.iter_mut().enumerate() {
            let at = if copies.contains(&at) { copies[0] } else { at };
            let shift = 1.0 + at as f64 / 1e3;
            run.samples_ns = [1.0, 1.012, 0.997, 1.004, 1.001]
                .map(|x| base * x * shift)
                .into();
        }
        profile([operation])
    };
    for (copies, count) in [
        (&[0, 1, 2, 3, 4][..], 2),
        (&[1, 5], 5),
        (&[2, 3, 4], 4),
        (&[], 6),
    ] {
        let found = usual(&side(1e6, &[]), &side(1.3e6, copies)).unwrap();
        let judged = &found.operations[0];
        let runs = (judged.baseline_runs, judged.current_runs);
        assert_eq!(runs, (6, count), "{copies:?}");
        let warned = found.warnings.iter().any(|warning| {
            let text = warning.to_string();
            text.starts_with("runs have the same samples on the current side of f on cpu: ")
        });
        assert_eq!(warned, count < 6, "{copies:?}");
    }
    // A few values of a coarse clock come back by chance.
    let mut operation = operation("f", &[1_000_000; 6]);
    for (at, run) in operation.runs.iter_mut().enumerate() {
        run.samples_ns = vec![40.0; 20];
        run.samples_ns[at / 2] = 41.0;
    }
    let coarse = profile([operation]);
    let found = compared(&coarse, &coarse, &Options::default());
    assert_eq!(found.operations[0].baseline_runs, 6);
}
