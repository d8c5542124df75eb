//! Several profiles made into one.

use breakeven_profile::file;
use breakeven_profile::profile::{
    Counter, Cpu, Environment, Executions, Failure, Fallback, Gpu, JoinError, LoadRecord,
    Operation, Peak, Profile, Run, Stack, Timeline,
};

fn operation(name: &str, samples_ns: &[f64]) -> Operation {
    let mut operation = Operation::new(name, "cpu");
    operation.runs.push(Run {
        samples_ns: samples_ns.to_vec(),
        ..Run::default()
    });
    operation
}

fn profile(operations: impl IntoIterator<Item = Operation>) -> Profile {
    Profile {
        operations: operations.into_iter().collect(),
        ..Profile::default()
    }
}

fn on(environment: Environment) -> Profile {
    Profile {
        environment,
        ..profile([operation("f", &[1.0])])
    }
}

#[test]
fn runs_stay_apart_and_in_order() {
    let mut other_size = operation("f", &[9.0]);
    other_size.size = Some(2);
    let joined = Profile::join([
        profile([operation("f", &[1.0, 2.0]), operation("g", &[3.0])]),
        profile([other_size, operation("f", &[4.0])]),
        profile([operation("h", &[5.0]), operation("f", &[6.0])]),
    ])
    .unwrap();
    let all: Vec<(String, Vec<&[f64]>)> = joined
        .operations
        .iter()
        .map(|operation| {
            let runs = operation.runs.iter();
            let samples = runs.map(|run| &run.samples_ns[..]).collect();
            (operation.key().to_string(), samples)
        })
        .collect();
    assert_eq!(
        all,
        [
            ("f on cpu".to_owned(), vec![&[1.0, 2.0][..], &[4.0], &[6.0]]),
            ("g on cpu".to_owned(), vec![&[3.0]]),
            ("f on cpu, size 2".to_owned(), vec![&[9.0]]),
            ("h on cpu".to_owned(), vec![&[5.0]]),
        ]
    );
    let mut written = Vec::new();
    file::write_to(&joined, &mut written).unwrap();
    assert_eq!(file::read_from(&written[..], "joined").unwrap(), joined);
}

#[test]
fn executions_are_counted_together_and_the_last_decision_stands() {
    let executed = |by: &str, why: &str, errors: &[&str]| {
        let fallback = |error: &&str| Fallback {
            device: Some("cuda:0".to_owned()),
            error: (*error).to_owned(),
            executions: 1,
            tasks: 8,
        };
        let executions = Executions {
            executions: Some(2),
            decided_by: [(by.to_owned(), 2)].into(),
            why: Some(why.to_owned()),
            fallbacks: errors.iter().map(fallback).collect(),
            ..Executions::default()
        };
        let executions = Some(executions);
        profile([Operation {
            executions,
            ..operation("f", &[1.0])
        }])
    };
    let joined = Profile::join([
        executed("rule", "first", &["timeout: 2 s"]),
        executed("model", "second", &["timeout: 3 s", "device lost: gone"]),
        executed("model", "last", &[]),
    ]);
    let joined = joined.unwrap().operations.remove(0).executions.unwrap();
    assert_eq!(joined.executions, Some(6));
    let decided_by = [("model".to_owned(), 4), ("rule".to_owned(), 2)];
    assert_eq!(joined.decided_by, decided_by.into());
    assert_eq!(joined.why.as_deref(), Some("last"));
    let fallbacks = joined.fallbacks.iter();
    let fallbacks: Vec<_> = fallbacks
        .map(|known| (&*known.error, known.executions, known.tasks))
        .collect();
    let expected = [("timeout: 2 s", 2, 16), ("device lost: gone", 1, 8)];
    assert_eq!(fallbacks, expected);
}

#[test]
fn the_kernel_clock_of_a_known_gpu_is_filled_in() {
    let gpu = |name: Option<&str>, clock: Option<&str>| {
        on(Environment {
            gpus: vec![Gpu {
                id: "cuda:0".to_owned(),
                name: name.map(str::to_owned),
                kernel_clock: clock.map(str::to_owned),
                ..Gpu::default()
            }],
            ..Environment::default()
        })
    };
    let joined = Profile::join([gpu(Some("A"), None), gpu(None, Some("device"))]).unwrap();
    let [gpu] = &joined.environment.gpus[..] else {
        panic!("{joined:#?}");
    };
    assert_eq!(gpu.name.as_deref(), Some("A"));
    assert_eq!(gpu.kernel_clock.as_deref(), Some("device"));
}

#[test]
fn one_profile_is_itself() {
    let one = Profile {
        timeline: Some(Timeline::default()),
        created: Some("2026-01-02T00:00:00Z".to_owned()),
        ..profile([operation("f", &[1.0])])
    };
    assert_eq!(Profile::join([one.clone()]), Ok(one));
    assert_eq!(Profile::join([]), Err(JoinError::Nothing));
}

#[test]
fn what_is_reported_of_the_whole() {
    let with = |created: &str, interrupted| Profile {
        created: Some(created.to_owned()),
        interrupted,
        timeline: Some(Timeline::default()),
        stacks: vec![Stack {
            frames: vec!["f".to_owned()],
            calls: 2,
            total_ns: 10,
            self_ns: 4,
        }],
        ..profile([operation("f", &[1.0])])
    };
    let mut second = with("2026-01-01T00:00:00Z", true);
    second.evidence.peaks.push(Peak {
        device: "cpu".to_owned(),
        ..Peak::default()
    });
    second.operations[0].failure = Some(Failure {
        kind: "crash".to_owned(),
        message: "signal 11".to_owned(),
    });
    let joined = Profile::join([with("2026-01-02T00:00:00Z", false), second]).unwrap();
    assert_eq!(joined.created.as_deref(), Some("2026-01-01T00:00:00Z"));
    assert!(joined.interrupted);
    assert_eq!(joined.timeline, None);
    let stack = &joined.stacks[..];
    assert!(matches!(stack, [one] if (one.calls, one.total_ns, one.self_ns) == (4, 20, 8)));
    assert!(joined.peak("cpu").is_some());
    assert!(joined.operations[0].failure.is_some());
}

