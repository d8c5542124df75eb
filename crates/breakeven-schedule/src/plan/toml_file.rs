//! Reads a user's TOML: errors name the line and the column.

use std::ops::Range;

use breakeven_profile::file::in_words;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::error::{Error, ErrorKind};

/// Reads a document.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        let message = in_words(&message.replace("unknown variant", "unknown value"));
        error_at(text, error.span(), &message)
    })
}

/// Returns an error at the first of these keys at the top level of the document.
pub(super) fn error_at_key(text: &str, keys: &[&str], message: &str) -> Error {
    let place = DeTable::parse(text).ok().and_then(|table| {
        let key = |key: &&str| Some(table.get_ref().get_key_value(*key)?.0.span());
        keys.iter().find_map(key)
    });
    error_at(text, place, message)
}

/// Returns an error at that place of the text, or at its beginning.
pub(super) fn error_at(text: &str, place: Option<Range<usize>>, message: &str) -> Error {
    let start = place.map_or(0, |place| place.start.min(text.len()));
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Error::new(
        ErrorKind::File,
        format!("line {line}, column {column}: {message}"),
    )
}

/// Compares errors with expected ones, one case a line: `document => error`, with `; ` between the
/// lines of the document.
#[cfg(test)]
pub(super) fn refuses<T: std::fmt::Debug>(cases: &str, read: fn(&str) -> Result<T, Error>) {
    for case in cases.lines().skip(1) {
        let (text, expected) = case.split_once(" => ").expect("a document and an error");
        let error = read(&text.replace("; ", "\n")).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
        assert_eq!(error.kind(), ErrorKind::File);
    }
}
