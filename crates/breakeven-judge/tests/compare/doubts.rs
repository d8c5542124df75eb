//! Every warning, and what does not warn.

use breakeven_judge::compare::{Method, Metric, NotTested, Options};
use breakeven_judge::{ChangeType, compare};
use breakeven_profile::profile::{
    Clock, Cpu, Environment, Failure, Gpu, Operation, Profile, RecorderCost,
};

use super::{compared, judging, noisy, operation, profile, recorded, run};

fn fine() -> Operation {
    operation("f", &noisy(1e6, 0.01))
}

fn texts(baseline: &Profile, current: &Profile) -> Vec<String> {
    let found = compared(baseline, current, &Options::default());
    found.warnings.iter().map(ToString::to_string).collect()
}

/// The warnings where only the current side's operation is other than [`fine`].
fn of_operation(current: Operation) -> Vec<String> {
    texts(&profile([fine()]), &profile([current]))
}

fn on(environment: Environment) -> Profile {
    Profile {
        environment,
        ..profile([fine()])
    }
}

#[test]
fn nothing_to_doubt() {
    assert_eq!(of_operation(fine()), [""; 0]);
}

#[test]
fn a_recording_on_another_machine() {
    let here = breakeven_profile::get_profiler(true).snapshot().environment;
    let mut there = here.clone();
    there.cpu.as_mut().unwrap().model = Some("another".to_owned());
    there.cpu.as_mut().unwrap().logical_cores = Some(4096);
    assert_eq!(texts(&on(here.clone()), &on(here.clone())), [""; 0]);
    let warnings = texts(&on(here), &on(there));
    let expected = match cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        true => vec!["another machine (processor: ", "another machine (cores: "],
        false => vec!["another machine (cores: "],
    };
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for (warning, beginning) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(beginning), "{warning}");
    }
}

#[test]
fn few_runs_and_few_samples() {
    assert_eq!(
        of_operation(operation("f", &[1_000_000])),
        [
            "too few runs to estimate the noise: one run on the current side of f on cpu; \
             make at least 4, or give earlier profiles as the history"
        ]
    );
    assert_eq!(
        of_operation(operation("f", &noisy(1e6, 0.01)[..3])),
        [
            "too few runs to estimate the noise: 3 runs on the current side of f on cpu; \
             make at least 4, or give earlier profiles as the history"
        ]
    );
    let mut program = fine();
    for run in &mut program.runs {
        run.samples_ns.truncate(1);
    }
    assert_eq!(of_operation(program), Vec::<String>::new());
    let mut few = fine();
    few.runs[2].samples_ns.truncate(4);
    assert_eq!(
        of_operation(few),
        ["too few samples: 4 in a run on the current side of f on cpu; measure 5 or more"]
    );
}

#[test]
fn many_operations_are_counted() {
    let names = ["a", "b", "c", "d", "e"];
    let one = profile(names.map(|name| operation(name, &[1_000_000])));
    let found = texts(&one, &one);
    assert_eq!(
        found,
        [
            "too few runs to estimate the noise: one run on the baseline and the current side of \
             a on cpu; b on cpu; c on cpu and 2 more; make at least 4, or give earlier profiles as \
             the history"
        ]
    );
}

#[test]
fn times_near_the_clocks_resolution() {
    let clock = |resolution_ns| {
        on(Environment {
            clock: Some(Clock {
                source: "tsc".to_owned(),
                read_ns: 10.0,
                resolution_ns,
            }),
            ..Environment::default()
        })
    };
    // Twenty steps of 50 µs are the millisecond that a call takes.
    assert_eq!(texts(&clock(49e3), &clock(49e3)), [""; 0]);
    assert_eq!(
        texts(&clock(51e3), &clock(51e3)),
        [
            "near the clock's resolution on the baseline and the current side: f on cpu; measure \
             more work in a call"
        ]
    );
}

fn machine(model: &str, cores: u64) -> Environment {
    Environment {
        os: Some("linux".to_owned()),
        arch: Some("x86_64".to_owned()),
        cpu: Some(Cpu {
            model: Some(model.to_owned()),
            logical_cores: Some(cores),
            ..Cpu::default()
        }),
        ..Environment::default()
    }
}

#[test]
fn another_machine() {
    assert_eq!(
        texts(&on(machine("A", 8)), &on(machine("B", 16))),
        [
            "another machine (processor: A in the baseline, B now); differences may be the machine's",
            "another machine (cores: 8 in the baseline, 16 now); differences may be the machine's"
        ]
    );
    let mac = Environment {
        os: Some("macos".to_owned()),
        arch: Some("aarch64".to_owned()),
        ..machine("A", 8)
    };
    assert_eq!(texts(&on(machine("A", 8)), &on(mac)).len(), 2);
    // What is not known does not differ.
    assert_eq!(
        texts(&on(machine("A", 8)), &on(Environment::default())),
        [""; 0]
    );
}

