//! JSON of other tools, read into a type with the place of what is wrong. What JSON does not
//! have is mended, and of a document that ends early or is damaged further on, what came
//! before is read ([`Mended`]). An entry of a list that is not as it
//! should be is left out and named, and so is a value inside it that may be missing.

use breakeven_profile::file::{FileError, FileErrorKind, in_words};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use crate::mended::{Mended, json};
use crate::note::Notes;
use crate::source::Source;
use crate::walk::{Parts, Walk};

/// Reads a document that fits into memory.
pub(crate) fn read<T: DeserializeOwned>(source: Source) -> Result<T, FileError> {
    read_changed(source, |_| {})
}

/// [`read`] of a document whose bytes are changed before.
pub(crate) fn read_changed<T: DeserializeOwned>(
    source: Source,
    change: impl FnOnce(&mut [u8]),
) -> Result<T, FileError> {
    let path = source.path().to_owned();
    let mended = source.mended();
    let mut text = source.into_memory()?;
    change(&mut text);
    let mut read = parsed(&text, &mended);
    let mut document: Option<Value> = None;
    if read.is_err() {
        document = serde_json::from_slice(&text).ok();
        if document.is_none() {
            text = json(&text, [1, 1], &mended, false).into_bytes();
            read = parsed(&text, &mended);
            document = serde_json::from_slice(&text).ok();
        }
    }
    let (reason, end) = match read {
        Ok(value) => return Ok(value),
        Err(reason) => reason,
    };
    if let Some(Ok((value, odd))) = document.map(lenient) {
        let position = [reason.line(), reason.column()].map(Option::unwrap_or_default);
        let what = "not as the tool writes it and read as missing";
        let places = odd.iter().filter_map(|odd| odd.split(": ").next());
        places.for_each(|place| mended.add(what, place.as_bytes(), position, b""));
        return Ok(value);
    }
    let (mut reason, mut end) = (reason, end);
    for _ in 0..MOST_REMOVED {
        let Some(shorter) = without_entry(&text, end) else {
            break;
        };
        let position = [reason.line(), reason.column()].map(Option::unwrap_or_default);
        mended.add("no valid JSON and left out", b"an entry", position, b"");
        text = shorter;
        (reason, end) = match parsed(&text, &mended) {
            Ok(value) => return Ok(value),
            Err(reason) => reason,
        };
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

/// Entries that are left out of one file, each for a parse of all of it.
const MOST_REMOVED: usize = 32;

/// The document without the entry whose JSON is wrong at `at`: from the innermost object of a
/// list that is open there to the next object of that list, or to the list's end.
fn without_entry(text: &[u8], at: usize) -> Option<Vec<u8>> {
    let open = open_brackets(&text[..at]);
    let is_entry = |pair: &&[Open]| (pair[0].end, pair[1].end) == (b']', b'}');
    let entry = open.windows(2).rev().find(is_entry)?[1].at;
    let solid = |from: usize| {
        let rest = text[from..].iter();
        let place = rest.clone().position(|byte| !byte.is_ascii_whitespace())?;
        Some((from + place, text[from + place]))
    };
    let mut ends = (at..text.len()).filter(|place| text[*place] == b'}');
    let (next, is_last) = ends.find_map(|end| match solid(end + 1)? {
        (comma, b',') => match solid(comma + 1)? {
            (next, b'{') => Some((next, false)),
            _ => None,
        },
        (list_end, b']') => Some((list_end, true)),
        _ => None,
    })?;
    let mut shorter = text[..entry].to_vec();
    if is_last {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        shorter
            .truncate(shorter.len() - shorter.iter().rev().take_while(|b| is_between(b)).count());
    }
    shorter.extend(&text[next..]);
    Some(shorter)
}

/// A bracket that is open.
struct Open {
    at: usize,
    /// What closes it.
    end: u8,
    /// Where the last complete entry inside it ends.
    complete: Option<usize>,
}

/// The brackets that are open at the end of the beginning of a document.
fn open_brackets(beginning: &[u8]) -> Vec<Open> {
    let mut open: Vec<Open> = Vec::new();
    let (mut in_text, mut escaped) = (false, false);
    let opened = |at, end| Open {
        at,
        end,
        complete: None,
    };
    for (at, byte) in beginning.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' => open.push(opened(at, b']')),
            b'{' => open.push(opened(at, b'}')),
            b']' | b'}' => {
                open.pop();
            }
            b',' => {
                if let Some(around) = open.last_mut() {
                    around.complete = Some(at);
                }
            }
            _ => {}
        }
        if let (b']' | b'}', false, Some(around)) = (byte, in_text, open.last_mut()) {
            around.complete = Some(at + 1);
        }
    }
    open
}

/// The beginning of a document without the entry in which it ends, closed: of the outermost
/// list that has a complete entry, all complete ones stay, or else those of the innermost
/// object that is in no list.
fn closed(beginning: &[u8]) -> Option<Vec<u8>> {
    let open = open_brackets(beginning);
    let first_list = open.iter().position(|each| each.end == b']');
    let (around, lists) = open.split_at(first_list.unwrap_or(open.len()));
    let list = lists
        .iter()
        .position(|each| each.end == b']' && each.complete.is_some());
    let object = || around.iter().rposition(|each| each.complete.is_some());
    let last = list.map(|at| around.len() + at).or_else(object)?;
    let mut text = beginning[..open[last].complete?].to_vec();
    text.extend(open[..=last].iter().rev().map(|each| each.end));
    Some(text)
}

