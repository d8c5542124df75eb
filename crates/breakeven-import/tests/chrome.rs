//! Traces of PyTorch's profiler, with Kineto and without, of a GPU by Kineto's schema, and
//! of this program itself.

use std::io::Cursor;

use breakeven_import::{Imported, Options, read_from};
use insta::assert_snapshot;

use crate::support::{activity, imported, paths, summary};

fn read(text: &str) -> Imported {
    read_from(
        Cursor::new(text.to_owned()),
        "trace.json",
        &Options::default(),
    )
    .expect(text)
}

#[test]
fn pytorch_without_kineto_writes_a_bare_list() {
    let imported = imported("chrome/torch-1.13.json");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
}

#[test]
fn kineto_on_the_cpu_packed() {
    let imported = imported("chrome/kineto-cpu.json.gz");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
    let timeline = imported.profile.timeline.expect("events");
    assert_eq!(timeline.dropped, 0);
    assert_eq!(timeline.events[0].start_ns, 0);
}

#[test]
fn kineto_with_a_gpu() {
    let imported = imported("chrome/kineto-gpu.json");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        activity(&imported.profile)
    ));
    let gpu = imported.profile.gpu("cuda:0").expect("a GPU");
    assert_eq!(gpu.name.as_deref(), Some("NVIDIA H200"));
    assert_eq!(gpu.memory_bytes, Some(150_000_000_000));
}

/// What Holistic Trace Analysis 0.5.0 prints of this file: it leaves out the last step.
#[test]
fn the_figures_of_holistic_trace_analysis() {
    let text = std::fs::read_to_string(crate::support::data("chrome/kineto-gpu.json"));
    let mut trace: serde_json::Value = serde_json::from_str(&text.expect("the trace")).unwrap();
    let events = trace["traceEvents"].as_array_mut().expect("events");
    events.retain(|event| event["ts"].as_f64() < Some(1_002_000.0));
    let profile = read(&trace.to_string()).profile;
    let activity = &profile.activity[0];
    let span = activity.span_ns as f64;
    let percent = |ns: u64| (ns as f64 / span * 1e4).round() / 100.0;
    assert_eq!((activity.span_ns, activity.idle_ns()), (1_492_000, 528_000));
    assert_eq!(
        (percent(activity.idle_ns()), percent(activity.compute_ns)),
        (35.39, 27.08)
    );
    // Neither computing nor idle.
    assert_eq!(activity.busy_ns - activity.compute_ns, 560_000);
    let overlap = activity.communication_overlap_ns as f64 / activity.communication_ns as f64;
    assert_eq!(overlap, 0.11);
    let launches = activity.launches.as_ref().expect("launches");
    assert_eq!(
        (launches.delay_median_ns, launches.delay_max_ns),
        (204_000.0, 237_000)
    );
}

#[test]
fn begins_and_ends_in_pairs_and_apart() {
    let imported = read(
        r#"[{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
            {"ph": "B", "name": "outer", "pid": 1, "tid": 2, "ts": 10},
            {"ph": "B", "name": "inner", "pid": 1, "tid": 2, "ts": "12.5"},
            {"ph": "E", "pid": 1, "tid": 2, "ts": 20.25},
            {"ph": "b", "cat": "io", "id": "0x1", "name": "request", "pid": 1, "ts": 11},
            {"ph": "b", "cat": "io", "id": "0x2", "name": "request", "pid": 1, "ts": 15},
            {"ph": "e", "cat": "io", "id": "0x1", "name": "request", "pid": 1, "ts": 41},
            {"ph": "e", "cat": "io", "id": "0x2", "name": "request", "pid": 1, "ts": 25},
            {"ph": "E", "pid": 1, "tid": 2, "ts": 30},
            {"ph": "E", "pid": 1, "tid": 2, "ts": 31},
            {"ph": "B", "name": "left open", "pid": 1, "tid": 2, "ts": 32},
            {"ph": "X", "name": "no duration", "pid": 1, "tid": 2, "ts": 32},
            {"ph": "C", "name": "counter", "pid": 1, "ts": 1, "args": {"value": 5}}]"#,
    );
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
}

#[test]
fn a_list_that_is_not_closed_is_one_of_a_program_that_was_stopped() {
    let event = r#"{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}"#;
    let cut = format!(",{}", &event[..20]);
    for end in ["", ",", &cut] {
        let imported = read(&format!("[{event},\n{event}{end}"));
        assert!(imported.profile.interrupted, "{end}");
        assert_eq!(imported.profile.operations[0].calls(), 2, "{end}");
        assert_eq!(imported.notes.len(), 1);
    }
}

#[test]
fn steps_of_the_profiler_are_one_operation() {
    let step = |number| {
        format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{number}", "ts": {number}0, "dur": 5, "pid": 1, "tid": 1}}"#
        )
    };
    let imported = read(&format!("[{}, {}]", step(1), step(2)));
    let [operation] = &imported.profile.operations[..] else {
        panic!("{:?}", imported.profile.operations);
    };
    assert_eq!(
        (operation.name.as_str(), operation.calls()),
        ("ProfilerStep", 2)
    );
}
