//! What is written is read back; no text makes the reader panic.

use std::collections::BTreeMap;

use breakeven_profile::file::{self, FileErrorKind};
use proptest::prelude::*;
use serde_json::Value;

use super::arbitrary::profile;
use super::{parse, with_operations, written};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_profile_comes_back_as_it_was(profile in profile()) {
        let text = written(&profile);
        let read = parse(&text).unwrap();
        prop_assert_eq!(&read, &profile);
        prop_assert_eq!(written(&read), text);
    }

    #[test]
    fn what_was_computed_is_no_part_of_a_profile(profile in profile()) {
        let further = BTreeMap::from([("winners", [1, 2])]);
        let mut with_figures = profile.clone();
        for operation in &mut with_figures.operations {
            operation.figures = Value::from(7);
        }
        let mut text = Vec::new();
        file::write_with(&with_figures, &further, &mut text).unwrap();
        prop_assert_eq!(&parse(&text).unwrap(), &profile);
        let document: Value = serde_json::from_slice(&text).unwrap();
        prop_assert_eq!(&document["winners"][1], 2);
        for operation in document["operations"].as_array().unwrap() {
            prop_assert_eq!(&operation["figures"], 7);
        }
    }

    #[test]
    fn keys_may_come_in_any_order(profile in profile(), turn in any::<usize>()) {
        let document: Value = serde_json::from_str(&written(&profile)).unwrap();
        let mut text = String::new();
        turned(&document, turn, &mut text);
        prop_assert_eq!(parse(&text).unwrap(), profile);
    }

    #[test]
    fn every_truncation_is_an_error_with_a_line(profile in profile(), cut in any::<prop::sample::Index>()) {
        let text = written(&profile);
        let end = cut.index(text.len() - 1);
        let error = parse(&text.as_bytes()[..end]).unwrap_err();
        let expected = if end == 0 { FileErrorKind::Empty } else { FileErrorKind::Truncated };
        prop_assert_eq!(error.kind(), expected, "{}", error);
        prop_assert!(error.line() >= Some(1) || end == 0);
    }

    #[test]
    fn any_bytes_are_an_error_of_one_line(bytes in any::<Vec<u8>>()) {
        let error = parse(&bytes).unwrap_err();
        prop_assert!(!error.to_string().contains('\n'));
    }

    #[test]
    fn a_changed_byte_never_panics(profile in profile(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = written(&profile).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Err(error) = parse(&bytes) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}

/// Writes JSON with the keys of every object rotated by `turn`.
fn turned(value: &Value, turn: usize, text: &mut String) {
    match value {
        Value::Array(list) => {
            text.push('[');
            for (index, each) in list.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                turned(each, turn, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            if !entries.is_empty() {
                let by = turn % entries.len();
                entries.rotate_left(by);
            }
            text.push('{');
            for (index, (key, each)) in entries.into_iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                turned(each, turn, text);
            }
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[test]
fn every_prefix_of_a_full_document_is_truncated() {
    let text = include_str!("full.json").trim_end();
    for end in 1..text.len() {
        let error = parse(&text.as_bytes()[..end]).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::Truncated, "{end}: {error}");
        assert!(error.line() >= Some(1));
    }
}

#[test]
fn the_layout_is_stable() {
    let text = include_str!("full.json");
    assert_eq!(written(&parse(text).unwrap()), text);
}

#[test]
fn a_fraction_of_a_nanosecond_comes_back() {
    let read = parse(with_operations(
        r#"{"name": "a", "runs": [{"samples_ns": [0.61, 812000.0], "first_call_ns": 0.61,
        "warmup_ns": [0.61], "phases_ns": {"kernel": [0.61]}, "self_ns": 0.61}]}"#,
    ))
    .unwrap();
    let run = &read.operations[0].runs[0];
    assert_eq!(run.samples_ns, [0.61, 812_000.0]);
    assert_eq!((run.first_call_ns, run.self_ns), (Some(0.61), Some(0.61)));
    assert_eq!(run.warmup_ns, [0.61]);
    assert_eq!(run.phases_ns["kernel"], [0.61]);
    let text = written(&read);
    assert!(text.contains(r#""samples_ns": [0.61, 812000],"#), "{text}");
    assert_eq!(parse(&text).unwrap(), read);
}

#[test]
fn an_empty_profile_is_a_file() {
    insta::assert_snapshot!(written(&Default::default()), @r#"
{
  "format": "breakeven-profile",
  "version": 1,
  "operations": []
}
"#);
}

#[test]
fn what_no_file_can_hold_is_refused_before_writing() {
    use breakeven_profile::profile::{Clock, Operation, Peak, Profile, Run};

    let refused = |change: &dyn Fn(&mut Profile)| {
        let mut profile = Profile::default();
        profile.operations.push(Operation::new("sobel", "cpu"));
        profile.operations[0].runs.push(Run::default());
        change(&mut profile);
        let mut text = Vec::new();
        let error = file::write_to(&profile, &mut text).unwrap_err();
        assert_eq!(text, b"");
        assert_eq!(error.kind(), FileErrorKind::Value);
        error.to_string()
    };
    insta::assert_snapshot!(refused(&|profile| {
        profile.operations.push(Operation::new("sobel", "cpu"));
    }), @"operations[1]: the same operation as operations[0], sobel on cpu; give them different sizes, or put both in one operation as two runs");
    insta::assert_snapshot!(refused(&|profile| profile.operations[0].name.clear()), @"operations[0].name: the name is empty; give the operation a name");
    let refused_time = |ns| refused(&|profile| profile.operations[0].runs[0].warmup_ns.push(ns));
    insta::assert_snapshot!(refused_time(u64::MAX as f64), @"operations[0].runs[0].warmup_ns[0]: 18446744073709552000 ns is not a time; times are from 0 to 2^63 ns");
    insta::assert_snapshot!(refused_time(f64::NAN), @"operations[0].runs[0].warmup_ns[0]: NaN ns is not a time; times are from 0 to 2^63 ns");
    insta::assert_snapshot!(refused_time(-1.0), @"operations[0].runs[0].warmup_ns[0]: -1 ns is not a time; times are from 0 to 2^63 ns");
    let digits = format!("1{}", "0".repeat(300));
    assert_eq!(
        refused_time(1e300),
        format!(
            "operations[0].runs[0].warmup_ns[0]: {digits} ns is not a time; times are from 0 to 2^63 ns"
        )
    );
    insta::assert_snapshot!(refused(&|profile| {
        profile.environment.clock = Some(Clock { read_ns: f64::NAN, ..Clock::default() });
    }), @"environment: NaN cannot be written in JSON; leave the value out");
    insta::assert_snapshot!(refused(&|profile| {
        let flops_per_s = Some(f64::INFINITY);
        profile.evidence.peaks.push(Peak { flops_per_s, ..Peak::default() });
    }), @"evidence.peaks[0]: inf cannot be written in JSON; leave the value out");
}
