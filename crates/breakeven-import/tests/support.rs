//! What the tests of the formats share.

use std::fmt::Write as _;
use std::path::PathBuf;

use breakeven_import::{Imported, Options, read, read_from};
use breakeven_profile::file;
use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::unit;

/// A file below `tests/data`.
pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Reads a file below `tests/data` whose format is recognised by its content. The profile can be
/// written as a profile file, and is the same when it is read again.
#[track_caller]
pub(crate) fn imported(name: &str) -> Imported {
    let imported = read(&data(name), &Options::default()).expect(name);
    let mut text = Vec::new();
    file::write_to(&imported.profile, &mut text).expect("a profile that can be written");
    let again = file::read_from(&text[..], name).expect("a profile that can be read");
    assert_eq!(again, imported.profile);
    imported
}

/// Reads a text whose format is recognised by its content. The profile can be written and read.
#[track_caller]
pub(crate) fn read_text(text: impl Into<Vec<u8>>) -> Imported {
    let text = text.into();
    let shown = String::from_utf8_lossy(&text).into_owned();
    let read = read_from(std::io::Cursor::new(text), "file", &Options::default());
    let imported = read.unwrap_or_else(|error| panic!("{error}: {shown}"));
    let mut written = Vec::new();
    file::write_to(&imported.profile, &mut written).expect("a profile that can be written");
    let again = file::read_from(&written[..], "again").expect("a profile that can be read");
    assert_eq!(again, imported.profile);
    imported
}

/// The error of a text, in one line.
#[track_caller]
pub(crate) fn refused(text: impl Into<Vec<u8>>, options: &Options) -> String {
    let read = read_from(std::io::Cursor::new(text.into()), "file", options);
    let error = read.expect_err("an error").to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// A profile in short: a line per operation, and the notes.
pub(crate) fn summary(imported: &Imported) -> String {
    let mut text = format!(
        "format {}\n",
        imported.format.expect("a format of another tool").name()
    );
    for operation in &imported.profile.operations {
        writeln!(text, "{}", line(operation)).expect("a text");
    }
    for note in &imported.notes {
        writeln!(text, "note: {note}").expect("a text");
    }
    text
}

fn line(operation: &Operation) -> String {
    let median = operation.summary().map(|summary| summary.median);
    let median = median.map_or_else(|_| "–".to_owned(), breakeven_profile::unit::time);
    let samples: Vec<u64> = operation.runs.iter().map(|run| run.calls()).collect();
    let mut text = format!(
        "{} | samples {samples:?} | median {median}",
        operation.key()
    );
    for (name, value) in &operation.attributes {
        write!(text, " | {name} {value}").expect("a text");
    }
    if let Some(failure) = &operation.failure {
        write!(text, " | failed: {failure}").expect("a text");
    }
    text
}

/// The call paths of a profile, a line each.
pub(crate) fn paths(profile: &Profile) -> String {
    let line = |stack: &breakeven_profile::profile::Stack| {
        format!(
            "path {}: {} calls, {} total, {} own\n",
            stack.frames.join(";"),
            stack.calls,
            unit::time(stack.total_ns as f64),
            unit::time(stack.self_ns as f64)
        )
    };
    profile.stacks.iter().map(line).collect()
}

/// What the devices of a profile did, as its file has it.
pub(crate) fn activity(profile: &Profile) -> String {
    serde_json::to_string_pretty(&profile.activity).expect("JSON")
}