/// Reads a document that may be longer than memory.
pub(crate) fn stream(source: Source, parts: &mut impl Parts) -> Result<(), FileError> {
    let path = source.path().to_owned();
    let mended = source.mended();
    let Err(error) = Walk::of(source.into_bytes()?, parts, mended.clone()).document() else {
        return Ok(());
    };
    let error = error.at_path(&path);
    match error.kind() {
        FileErrorKind::Syntax | FileErrorKind::Truncated => mended.stop(error),
        _ => return Err(error),
    }
    Ok(())
}

/// The entries, and what was left out: what it is, its place, and what is wrong with it.
pub(crate) struct Entries<T> {
    pub(crate) read: Vec<T>,
    left_out: Vec<(&'static str, String)>,
}

/// Keys of an entry's name in the formats that are read.
const NAMES: [&str; 6] = [
    "name",
    "fullname",
    "benchmark",
    "command",
    "FullName",
    "tag",
];

impl<T> Entries<T> {
    /// Those that could be read; the others are noted.
    pub(crate) fn noted(self, notes: &mut Notes) -> Vec<T> {
        self.note(notes);
        self.read
    }

    pub(crate) fn note(&self, notes: &mut Notes) {
        for (what, place) in &self.left_out {
            notes.leave_out(what, "they are not as the tool writes them", place);
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all: Vec<Value> = Deserialize::deserialize(deserializer)?;
        let (mut read, mut left_out) = (Vec::new(), Vec::new());
        for (number, entry) in (1..).zip(all) {
            let name = NAMES.iter().find_map(|key| entry.get(key)?.as_str());
            let name = name.map_or_else(String::new, |name| format!(", {name}"));
            let (whats, wrong) = match lenient(entry) {
                Ok((entry, odd)) => {
                    read.push(entry);
                    ("value(s)", odd)
                }
                Err(why) => ("result(s)", vec![why]),
            };
            let places = wrong
                .iter()
                .map(|why| format!("number {number}{name}: {why}"));
            left_out.extend(places.map(|place| (whats, place)));
        }
        Ok(Self { read, left_out })
    }
}

/// Most values of one entry that may be of another shape.
const MOST_ODD: usize = 64;

/// Reads a value. What in it is of another shape than the tool writes is read as missing,
/// if it may be, and returned beside it with its place.
pub(crate) fn lenient<T: DeserializeOwned>(mut value: Value) -> Result<(T, Vec<String>), String> {
    let (mut odd, mut first) = (Vec::new(), None);
    for _ in 0..=MOST_ODD {
        let error = match serde_path_to_error::deserialize(&value) {
            Ok(read) => return Ok((read, odd)),
            Err(error) => error,
        };
        let text = in_words(&error.to_string());
        let taken = take(&mut value, error.path());
        if taken.as_ref().is_some_and(|taken| !taken.is_null()) {
            odd.push(text.clone());
        }
        first.get_or_insert(text);
        if taken.is_none() {
            break;
        }
    }
    Err(first.unwrap_or_default())
}

/// Takes the value at a place out of a document. In a list, whose other entries keep their
/// places, null stands for it, unless that is what was wrong.
fn take(document: &mut Value, place: &Path) -> Option<Value> {
    let mut steps: Vec<&Segment> = place.iter().collect();
    let last = steps.pop()?;
    let around = steps
        .into_iter()
        .try_fold(document, |around, step| match step {
            Segment::Map { key } => around.get_mut(key),
            Segment::Seq { index } => around.get_mut(index),
            _ => None,
        })?;
    match (around, last) {
        (Value::Object(map), Segment::Map { key }) => map.remove(key),
        (Value::Array(list), Segment::Seq { index }) => match list.get_mut(*index)? {
            Value::Null => Some(list.remove(*index)),
            entry => Some(entry.take()),
        },
        _ => None,
    }
}

/// A number, also as a text; NaN for `null`, which also stands for numbers that JSON does
/// not have.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Number(pub(crate) f64);

impl TryFrom<Value> for Number {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = match &value {
            Value::Null => Some(f64::NAN),
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        let kind = if value.is_string() {
            "invalid value: string"
        } else {
            "invalid type:"
        };
        number
            .map(Self)
            .ok_or_else(|| format!("{kind} {value}, expected a number"))
    }
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
            (r#"{"a": [1, 2], "b": {"c"#, Some(r#"{"a": [1, 2]}"#)),
            (
                r#"{"a": 1, "b": {"c": [3], "d": [{"e": 1, "f": "#,
                Some(r#"{"a": 1, "b": {"c": [3]}}"#),
            ),
            (r#"{"a": 1"#, None),
            (r#"{"a": [1"#, None),
        ] {
            assert_eq!(closed(text).as_deref(), expected, "{text}");
        }
    }
}
