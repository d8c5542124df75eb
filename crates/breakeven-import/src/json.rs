//! JSON of other tools, read into a type with the place of what is wrong. Numbers that
//! JSON does not have (NaN, Infinity) are read where a writer printed them.

use std::fmt;
use std::io::BufReader;

use breakeven_profile::file::{FileError, FileErrorKind};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, Unexpected, Visitor};
use serde_json::error::Category;

use crate::nan::{INFINITE, NAN, NanAsText};
use crate::source::Source;

/// Reads a document that fits into memory.
pub(crate) fn read<T: DeserializeOwned>(source: Source) -> Result<T, FileError> {
    let path = source.path().to_owned();
    let reader = BufReader::new(NanAsText::of(source.into_reader()?));
    let mut json = serde_json::Deserializer::from_reader(reader);
    let mut track = serde_path_to_error::Track::new();
    let read = T::deserialize(serde_path_to_error::Deserializer::new(
        &mut json, &mut track,
    ));
    let read = read.and_then(|value| json.end().map(|()| value));
    read.map_err(|error| explained(&error, &track.path().to_string()).at_path(&path))
}

/// Reads a document that may be longer than memory: `visit` keeps of it what it needs, and
/// `place` tells where it was. Faster than [`read`], which notes every key.
pub(crate) fn stream<T>(
    source: Source,
    visit: impl for<'de> DeserializeSeed<'de, Value = T>,
    place: impl Fn() -> String,
) -> Result<T, FileError> {
    let path = source.path().to_owned();
    let mut json = serde_json::Deserializer::from_reader(source.into_reader()?);
    let read = visit.deserialize(&mut json);
    let read = read.and_then(|value| json.end().map(|()| value));
    read.map_err(|error| explained(&error, &place()).at_path(&path))
}

fn explained(error: &serde_json::Error, place: &str) -> FileError {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text = match text.strip_suffix(&position).unwrap_or(&text) {
        "trailing characters" => "something follows the end of the document",
        text => text,
    };
    let (kind, message) = match error.classify() {
        Category::Io => (FileErrorKind::Io, format!("cannot be read: {text}")),
        Category::Eof => (
            FileErrorKind::Truncated,
            "the file ends early; its writer was stopped or the copy is incomplete: copy or \
             measure again"
                .to_owned(),
        ),
        Category::Syntax => (FileErrorKind::Syntax, format!("not valid JSON: {text}")),
        Category::Data => (FileErrorKind::Value, text.to_owned()),
    };
    let told = FileError::new(kind, message).at_position(error.line(), error.column());
    match place {
        "" | "." => told,
        place => told.at_place(place),
    }
}

/// A number, or what stands in its place where there is none: NaN for `null` and for what
/// writers print of numbers that JSON does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(pub(crate) f64);

impl<'de> serde::Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number(f64::NAN))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        if text == NAN || text == INFINITE {
            return Ok(Number(f64::NAN));
        }
        let value = text.trim().parse().map(Number);
        value.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}
