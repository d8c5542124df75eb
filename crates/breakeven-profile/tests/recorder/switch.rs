//! On, off, reset, timeline, and what is written.

use std::process::Command;

use breakeven_profile::recorder::ExportError;
use breakeven_profile::{file, get_profiler, scope};

use super::{alone, only, shared, snapshot, stack};

#[test]
fn off_records_nothing_and_computes_no_field() {
    let _alone = alone();
    let profiler = get_profiler(false);
    assert!(!profiler.is_recording());
    let computed = std::cell::Cell::new(false);
    let guard = scope!(
        "while off",
        bytes = {
            computed.set(true);
            1
        }
    );
    assert!(!guard.is_recording() && !computed.get());
    drop(guard);
    drop(profiler.profile("while off, by name"));
    assert_eq!(profiler.measure("while off, closure", || 5), 5);
    assert!(profiler.snapshot().operations.is_empty());

    get_profiler(true);
    drop(scope!("on again"));
    assert_eq!(snapshot().operations.len(), 1);
}

#[test]
fn an_export_says_of_which_machine_it_is() {
    let _alone = alone();
    drop(scope!("somewhere"));
    let profiler = get_profiler(true);
    profiler.describe(|environment| environment.revision = Some("4f2a91c".to_owned()));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.json");
    profiler.export_json(&path).unwrap();
    profiler.describe(|environment| environment.revision = None);
    let environment = file::read(&path).unwrap().environment;
    assert_eq!(environment.revision.as_deref(), Some("4f2a91c"));
    assert_eq!(environment.os.as_deref(), Some(std::env::consts::OS));
    let cpu = environment.cpu.unwrap();
    let (logical, usable) = (cpu.logical_cores.unwrap(), cpu.usable_cores.unwrap());
    assert!(
        usable > 0.0 && usable <= logical as f64,
        "{usable} of {logical}"
    );
    if cfg!(target_os = "linux") {
        assert!(cpu.usable_memory_bytes.unwrap() <= cpu.memory_bytes.unwrap());
    }
    // Elsewhere `/proc/cpuinfo` names no model.
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        assert!(cpu.model.is_some_and(|model| !model.is_empty()));
    }
}

#[test]
fn what_was_recorded_before_off_stays() {
    let _alone = alone();
    drop(scope!("before off"));
    get_profiler(false);
    drop(scope!("before off"));
    get_profiler(true);
    drop(scope!("before off"));
    assert_eq!(only(&snapshot(), "before off").runs[0].calls(), 2);
}

#[test]
fn reset_forgets_what_was_and_what_is_open() {
    let _alone = alone();
    let profiler = get_profiler(true);
    drop(scope!("before the reset"));
    let open = scope!("open at the reset");
    let inside = scope!("inside at the reset");
    profiler.reset();
    assert!(snapshot().operations.is_empty());
    {
        let _s = scope!("after the reset");
    }
    inside.bytes(5);
    drop(inside);
    drop(open);
    drop(scope!("after the reset"));
    let profile = snapshot();
    assert_eq!(profile.operations.len(), 1, "{:?}", profile.operations);
    assert_eq!(stack(&profile, &["after the reset"]).0, 2);
    assert_eq!(only(&profile, "after the reset").bytes, None);
    assert_eq!(profiler.losses().misnested, 0);
}

#[test]
fn every_thread_follows_a_reset() {
    let _alone = alone();
    let profiler = get_profiler(true);
    let (ready, go) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            drop(scope!("in a thread before"));
            ready.wait();
            go.wait();
            drop(scope!("in a thread after"));
        });
        ready.wait();
        profiler.reset();
        assert!(profiler.snapshot().operations.is_empty());
        go.wait();
    });
    let profile = profiler.snapshot();
    let names: Vec<_> = profile
        .operations
        .iter()
        .map(|of| of.name.as_str())
        .collect();
    assert_eq!(names, ["in a thread after"]);
}

