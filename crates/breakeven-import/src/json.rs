//! JSON of other tools, read into a type with the place of what is wrong. What JSON does not
//! have is mended, and of a document that ends early or is damaged further on, what came
//! before is read ([`Mended`](crate::mended::Mended)).

use std::io::Read as _;

use breakeven_profile::file::{FileError, FileErrorKind};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, Unexpected, Visitor};
use serde_json::error::Category;

use crate::entries::lenient;
use crate::fields::expects;
use crate::mended::Mended;
use crate::source::Source;

/// Reads a document that fits into memory.
pub(crate) fn read<T: DeserializeOwned>(source: Source) -> Result<T, FileError> {
    let path = source.path().to_owned();
    let mended = source.mended();
    let mut text = Vec::new();
    let all = source.into_json()?.read_to_end(&mut text);
    all.map_err(|reason| FileError::io("cannot be read", &reason).at_path(&path))?;
    let (reason, end) = match parsed(&text, &mended) {
        Ok(value) => return Ok(value),
        Err(reason) => reason,
    };
    let document = || serde_json::from_slice(&text).ok();
    if reason.kind() == FileErrorKind::Value
        && let Some(Ok((value, odd))) = document().map(lenient)
    {
        let position = [reason.line(), reason.column()].map(Option::unwrap_or_default);
        let what = "not as the tool writes it and read as missing";
        let places = odd.iter().filter_map(|odd| odd.split(": ").next());
        places.for_each(|place| mended.add(what, place.as_bytes(), position, b""));
        return Ok(value);
    }
    match closed(&text[..end]).and_then(|text| parsed(&text, &mended).ok()) {
        Some(value) => {
            mended.stop(reason);
            Ok(value)
        }
        None => Err(reason.at_path(&path)),
    }
}

/// The value of a document, or why there is none, and how much of it is valid JSON: nothing
/// if another value is needed.
fn parsed<T: DeserializeOwned>(text: &[u8], mended: &Mended) -> Result<T, (FileError, usize)> {
    let mut json = serde_json::Deserializer::from_reader(text);
    let mut track = serde_path_to_error::Track::new();
    let read = T::deserialize(serde_path_to_error::Deserializer::new(
        &mut json, &mut track,
    ));
    if let (true, Err(reason)) = (read.is_ok(), json.end()) {
        mended.stop(FileError::json(&reason, ""));
    }
    read.map_err(|reason| {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let before = lines
            .take(reason.line() - 1)
            .map(<[u8]>::len)
            .sum::<usize>();
        let end = match reason.classify() {
            Category::Eof => text.len(),
            Category::Syntax => before + reason.column().saturating_sub(1),
            Category::Io | Category::Data => 0,
        };
        (
            FileError::json(&reason, &track.path().to_string()),
            end.min(text.len()),
        )
    })
}

/// The beginning of a document without the entry in which it ends, closed: of the outermost
/// list that has a complete entry, all complete ones stay.
fn closed(beginning: &[u8]) -> Option<Vec<u8>> {
    // The end of each open bracket, and that of the last complete entry inside it.
    let mut open: Vec<(u8, Option<usize>)> = Vec::new();
    let (mut in_text, mut escaped) = (false, false);
    for (at, byte) in beginning.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' => open.push((b']', None)),
            b'{' => open.push((b'}', None)),
            b']' | b'}' => {
                open.pop();
            }
            b',' => {
                if let Some((b']', complete)) = open.last_mut() {
                    *complete = Some(at);
                }
            }
            _ => {}
        }
        if let (b']' | b'}', false, Some((b']', complete))) = (byte, in_text, open.last_mut()) {
            *complete = Some(at + 1);
        }
    }
    let outermost = open.iter().position(|(_, complete)| complete.is_some())?;
    let mut text = beginning[..open[outermost].1?].to_vec();
    text.extend(open[..=outermost].iter().rev().map(|(end, _)| end));
    Some(text)
}

/// Reads a document that may be longer than memory: `visit` keeps of it what it needs.
/// Faster than [`read`], which notes every key.
pub(crate) fn stream(
    source: Source,
    visit: impl for<'de> DeserializeSeed<'de, Value = ()>,
) -> Result<(), FileError> {
    let path = source.path().to_owned();
    let mended = source.mended();
    let mut json = serde_json::Deserializer::from_reader(source.into_json()?);
    let read = visit.deserialize(&mut json).and_then(|()| json.end());
    let Err(error) = read else { return Ok(()) };
    let told = FileError::json(&error, "").at_path(&path);
    match error.classify() {
        Category::Io | Category::Data => return Err(told),
        Category::Syntax | Category::Eof => mended.stop(told),
    }
    Ok(())
}

/// A number; NaN for `null`, which also stands for numbers that JSON does not have.
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

    expects!("a number");

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
        let value = text.trim().parse().map(Number);
        value.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// An entry of a list, or what is not one and is left out.
#[derive(serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum Entry<T> {
    Is(T),
    IsNot(serde::de::IgnoredAny),
}

impl<T> Entry<T> {
    pub(crate) fn ok(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::IsNot(_) => None,
        }
    }
}

/// The entries of a list as far as they can be read.
pub(crate) fn entries<T>(list: Entry<Vec<Entry<T>>>) -> Vec<T> {
    let entries = list.ok().unwrap_or_default().into_iter();
    entries.filter_map(Entry::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_ends_early_has_its_complete_entries() {
        let closed = |text: &str| {
            closed(text.as_bytes()).map(|text| String::from_utf8(text).expect("a text"))
        };
        for (text, expected) in [
            (
                r#"{"a": [{"b": [1, 2]}, {"b": [3, 4"#,
                Some(r#"{"a": [{"b": [1, 2]}]}"#),
            ),
            (
                r#"{"a": [{"b": [1, 2, 3"#,
                Some(r#"{"a": [{"b": [1, 2]}]}"#),
            ),
            (r#"[1, "]", "x\\", 2"#, Some(r#"[1, "]", "x\\"]"#)),
            (r#"{"a": [1, 2], "b": {"c"#, None),
            (r#"{"a": [1"#, None),
        ] {
            assert_eq!(closed(text).as_deref(), expected, "{text}");
        }
    }
}
