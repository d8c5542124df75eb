//! The trace against the format's schema and against what Perfetto's importer
//! asks for (`src/trace_processor/importers/json/` of google/perfetto).

use std::collections::BTreeMap;

use breakeven_judge::ChangeType;
use breakeven_judge::export::chrome::{Verdict, write};
use breakeven_profile::profile::{OperationKey, Profile};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::schema::assert_valid;
use super::{named, odd_names, operations, parsed, with_timeline};

const SCHEMA: &str = include_str!("../data/chrome-trace-schema.json");

#[track_caller]
fn trace(profile: &Profile, verdicts: &[Verdict]) -> String {
    let mut out = Vec::new();
    write(profile, verdicts, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Checks a trace and returns its events.
#[track_caller]
pub(super) fn checked(text: &str) -> Vec<Value> {
    // Perfetto's tokenizer takes no control character inside a text.
    assert!(!text.contains(|c: char| c.is_ascii_control() && c != '\n'));
    // Older ones look for the unit before they read the events.
    assert!(
        text.starts_with("{\"displayTimeUnit\":\"ns\","),
        "{text:.100}"
    );
    let trace = parsed(text);
    assert_valid(&trace, SCHEMA);
    let events = trace["traceEvents"].as_array().unwrap().clone();
    let mut processes = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    for event in &events {
        // Ids are 32 bits wide. A track's id is looked up without its process,
        // and one that equals a process's id is that process's main thread.
        let id = |name: &str| u64::from(u32::try_from(event[name].as_u64().unwrap()).unwrap());
        let (pid, tid) = (id("pid"), id("tid"));
        if event["s"] != "g" {
            assert_eq!(*processes.entry(tid).or_insert(pid), pid, "{event}");
        }
        if event["ph"] != "X" {
            continue;
        }
        // Times become whole ns so; slices of a track must nest.
        #[expect(clippy::cast_possible_truncation, reason = "as Perfetto does it")]
        let ns = |name: &str| (event[name].as_f64().unwrap() * 1000.0) as i64;
        let (start, end) = (ns("ts"), ns("ts").saturating_add(ns("dur")));
        let ends = open.entry(tid).or_default();
        while ends.pop_if(|end| *end <= start).is_some() {}
        if start < 1 << 50 && end < 1 << 50 {
            assert!(ends.last().is_none_or(|around| *around >= end), "{event}");
        }
        ends.push(end);
    }
    for (tid, pid) in &processes {
        assert!(!processes.values().any(|pid| pid == tid), "{tid} of {pid}");
    }
    events
}

fn calls(events: &[Value]) -> impl Iterator<Item = &Value> {
    events.iter().filter(|event| event["ph"] == "X")
}

#[test]
fn a_timeline() {
    let text = trace(&with_timeline(), &[]);
    assert_eq!(calls(&checked(&text)).count(), 5);
    assert_snapshot!(text);
}

#[test]
fn samples_end_to_end() {
    let text = trace(&operations(), &[]);
    let events = checked(&text);
    let marks = "samples laid end to end, not real times";
    assert_eq!(parsed(&text)["otherData"]["source"], marks);
    assert!(events.iter().any(|event| event["name"] == marks));
    assert_snapshot!(text);
}

fn verdict(size: u64, change_type: ChangeType, change: f64) -> Verdict {
    Verdict {
        operation: OperationKey {
            name: "conv2d".to_owned(),
            device: "cpu".to_owned(),
            size: Some(size),
        },
        change_type,
        change_percent: Some(change),
    }
}

#[test]
fn verdicts_are_on_the_calls_and_in_one_event() {
    let verdicts = [
        verdict(64, ChangeType::Regression, 12.34),
        verdict(256, ChangeType::NoChange, f64::NAN),
    ];
    let events = checked(&trace(&operations(), &verdicts));
    let comparison = events.iter().find(|event| event["name"] == "comparison");
    assert_eq!(
        comparison.unwrap()["args"],
        json!({
            "worse": 1,
            "conv2d on cpu, size 64": "REGRESSION, +12.3 %",
            "conv2d on cpu, size 256": "NO_CHANGE",
        })
    );
    let small: Vec<&Value> = calls(&events).filter(|event| event["tid"] == 3).collect();
    assert_eq!(small.len(), 3);
    for call in small {
        assert_eq!(call["cname"], "terrible");
        assert_eq!(call["args"]["verdict"], "REGRESSION");
        assert_eq!(call["args"]["change_percent"], 12.34);
    }
    let large = calls(&events).find(|event| event["tid"] == 4).unwrap();
    assert_eq!(large["args"]["verdict"], "NO_CHANGE");
    assert!(large.get("cname").is_none() && large["args"].get("change_percent").is_none());
}

#[test]
fn a_call_of_a_timeline_has_a_verdict_where_it_can_be_told() {
    let mut profile = with_timeline();
    let timeline = profile.timeline.as_mut().unwrap();
    timeline.events[0].name = "conv2d".to_owned();
    timeline.events[0]
        .attributes
        .insert("verdict".to_owned(), json!("theirs"));
    let one = [verdict(64, ChangeType::Improvement, -9.0)];
    let events = checked(&trace(&profile, &one));
    let call = calls(&events)
        .find(|event| event["name"] == "conv2d")
        .unwrap();
    assert_eq!(
        call["args"],
        json!({"verdict": "IMPROVEMENT", "change_percent": -9.0})
    );
    assert_eq!(call["cname"], "good");
    // Of two sizes nobody knows which one the call was of.
    let two = [one[0].clone(), verdict(256, ChangeType::NoChange, 0.0)];
    let events = checked(&trace(&profile, &two));
    let call = calls(&events)
        .find(|event| event["name"] == "conv2d")
        .unwrap();
    assert_eq!(call["args"], json!({"verdict": "theirs"}));
}

#[test]
fn names_of_every_kind() {
    for name in odd_names() {
        let [operations, timeline, _] = named(&name);
        for profile in [operations, timeline] {
            let events = checked(&trace(&profile, &[]));
            assert!(
                calls(&events).all(|event| event["name"] == *name),
                "{name:?}"
            );
            let remembered = |event: &Value| event["args"][&name] == *name;
            assert!(events.iter().any(remembered), "{name:?}");
        }
    }
}