#[test]
fn a_thousand_resets_leave_what_came_after() {
    let _alone = alone();
    for round in 0..1_000_u64 {
        for size in 0..20 {
            drop(scope!("before many resets", size = size + round % 50));
        }
        get_profiler(true).reset();
    }
    drop(scope!("after many resets"));
    assert_eq!(snapshot().operations.len(), 1);
}

#[test]
fn the_timeline_holds_the_latest_calls_and_counts_the_others() {
    let _alone = alone();
    let profiler = get_profiler(true);
    profiler.timeline(16);
    for size in 0..50_u64 {
        let _outer = scope!("on the timeline", size = size, device = "cuda:0");
        let _inner = scope!("inside, on the timeline");
    }
    let timeline = profiler.snapshot().timeline.expect("it was asked for");
    assert_eq!(timeline.events.len(), 16);
    assert_eq!(timeline.dropped, 100 - 16);
    assert_eq!(profiler.losses().timeline_dropped, 100 - 16);
    assert_eq!(timeline.threads.len(), 1);
    assert_eq!(timeline.events[0].device.as_deref(), Some("cuda:0"));
    for pair in timeline.events.chunks(2) {
        let [outer, inner] = pair else {
            unreachable!("chunks of an even list")
        };
        assert_eq!(outer.name, "on the timeline");
        assert_eq!(inner.name, "inside, on the timeline");
        assert!(outer.start_ns <= inner.start_ns);
        let end =
            |event: &breakeven_profile::profile::TimelineEvent| event.start_ns + event.duration_ns;
        assert!(end(inner) <= end(outer) + 1);
    }
    profiler.timeline(0);
    drop(scope!("on the timeline"));
    assert_eq!(profiler.snapshot().timeline, None);
    // What was recorded otherwise stays.
    assert_eq!(stack(&profiler.snapshot(), &["on the timeline"]).0, 51);
}

#[test]
fn what_is_written_can_be_read() {
    let _shared = shared();
    for size in [3_u64, 5] {
        let _s = scope!(
            "written",
            size = size,
            source = "a \"name\"",
            ratio = f64::NAN
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("current.json");
    get_profiler(true).export_json(&path).unwrap();
    let read = file::read(&path).unwrap();
    let sizes = read.operations.iter().filter(|of| of.name == "written");
    assert_eq!(sizes.filter_map(|of| of.size).collect::<Vec<_>>(), [3, 5]);
    let environment = &read.environment;
    assert_eq!(environment.os.as_deref(), Some(std::env::consts::OS));
    assert_eq!(environment.host, None);
    assert!(
        environment
            .clock
            .as_ref()
            .is_some_and(|clock| clock.read_ns > 0.0)
    );
    let cost = environment.recorder.expect("the recorder knows its cost");
    assert!(
        0.0 < cost.inside_ns && cost.inside_ns <= cost.guard_ns,
        "{cost:?}"
    );
    assert!(cost.guard_ns < 10_000.0, "{cost:?}");
    assert!(read.created.is_some_and(|at| at.ends_with('Z')));
    // Measuring the cost is no operation, and is inside no open call.
    assert!(
        read.operations
            .iter()
            .all(|of| !of.name.contains("recorder"))
    );
}

#[test]
fn measuring_itself_leaves_no_trace_in_an_open_call() {
    let _shared = shared();
    {
        let _open = scope!("open while exporting");
        drop(scope!("inside while exporting"));
        snapshot();
        drop(scope!("inside while exporting"));
    }
    let profile = snapshot();
    let run = &only(&profile, "open while exporting").runs[0];
    assert_eq!(run.nested_calls, Some(2));
    assert_eq!(
        stack(
            &profile,
            &["open while exporting", "inside while exporting"]
        )
        .0,
        2
    );
}

#[test]
fn nothing_recorded_is_an_error_that_says_what_to_do() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("current.json");
    let error = get_profiler(true).export_json(&path).unwrap_err();
    assert!(matches!(error, ExportError::Empty));
    insta::assert_snapshot!(error, @r#"nothing was recorded: put #[profile] on a function or scope!("name") into it, let it return before the export, and do not call get_profiler(false) before it runs"#);
    assert!(!path.exists());
    file::write_to(&get_profiler(true).snapshot(), std::io::sink()).unwrap();
}

#[test]
fn where_it_cannot_be_written_the_file_is_named() {
    let _shared = shared();
    drop(scope!("not written"));
    let path = "no such folder/current.json";
    let error = get_profiler(true).export_json(path).unwrap_err();
    assert!(error.to_string().contains(path), "{error}");
}

/// Not a test: what the next one runs in a process of its own, as names stay.
#[test]
#[ignore = "run by names_beyond_the_limit_are_counted_together"]
fn with_too_many_names() {
    let profiler = get_profiler(true);
    for index in 0..70_000 {
        drop(profiler.profile(&format!("name {index}")));
        if index % 1_000 == 0 {
            profiler.reset();
        }
    }
    drop(scope!("a constant name"));
    let operations = profiler.snapshot().operations;
    assert_eq!(operations.len(), 1, "{operations:?}");
    assert_eq!(
        operations[0].name,
        "(more operations than the recorder keeps)"
    );
    assert_eq!(operations[0].runs[0].calls(), 1_000);
    assert_eq!(profiler.losses().overflowed, 1_000);
}

#[test]
fn names_beyond_the_limit_are_counted_together() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "recorder::switch::with_too_many_names",
            "--ignored",
        ])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
}