#[test]
fn another_driver_where_it_matters() {
    let with = |driver: &str, device: &str| {
        let mut operation = fine();
        operation.device = device.to_owned();
        Profile {
            environment: Environment {
                gpus: vec![Gpu {
                    id: "cuda:0".to_owned(),
                    driver: Some(driver.to_owned()),
                    ..Gpu::default()
                }],
                ..Environment::default()
            },
            ..profile([operation])
        }
    };
    assert_eq!(texts(&with("1", "cpu"), &with("2", "cpu")), [""; 0]);
    assert_eq!(
        texts(&with("1", "cuda:0"), &with("2", "cuda:0")),
        [
            "another machine (driver of cuda:0: 1 in the baseline, 2 now); differences may be the \
             machine's"
        ]
    );
}

#[test]
fn another_build_profile_but_not_another_revision() {
    let build = |profile: &str, revision: &str| {
        on(Environment {
            build_profile: Some(profile.to_owned()),
            revision: Some(revision.to_owned()),
            ..Environment::default()
        })
    };
    assert_eq!(
        texts(&build("release", "1"), &build("release", "2")),
        [""; 0]
    );
    assert_eq!(
        texts(&build("release", "1"), &build("debug", "1")),
        ["another build profile: release in the baseline, debug now; build both sides alike"]
    );
}

#[test]
fn a_side_of_two_machines() {
    let current = [on(machine("A", 8)), on(machine("B", 8))];
    let found = compare(&current[..1], &current, &Options::default()).unwrap();
    let texts: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "the profiles of the current side differ in processor: their runs are not of one \
             machine and build"
        ]
    );
}

#[test]
fn an_interrupted_profile() {
    let cut_short = Profile {
        interrupted: true,
        ..profile([fine()])
    };
    assert_eq!(
        texts(&cut_short, &profile([fine()])),
        ["measuring the baseline was interrupted: some of the requested measurements are missing"]
    );
}

#[test]
fn what_failed() {
    let failed = |name: &str| Operation {
        failure: Some(Failure {
            kind: "crash".to_owned(),
            message: "signal 11".to_owned(),
        }),
        ..operation(name, &noisy(1e6, 0.01))
    };
    let named = |name: &str| operation(name, &noisy(1e6, 0.01));
    let baseline = profile([named("f"), failed("g"), failed("h")]);
    let current = profile([failed("f"), named("g"), failed("h")]);
    assert_eq!(
        texts(&baseline, &current),
        [
            "failed, or without samples, on the current side: f on cpu",
            "failed, or without samples, on the baseline: g on cpu",
            "failed, or without samples, on the baseline and the current side: h on cpu"
        ]
    );
}

#[test]
fn other_work_behind_the_same_name() {
    let mut larger = fine();
    larger.bytes = Some(8);
    let mut smaller = fine();
    smaller.bytes = Some(4);
    assert_eq!(
        texts(&profile([larger]), &profile([smaller])),
        ["f on cpu is not the same work (bytes: 8 in the baseline, 4 now)"]
    );
}

#[test]
fn what_is_mostly_recording_is_left_out() {
    // The recorder takes 60 ns of every call.
    let with = |median_ns| Profile {
        environment: Environment {
            recorder: Some(RecorderCost {
                guard_ns: 80.0,
                inside_ns: 60.0,
            }),
            ..Environment::default()
        },
        ..profile([operation("f", &[median_ns; 5]), fine_named("g")])
    };
    let found = compared(&with(80), &with(110), &Options::default());
    let tiny = &found.operations[0];
    assert_eq!(
        tiny.judged.method,
        Method::NotTested(NotTested::MostlyRecording)
    );
    assert!(tiny.is_left_out());
    let summary = found.get_summary();
    assert_eq!((summary.left_out_count, summary.inconclusive_count), (1, 0));
    assert_eq!(
        found.warnings[0].to_string(),
        "mostly the recorder's overhead: f on cpu; record the caller instead"
    );
    // What grew out of the recorder's cost did so by itself.
    let grown = compared(&with(80), &with(100_000), &Options::default());
    assert_eq!(grown.operations[0].change_type, ChangeType::Regression);
    assert_eq!(grown.warnings.len(), 1);
    // Calls are counted, not timed.
    let calls = compared(
        &recorded(with(80)),
        &recorded(with(80)),
        &judging(Metric::CALLS),
    );
    assert_eq!(calls.operations[0].change_type, ChangeType::NoChange);
    assert_eq!(calls.warnings, []);
}

fn fine_named(name: &str) -> Operation {
    let mut operation = fine();
    operation.name = name.to_owned();
    operation
}

#[test]
fn a_software_gpu_is_said_to_be_one() {
    let mut operation = Operation::new("f", "vulkan:0");
    operation.runs = vec![run(1_000_000)];
    let one = Profile {
        environment: Environment {
            gpus: vec![Gpu {
                id: "vulkan:0".to_owned(),
                kind: Some("software".to_owned()),
                ..Gpu::default()
            }],
            ..Environment::default()
        },
        ..profile([operation])
    };
    let found = compared(&one, &one, &Options::default());
    assert_eq!(found.operations[0].name(), "f on vulkan:0 (software)");
    let warning = found.warnings[0].to_string();
    assert!(warning.contains("f on vulkan:0 (software);"), "{warning}");
}
