//! The trace against the format's schema and against what Perfetto's importer
//! asks for (`src/trace_processor/importers/json/` of google/perfetto).

use std::collections::BTreeMap;

use breakeven_judge::export::chrome as write;
use breakeven_profile::profile::Profile;
use insta::assert_snapshot;
use serde_json::Value;

use super::schema::assert_valid;
use super::{named, odd_names, operations, parsed, with_timeline};

const SCHEMA: &str = include_str!("../data/chrome-trace-schema.json");

#[track_caller]
fn trace(profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
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
    let text = trace(&with_timeline());
    assert_eq!(calls(&checked(&text)).count(), 5);
    assert_snapshot!(text);
}

#[test]
fn samples_end_to_end() {
    let text = trace(&operations());
    let events = checked(&text);
    let marks = "samples laid end to end, not real times";
    assert_eq!(parsed(&text)["otherData"]["source"], marks);
    assert!(events.iter().any(|event| event["name"] == marks));
    assert_snapshot!(text);
}

#[test]
fn names_of_every_kind() {
    for name in odd_names() {
        let [operations, timeline, _] = named(&name);
        for profile in [operations, timeline] {
            let events = checked(&trace(&profile));
            assert!(
                calls(&events).all(|event| event["name"] == *name),
                "{name:?}"
            );
            let remembered = |event: &Value| event["args"][&name] == *name;
            assert!(events.iter().any(remembered), "{name:?}");
        }
    }
}