/// Not a test: what the next one runs in a process of its own.
#[test]
#[ignore = "run by the_environment_has_the_last_word"]
fn with_the_environments_word() {
    drop(scope!("forbidden"));
    let profiler = get_profiler(true);
    drop(scope!("forbidden"));
    assert!(!profiler.is_recording());
    let path = std::env::var("BREAKEVEN_TEST_FILE").unwrap();
    profiler.export_json(path).unwrap();
}

#[test]
fn the_environment_has_the_last_word() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("current.json");
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "recorder::switch::with_the_environments_word",
            "--ignored",
        ])
        .env("BREAKEVEN_RECORD", "off")
        .env("BREAKEVEN_TEST_FILE", &path)
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    assert!(file::read(&path).unwrap().operations.is_empty());
}

/// Not a test: what the next one runs in a process of its own.
#[test]
#[ignore = "run by a_process_leaves_its_recording_where_the_environment_says"]
fn without_an_export() {
    let profiler = get_profiler(false);
    assert_eq!(
        profiler.is_recording(),
        std::env::var("BREAKEVEN_RECORD").is_err()
    );
    drop(scope!("left"));
    std::thread::spawn(|| drop(scope!("left"))).join().unwrap();
    let _unwound = scope!("left");
    panic!("as a program may");
}

#[test]
#[cfg(unix)]
fn a_process_leaves_its_recording_where_the_environment_says() {
    let directory = tempfile::tempdir().unwrap();
    let run = |target: &std::path::Path, record: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let child = [
            "--exact",
            "recorder::switch::without_an_export",
            "--ignored",
        ];
        command.args(child).env("BREAKEVEN_PROFILE", target);
        command.envs(record.map(|record| ("BREAKEVEN_RECORD", record)));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(101), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("as a program may"));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let path = directory.path().join("current.json");
    run(&path, Some("off"));
    assert!(!path.exists());
    run(&path, None);
    let folder = directory.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    run(&folder, None);
    run(&folder, None);
    let left = std::fs::read_dir(folder).unwrap();
    let left: Vec<_> = left.map(|each| each.unwrap().path()).collect();
    assert_eq!(left.len(), 2);
    for path in left.iter().chain([&path]) {
        let profile = file::read(path).unwrap();
        assert_eq!(only(&profile, "left").runs[0].calls(), 3);
        assert!(profile.environment.recorder.unwrap().guard_ns > 1.0);
    }
    let lost = run(std::path::Path::new("/no/such/folder/p.json"), None);
    let reported = "breakeven: BREAKEVEN_PROFILE: /no/such/folder/p.json: the directory";
    assert!(lost.contains(reported), "{lost}");
}
