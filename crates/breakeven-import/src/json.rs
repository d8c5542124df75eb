//! JSON of other tools as its writers really leave it: with `NaN`, control characters, wrong
//! escapes, bytes that are not UTF-8, trailing commas, damaged entries and an early end. What is
//! wrong is mended and noted with its place, and what came before a place that cannot be read
//! counts. A value or an entry of another shape than the tool writes is left out and named.

use std::borrow::Cow;
use std::path::Path;

use breakeven_profile::file::{FileError, FileErrorKind, in_words};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_path_to_error::{Path as Place, Segment};

use crate::note::Notes;
use crate::reader::Reader;
use crate::source::{MOST_MIB_OF_TRACE, Source};

/// Reads a document.
pub(crate) fn read<T: DeserializeOwned>(source: Source, notes: &mut Notes) -> Result<T, FileError> {
    let path = source.path().to_owned();
    let text = source.into_memory(notes)?;
    of(&text, &path, Value::Null, notes)
}

/// Reads a text, in which `NaN` stands for that value.
pub(crate) fn of<T: DeserializeOwned>(
    text: &[u8],
    path: &Path,
    nan: Value,
    notes: &mut Notes,
) -> Result<T, FileError> {
    let mut reader = Reader::of(text, 1, notes);
    reader.nan = nan;
    let (value, wrong) = reader.document();
    let why = |error: FileError| error.at_path(path);
    let read = value.map(lenient);
    match (read, wrong) {
        (Some(Ok((value, odd))), wrong) => {
            wrong.into_iter().for_each(|wrong| notes.stop(wrong));
            for place in odd {
                notes.leave_out("value(s)", ODD, &place);
            }
            Ok(value)
        }
        (_, Some(wrong)) => Err(why(wrong)),
        (Some(Err(wrong)), None) => Err(why(FileError::new(FileErrorKind::Value, wrong))),
        (None, None) => Err(why(FileError::truncated())),
    }
}

/// Reads a line of that number, which is a document of its own, also with a comma behind it.
pub(crate) fn line(line: &str, number: usize, notes: &mut Notes) -> Result<Value, FileError> {
    let line = line.trim_end().trim_end_matches(',');
    match Reader::of(line.as_bytes(), number, notes).document() {
        (Some(value), None) => Ok(value),
        (_, wrong) => Err(wrong.unwrap_or_else(FileError::truncated)),
    }
}

/// Reads documents one behind the other.
pub(crate) fn documents(text: &str, notes: &mut Notes) -> Vec<Value> {
    let mut reader = Reader::of(text.as_bytes(), 1, notes);
    let mut all = Vec::new();
    while reader.wrong.is_none() && reader.peek().is_some() {
        let value = reader.value();
        all.extend(value.filter(|_| reader.wrong.is_none()));
    }
    if let Some(wrong) = reader.wrong {
        notes.stop(wrong);
    }
    all
}

/// Hands over the values at the places that are wanted, such as `traceEvents[]`, one by one: of
/// a long trace only the text is in memory.
pub(crate) fn each(
    source: Source,
    mut want: impl FnMut(&str) -> bool,
    notes: &mut Notes,
    mut part: impl FnMut(&str, Value, &mut Notes),
) -> Result<(), FileError> {
    let text = source.into_bytes(MOST_MIB_OF_TRACE, notes)?;
    let mut reader = Reader::of(&text, 1, notes);
    reader.walk(&mut String::new(), &mut want, &mut part);
    reader.end();
    if let Some(wrong) = reader.wrong {
        notes.stop(wrong);
    }
    Ok(())
}

/// The entries, and what was left out: what it is, its place, and what is wrong with it.
pub(crate) struct Entries<T> {
    pub(crate) read: Vec<T>,
    left_out: Vec<(&'static str, String)>,
}

/// Why a value or an entry is left out.
const ODD: &str = "they are not as the tool writes them";

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
            notes.leave_out(what, ODD, place);
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
fn take(document: &mut Value, place: &Place) -> Option<Value> {
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
        let kind = match &value {
            Value::Null => return Ok(Self(f64::NAN)),
            Value::String(_) => "invalid value: string",
            _ => "invalid type:",
        };
        let found = number(&value).map(Self);
        found.ok_or_else(|| format!("{kind} {value}, expected a number"))
    }
}

/// A number, also as a text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
}

/// A text, or what stands for one: a number, true, what is in an object; else nothing.
pub(crate) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        // As in `id2`: {"local": "0x1"}.
        Value::Object(map) => map.values().map(text).collect::<String>().into(),
        Value::Null | Value::Array(_) => "".into(),
        other => other.to_string().into(),
    }
}

/// A whole number that is not negative, also as a text.
#[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
pub(crate) fn count(value: &Value) -> Option<u64> {
    let is_count = |value: &f64| (0.0..9e15).contains(value) && value.fract() == 0.0;
    let whole = value.as_u64();
    whole.or_else(|| Some(number(value).filter(is_count)? as u64))
}

/// The farthest from its clock's zero that a time may be, ns: 146 years.
const FARTHEST_NS: u64 = 1 << 62;

/// A time of a trace, a number in a unit of so many ns, as ns of its clock.
pub(crate) fn ns(value: &Value, unit_ns: i64) -> Option<i64> {
    let ns = match value.as_i64() {
        Some(whole) => whole.checked_mul(unit_ns)?,
        None => {
            // The whole part times the unit is exact, where the product of all is not.
            let value = number(value).filter(|value| value.is_finite())?;
            let fraction = (value.fract() * unit_ns as f64).round() as i64;
            let whole = (value.trunc() as i64).checked_mul(unit_ns)?;
            whole.checked_add(fraction)?
        }
    };
    (ns.unsigned_abs() <= FARTHEST_NS).then_some(ns)
}

/// Three counts, as of a launch's grid: `[64, 1, 1]`, or rocprofv3's `{"x": 64, …}`.
pub(crate) fn three(value: &Value) -> Option<[u64; 3]> {
    let three = match value {
        Value::Array(list) => [0, 1, 2].map(|at| count(list.get(at)?)),
        axes => ["x", "y", "z"].map(|axis| count(axes.get(axis)?)),
    };
    Some([three[0]?, three[1].unwrap_or(1), three[2].unwrap_or(1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_any_shape() {
        assert_eq!(ns(&json!(12.5), 1_000), Some(12_500));
        assert_eq!(count(&json!(" 7 ")), Some(7));
        assert_eq!(count(&json!(2.0)), Some(2));
        for none in [
            json!(null),
            json!("nan"),
            json!("inf"),
            json!([1]),
            json!(-1e30),
        ] {
            assert_eq!((ns(&none, 1_000), count(&none)), (None, None), "{none}");
        }
        assert_eq!(three(&json!({"x": 2, "y": 3})), Some([2, 3, 1]));
        assert_eq!(three(&json!([4])), Some([4, 1, 1]));
        assert_eq!(text(&json!({"local": "0x1"})), "0x1");
    }
}