#[test]
fn memory_stays_with_its_run() {
    let with = |memory_bytes| {
        let mut operation = operation("f", &[1.0]);
        operation.memory_bytes = memory_bytes;
        profile([operation])
    };
    let memory = |profiles: Vec<Profile>| {
        let joined = Profile::join(profiles).unwrap();
        let runs = joined.operations[0].runs.iter();
        let of_runs: Vec<_> = runs.map(|run| run.memory_bytes).collect();
        (joined.operations[0].memory_bytes, of_runs)
    };
    assert_eq!(
        memory(vec![with(Some(8)), with(Some(9)), with(None)]),
        (Some(9), vec![Some(8), Some(9), None])
    );
    let same = vec![with(Some(8)), with(Some(8))];
    assert_eq!(memory(same), (Some(8), vec![None, None]));
}

#[test]
fn counters_stay_with_their_runs_and_have_one_unit() {
    let with = |name: &str, unit: &str, value| {
        let mut operation = operation("f", &[1.0]);
        let unit = unit.to_owned();
        let counter = Counter {
            unit,
            higher_is_better: false,
        };
        operation.counters.insert(name.to_owned(), counter);
        operation.runs[0].counters.insert(name.to_owned(), value);
        profile([operation])
    };
    let joined = Profile::join([with("heap", "B", 8.0), with("misses", "", 9.0)]).unwrap();
    let [first, second] = &joined.operations[0].runs[..] else {
        panic!("{joined:?}");
    };
    assert_eq!(
        (first.counters["heap"], second.counters["misses"]),
        (8.0, 9.0)
    );
    assert_eq!(joined.operations[0].counters.len(), 2);
    let error = Profile::join([with("heap", "B", 8.0), with("heap", "KiB", 9.0)]).unwrap_err();
    insta::assert_snapshot!(error, @r#"profile 2: f on cpu is not the same work: counter is heap in "KiB", less is better, and was heap in "B", less is better; give it another name or size"#);
}

#[test]
fn recordings_of_the_load_stay_side_by_side() {
    let loaded = |began: &str| Profile {
        load: vec![LoadRecord {
            began: Some(began.to_owned()),
            ..LoadRecord::default()
        }],
        ..profile([operation("f", &[1.0])])
    };
    let without = profile([operation("f", &[1.0])]);
    let joined = Profile::join([loaded("first"), without, loaded("second")]).unwrap();
    let began: Vec<_> = joined.load.iter().map(|one| one.began.clone()).collect();
    assert_eq!(began, [Some("first".to_owned()), Some("second".to_owned())]);
}

#[test]
fn another_machine_or_build_is_refused() {
    let machine = |model: &str, revision: &str| {
        on(Environment {
            cpu: Some(Cpu {
                model: Some(model.to_owned()),
                ..Cpu::default()
            }),
            revision: Some(revision.to_owned()),
            ..Environment::default()
        })
    };
    assert!(Profile::join([machine("A", "1"), machine("A", "1")]).is_ok());
    let refused = |second| Profile::join([machine("A", "1"), second]).unwrap_err();
    assert_eq!(
        refused(machine("B", "1")).to_string(),
        "profile 2 differs from the first in its processor: B, not A; \
         join only profiles of one machine and one build"
    );
    assert_eq!(
        refused(machine("A", "2")).to_string(),
        "profile 2 differs from the first in its revision: 2, not 1; \
         join only profiles of one machine and one build"
    );
    // What the first does not know, the second may know, and the third not contradict.
    let unknown = on(Environment::default());
    let error = Profile::join([unknown, machine("A", "1"), machine("B", "1")]).unwrap_err();
    assert!(matches!(
        error,
        JoinError::OtherEnvironment { number: 3, .. }
    ));
}

#[test]
fn other_work_is_refused() {
    let with = |bytes| {
        let mut operation = operation("f", &[1.0]);
        operation.bytes = Some(bytes);
        profile([operation])
    };
    let error = Profile::join([with(8), with(9)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "profile 2: f on cpu is not the same work: bytes is 9, and was 8; \
         give it another name or size"
    );
}

#[test]
fn what_a_recorder_reports_of_calls_is_a_mean_and_joined_as_one() {
    let recorded = |bytes, samples_ns: &[f64]| {
        let mut operation = operation("f", samples_ns);
        operation.bytes = Some(bytes);
        operation.runs[0].nested_calls = Some(0);
        operation
    };
    let joined = Profile::join([
        profile([recorded(100, &[1.0, 1.0, 1.0])]),
        profile([recorded(200, &[1.0])]),
        profile([recorded(200, &[1.0, 1.0, 1.0, 1.0])]),
    ])
    .unwrap();
    assert_eq!(joined.operations[0].bytes, Some(163)); // (3 · 100 + 5 · 200) / 8 = 162.5
    // A benchmark's calls are all alike: another figure is other work.
    let mut measured = recorded(200, &[1.0]);
    measured.runs[0].nested_calls = None;
    let refused = Profile::join([profile([recorded(100, &[1.0])]), profile([measured])]);
    assert!(matches!(
        refused,
        Err(JoinError::OtherWork { what: "bytes", .. })
    ));
}
