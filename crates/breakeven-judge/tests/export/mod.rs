//! Profiles in the formats of other tools: against the formats' own rules, on
//! names of every kind, and on any profile at all.

#[path = "../../../breakeven-profile/tests/file/arbitrary.rs"]
mod arbitrary;
mod bmf;
mod chrome;
mod folded;
mod pprof;
mod properties;
mod schema;
mod speedscope;

use std::collections::BTreeMap;

use breakeven_judge::export::{self, ExportError};
use breakeven_profile::profile::{Gpu, Operation, Profile, Run, Stack, Timeline, TimelineEvent};
use serde_json::{Value, json};

use crate::bottlenecks::run;

/// Names that somebody's format could trip over.
pub(super) fn odd_names() -> Vec<String> {
    let short = [
        "a\nb\tc\r\u{0}\u{1b}[31m",
        "\"quoted\" \\ 'single'",
        "outer;inner",
        "<script>alert(1)</script> & <b>",
        "]]>",
        "naïve 名前 🦀",
        "pass 12",
        "delete \u{7f} me",
        "\u{202e}backwards \u{feff}\u{ffff}",
        " spaces ",
        "",
        "--",
    ];
    let mut names: Vec<String> = short.map(str::to_owned).into();
    names.push("long ".repeat(2_000));
    names
}

/// One operation on the CPU at two sizes, and on a software GPU with its parts.
fn operations() -> Profile {
    let mut small = Operation::new("conv2d", "cpu");
    small.size = Some(64);
    small.workload = Some("8×8".to_owned());
    small.runs = vec![run(&[1_500.0, 1_250.0]), run(&[1_001.0])];
    let mut large = Operation::new("conv2d", "cpu");
    large.size = Some(256);
    large.runs = vec![run(&[9_000.0])];
    let mut gpu = Operation::new("conv2d", "vulkan:soft");
    gpu.size = Some(256);
    gpu.attributes.insert("tiles".to_owned(), json!([8, 8]));
    gpu.runs = vec![Run {
        phases_ns: BTreeMap::from([
            ("kernel".to_owned(), vec![2_000.0, 2_200.0]),
            ("upload".to_owned(), vec![500.0]),
        ]),
        ..run(&[3_000.0, 3_400.0])
    }];
    let mut profile = Profile {
        generator: Some("sample 1.0".to_owned()),
        operations: vec![small, large, gpu],
        ..Profile::default()
    };
    profile.environment.gpus.push(Gpu {
        id: "vulkan:soft".to_owned(),
        kind: Some("software".to_owned()),
        ..Gpu::default()
    });
    profile
}

fn event(name: &str, thread: u64, start_ns: u64, duration_ns: u64) -> TimelineEvent {
    TimelineEvent {
        name: name.to_owned(),
        thread,
        start_ns,
        duration_ns,
        ..TimelineEvent::default()
    }
}

/// Two threads: nested calls, one of them on the GPU; two that overlap.
fn with_timeline() -> Profile {
    let mut upload = event("upload", 0, 2_000, 1_500);
    upload.device = Some("vulkan:soft".to_owned());
    upload.attributes.insert("bytes".to_owned(), json!(4096));
    let events = vec![
        event("frame", 0, 1_001, 10_000),
        upload,
        event("decode", 0, 4_000, 2_000),
        event("fetch a", 1, 0, 5_000),
        event("fetch b", 1, 3_000, 5_000),
    ];
    Profile {
        timeline: Some(Timeline {
            dropped: 3,
            threads: vec!["main".to_owned(), "tasks".to_owned()],
            events,
        }),
        ..operations()
    }
}

fn stack(frames: &[&str], self_ns: u64) -> Stack {
    Stack {
        frames: frames.iter().map(|name| (*name).to_owned()).collect(),
        calls: 1,
        total_ns: self_ns,
        self_ns,
    }
}

fn with_stacks() -> Profile {
    Profile {
        stacks: vec![
            stack(&["frame", "decode"], 7_000),
            stack(&["frame"], 3_000),
            stack(&["frame (size 2)"], 500),
            stack(&["idle"], 0),
        ],
        ..operations()
    }
}

/// A profile in which every text is `name`.
fn named(name: &str) -> [Profile; 3] {
    let mut operation = Operation::new(name, name);
    operation.workload = Some(name.to_owned());
    operation.attributes.insert(name.to_owned(), json!(name));
    operation.runs = vec![Run {
        phases_ns: BTreeMap::from([(name.to_owned(), vec![30.0])]),
        ..run(&[100.0, 120.0])
    }];
    let operations = Profile {
        generator: Some(name.to_owned()),
        operations: vec![operation],
        ..Profile::default()
    };
    let mut outer = event(name, 0, 0, 100);
    outer.device = Some(name.to_owned());
    outer.attributes.insert(name.to_owned(), json!(name));
    let timeline = Profile {
        timeline: Some(Timeline {
            dropped: 0,
            threads: vec![name.to_owned()],
            events: vec![outer, event(name, 0, 10, 20), event(name, 1, 0, 5)],
        }),
        ..operations.clone()
    };
    let stacks = Profile {
        stacks: vec![stack(&[name, name], 9), stack(&[name], 4)],
        ..operations.clone()
    };
    [operations, timeline, stacks]
}

/// An exporter as a function.
type Write = fn(&Profile, &mut Vec<u8>) -> Result<(), ExportError>;

const ALL: [(&str, Write); 4] = [
    ("chrome", |profile, out| export::chrome(profile, out)),
    ("speedscope", |profile, out| {
        export::speedscope(profile, out)
    }),
    ("collapsed", |profile, out| export::collapsed(profile, out)),
    ("flamegraph", |profile, out| {
        export::flamegraph(profile, out)
    }),
];

#[track_caller]
fn text(write: Write, profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:.300}"))
}

#[test]
fn a_profile_without_times_is_an_error() {
    let mut failed = Profile::default();
    failed.operations.push(Operation::new("f", "cpu"));
    failed.timeline = Some(Timeline::default());
    for profile in [Profile::default(), failed] {
        for (name, write) in ALL {
            let mut out = Vec::new();
            let error = write(&profile, &mut out).unwrap_err();
            assert!(matches!(error, ExportError::Empty), "{name}: {error}");
            assert!(out.is_empty(), "{name}");
        }
    }
}

#[test]
fn times_past_counting_are_an_error() {
    let mut profile = Profile::default();
    let mut operation = Operation::new("f", "cpu");
    operation.runs.push(run(&[2_f64.powi(63); 3]));
    profile.operations.push(operation);
    for (name, write) in ALL {
        let error = write(&profile, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, ExportError::TooLong), "{name}: {error}");
    }
}

#[test]
fn a_writer_that_refuses_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let profile = with_timeline();
    let errors = [
        export::chrome(&profile, Full),
        export::speedscope(&profile, Full),
        export::collapsed(&profile, Full),
        export::flamegraph(&profile, Full),
    ];
    for error in errors {
        let error = error.unwrap_err();
        let ExportError::Io(reason) = &error else {
            panic!("{error}")
        };
        assert_eq!(reason.kind(), std::io::ErrorKind::StorageFull);
    }
}
