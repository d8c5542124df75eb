//! The message, decoded by the rules of protobuf: call paths and their times.

use std::io::Read as _;

use breakeven_judge::export::{ExportError, collapsed, pprof};
use breakeven_profile::profile::{Operation, Profile};
use flate2::read::GzDecoder;
use proptest::prelude::*;

use super::{arbitrary, named, odd_names, operations, run, with_stacks, with_timeline};

/// A field of a message: a count, or bytes.
enum Field<'m> {
    Count(u64),
    Bytes(&'m [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Count(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes);
                let (inside, rest) = bytes.split_at(usize::try_from(length).unwrap());
                bytes = rest;
                Field::Bytes(inside)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn inside<'m>(message: &[(u64, Field<'m>)], number: u64) -> Vec<&'m [u8]> {
    let fields = message.iter().filter(|(of, _)| *of == number);
    fields
        .map(|(_, field)| match field {
            Field::Bytes(bytes) => *bytes,
            Field::Count(_) => panic!("{number} is a count"),
        })
        .collect()
}

fn count(message: &[u8], number: u64) -> u64 {
    let fields = fields(message);
    let found = fields.iter().find(|(of, _)| *of == number);
    match found {
        Some((_, Field::Count(count))) => *count,
        _ => panic!("no count {number}"),
    }
}

fn counts(mut packed: &[u8]) -> Vec<u64> {
    let mut values = Vec::new();
    while !packed.is_empty() {
        values.push(varint(&mut packed));
    }
    values
}

/// Each path with its time, as a collapsed line has it, and the comment.
fn decoded(packed: &[u8]) -> (Vec<String>, String) {
    let mut message = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut message).unwrap();
    let message = fields(&message);
    let texts = inside(&message, 6);
    let text = |number: u64| {
        let bytes = texts[usize::try_from(number).unwrap()];
        std::str::from_utf8(bytes).unwrap()
    };
    assert_eq!(text(0), "");
    let [kind] = inside(&message, 1)[..] else {
        panic!("one type of value")
    };
    assert_eq!(
        [text(count(kind, 1)), text(count(kind, 2))],
        ["time", "nanoseconds"]
    );
    let functions = inside(&message, 5);
    let name = |location: u64| {
        let locations = inside(&message, 4);
        let found = locations.iter().find(|each| count(each, 1) == location);
        let line = inside(&fields(found.expect("a location")), 4)[0];
        let function = count(line, 1);
        let found = functions.iter().find(|each| count(each, 1) == function);
        text(count(found.expect("a function"), 2)).to_owned()
    };
    let samples = inside(&message, 2);
    let lines = samples.iter().map(|sample| {
        let sample = fields(sample);
        let path = counts(inside(&sample, 1)[0]).into_iter().rev().map(name);
        let path = path.collect::<Vec<_>>().join(";");
        let [ns] = counts(inside(&sample, 2)[0])[..] else {
            panic!("one value")
        };
        format!("{path} {ns}")
    });
    let comment = message.iter().find_map(|(number, field)| match field {
        Field::Count(comment) if *number == 13 => Some(text(*comment).to_owned()),
        _ => None,
    });
    (lines.collect(), comment.expect("a comment"))
}

fn written(profile: &Profile) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    pprof(profile, &mut out).map(|()| out)
}

fn lines(profile: &Profile) -> Vec<String> {
    let mut out = Vec::new();
    collapsed(profile, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn paths_and_times_are_those_of_the_collapsed_stacks() {
    let mut profiles = vec![operations(), with_timeline(), with_stacks()];
    profiles.extend(odd_names().iter().flat_map(|name| named(name)));
    for profile in profiles {
        let (decoded, comment) = decoded(&written(&profile).unwrap());
        assert_eq!(decoded, lines(&profile));
        assert!(comment.contains("time of"), "{comment}");
    }
}

#[test]
fn nothing_and_too_much_are_errors() {
    assert!(matches!(
        written(&Profile::default()),
        Err(ExportError::Empty)
    ));
    let mut profile = Profile::default();
    let mut operation = Operation::new("f", "cpu");
    operation.runs.push(run(&[2_f64.powi(63)]));
    profile.operations.push(operation);
    assert!(matches!(written(&profile), Err(ExportError::TooLong)));
}

proptest! {
    #[test]
    fn any_profile_can_be_decoded(profile in arbitrary::profile()) {
        if let Ok(packed) = written(&profile) {
            prop_assert_eq!(decoded(&packed).0, lines(&profile));
        }
    }
}
