//! The file against speedscope's own schema (`file-format-schema.json` of its
//! npm package 1.25.0, MIT) and against what its reader throws on.

use breakeven_judge::export::speedscope as write;
use breakeven_profile::profile::Profile;
use insta::assert_snapshot;
use serde_json::Value;

use super::schema::assert_valid;
use super::{named, odd_names, operations, parsed, with_stacks, with_timeline};

const SCHEMA: &str = include_str!("../data/speedscope-schema.json");

#[track_caller]
fn file(profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What a checked file holds.
pub(super) struct Checked {
    pub(super) profiles: Vec<Value>,
    pub(super) frames: Vec<String>,
    /// Time inside any call, per evented profile, ns.
    pub(super) busy_ns: Vec<u64>,
}

#[track_caller]
pub(super) fn checked(text: &str) -> Checked {
    let file = parsed(text);
    assert_valid(&file, SCHEMA);
    let frames = file["shared"]["frames"].as_array().unwrap();
    let frames: Vec<String> = frames
        .iter()
        .map(|frame| frame["name"].as_str().unwrap().to_owned())
        .collect();
    let profiles = file["profiles"].as_array().unwrap().clone();
    let mut busy_ns = Vec::new();
    for profile in &profiles {
        assert_eq!(profile["unit"], "nanoseconds");
        match profile["type"].as_str().unwrap() {
            "evented" => busy_ns.push(evented(profile, frames.len())),
            _ => sampled(profile, frames.len()),
        }
    }
    Checked {
        profiles,
        frames,
        busy_ns,
    }
}

/// Balanced, in the order of time, within the profile's bounds. The time inside any call.
#[track_caller]
fn evented(profile: &Value, frames: usize) -> u64 {
    let (mut now, end) = (number(&profile["startValue"]), number(&profile["endValue"]));
    let mut open = Vec::new();
    let mut busy = 0;
    for event in profile["events"].as_array().unwrap() {
        let (at, frame) = (number(&event["at"]), number(&event["frame"]));
        assert!(now <= at && at <= end, "{event}");
        assert!(frame < frames as u64, "{event}");
        if !open.is_empty() {
            busy += at - now;
        }
        now = at;
        if event["type"] == "O" {
            open.push(frame);
        } else {
            assert_eq!(open.pop(), Some(frame), "{event}");
        }
    }
    assert!(open.is_empty(), "{open:?}");
    busy
}

#[track_caller]
fn sampled(profile: &Value, frames: usize) {
    let list = |name: &str| profile[name].as_array().unwrap().clone();
    let (samples, weights) = (list("samples"), list("weights"));
    assert_eq!(samples.len(), weights.len());
    let total: u64 = weights.iter().map(number).sum();
    assert_eq!(number(&profile["endValue"]), total);
    let mut indices = samples.iter().flat_map(|stack| stack.as_array().unwrap());
    assert!(indices.all(|index| number(index) < frames as u64));
}

#[track_caller]
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn a_timeline() {
    let text = file(&with_timeline());
    let found = checked(&text);
    let names: Vec<_> = found
        .profiles
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    assert_eq!(names, ["main", "tasks", "tasks (overlapping 1)"]);
    assert_eq!(found.busy_ns, [10_000, 5_000, 5_000]);
    assert_snapshot!(text);
}

#[test]
fn stacks() {
    let text = file(&with_stacks());
    checked(&text);
    assert_snapshot!(text);
}

#[test]
fn a_timeline_and_stacks() {
    let profile = Profile {
        stacks: with_stacks().stacks,
        ..with_timeline()
    };
    let kinds = checked(&file(&profile)).profiles;
    let kinds: Vec<_> = kinds.iter().map(|one| one["type"].clone()).collect();
    assert_eq!(kinds, ["evented", "evented", "evented", "sampled"]);
}

#[test]
fn only_operations() {
    let text = file(&operations());
    checked(&text);
    assert_snapshot!(text);
}

#[test]
fn names_of_every_kind() {
    for name in odd_names() {
        for profile in named(&name) {
            let found = checked(&file(&profile));
            assert!(found.frames.contains(&name), "{name:?}");
        }
    }
}
