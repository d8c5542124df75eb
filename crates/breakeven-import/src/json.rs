//! JSON of other tools as its writers really leave it: with `NaN`, control characters, wrong
//! escapes, bytes that are not UTF-8, trailing commas, damaged entries and an early end. What is
//! wrong is mended and noted with its place, and what came before a place that cannot be read
//! counts. A value or an entry of another shape than the tool writes is left out and named.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use breakeven_profile::file::{FileError, FileErrorKind, in_words};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::{Map, Value};
use serde_path_to_error::{Path as Place, Segment};

use crate::note::{Notes, position};
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
    let (value, wrong) = Reader {
        nan,
        ..Reader::of(text, 1, notes)
    }
    .document();
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

/// How deep keys are looked at.
const DEPTH: usize = 4;

/// Keys of the document that begins so, each with those around it: `results`,
/// `results[].command`. Empty for what is no JSON.
pub(crate) fn keys(beginning: &[u8]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut want = |place: &str| {
        if !place.is_empty() && !keys.contains(place) {
            keys.insert(place.to_owned());
        }
        let depth = place.split('.').map(|key| 1 + key.matches("[]").count());
        depth.sum::<usize>() >= DEPTH
    };
    // A beginning ends in the middle: what came before counts.
    let mut notes = Notes::default();
    let mut reader = Reader::of(beginning, 1, &mut notes);
    reader.walk(&mut String::new(), &mut want, &mut |_, _, _| {});
    keys
}

/// The deepest that values are inside each other.
const DEEPEST: usize = 128;

/// Reads a text value by value. Where it is wrong and cannot be mended, `wrong` says why, and
/// nothing behind is read.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// The number of the first line.
    line: usize,
    /// Brackets that are open, and those of lists.
    depth: usize,
    lists: usize,
    wrong: Option<FileError>,
    /// What `NaN` stands for.
    nan: Value,
    notes: &'t mut Notes,
}

impl<'t> Reader<'t> {
    fn of(text: &'t [u8], line: usize, notes: &'t mut Notes) -> Self {
        Self {
            text,
            at: 0,
            line,
            depth: 0,
            lists: 0,
            wrong: None,
            nan: Value::Null,
            notes,
        }
    }

    /// The document as far as it can be read, and what is wrong with it.
    fn document(mut self) -> (Option<Value>, Option<FileError>) {
        let value = self.value();
        self.end();
        (value, self.wrong)
    }

    fn end(&mut self) {
        if self.wrong.is_none() && self.peek().is_some() {
            self.fail("something follows the end of the document");
        }
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        let solid = rest.iter().position(|byte| !byte.is_ascii_whitespace());
        self.at += solid.unwrap_or(rest.len());
        self.text.get(self.at).copied()
    }

    fn fail(&mut self, message: &str) {
        let (line, column) = position(self.text, self.at, self.line);
        let message = format!("not valid JSON: {message}");
        let wrong = FileError::new(FileErrorKind::Syntax, message);
        self.wrong = Some(wrong.at_position(line, column));
    }

    fn end_early(&mut self) {
        self.at = self.text.len();
        let (line, column) = position(self.text, self.at, self.line);
        self.wrong = Some(FileError::truncated().at_position(line, column - 1));
    }

    fn mend(&mut self, how: &'static str, from: usize, to: usize) {
        self.notes.mend(how, self.text, from..to, self.line);
    }

    /// The next value; of one that is not complete what can be used.
    fn value(&mut self) -> Option<Value> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => self.string().map(Value::String),
            Some(_) => self.word(),
            None => {
                self.end_early();
                None
            }
        }
    }

    /// A list; where something is wrong, with the entries before.
    fn list(&mut self) -> Option<Value> {
        let (mut entries, mut last) = (Vec::new(), None);
        self.lists += 1;
        self.inside(b']', &mut |reader| {
            let entry = reader.value();
            match reader.wrong {
                None => entries.extend(entry),
                Some(_) => last = entry,
            }
        });
        self.lists -= 1;
        if self.wrong.is_some() {
            // A part of an entry beside complete ones would be a smaller one.
            entries.extend(last.filter(|_| entries.is_empty()));
            return (!entries.is_empty()).then_some(Value::Array(entries));
        }
        Some(Value::Array(entries))
    }

    /// An object; where something is wrong, one of a list is none without a list in it that has
    /// entries, since the next key may say what those before it mean.
    fn object(&mut self) -> Option<Value> {
        let (mut map, mut has_part) = (Map::new(), false);
        self.inside(b'}', &mut |reader| {
            if let Some(key) = reader.key()
                && let Some(value) = reader.value()
            {
                has_part = reader.wrong.is_some();
                map.insert(key, value);
            }
        });
        let is_used = self.wrong.is_none() || has_part || self.lists == 0 && !map.is_empty();
        is_used.then_some(Value::Object(map))
    }

    /// A key and what is behind it.
    fn key(&mut self) -> Option<String> {
        if self.peek() != Some(b'"') {
            self.fail("expected a key, which is a text");
            return None;
        }
        let key = self.string()?;
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                return Some(key);
            }
            Some(_) => self.fail("expected `:`"),
            None => self.end_early(),
        }
        None
    }

    /// Takes what is between brackets entry by entry, until something is wrong.
    fn inside(&mut self, end: u8, entry: &mut dyn FnMut(&mut Self)) {
        if self.depth == DEEPEST {
            return self.fail("values are nested more than 128 deep");
        }
        self.depth += 1;
        self.at += 1;
        let (mut is_next, mut comma) = (true, None);
        while self.wrong.is_none() {
            let next = self.peek();
            if let (Some(comma), true) = (comma, next == Some(end) || next == Some(b',')) {
                self.mend("superfluous and skipped", comma, comma + 1);
            }
            match next {
                Some(byte) if byte == end => {
                    self.at += 1;
                    break;
                }
                Some(b',') => {
                    (is_next, comma) = (true, Some(self.at));
                    self.at += 1;
                }
                Some(byte) if is_next => {
                    (is_next, comma) = (false, None);
                    let start = self.at;
                    entry(self);
                    if self.wrong.is_some() && byte == b'{' && end == b']' {
                        self.skip(start);
                    }
                }
                Some(_) => self.fail(&format!("expected `,` or `{}`", char::from(end))),
                None => self.end_early(),
            }
        }
        self.depth -= 1;
    }

    /// Skips the rest of an object of a list in which something is wrong: to the bracket that is
    /// before the list's next object or its end.
    fn skip(&mut self, start: usize) {
        let text = self.text;
        let mut ends = (self.at..text.len()).filter(|at| text[*at] == b'}');
        let is_end = |at: &usize| {
            let behind = text[at + 1..].trim_ascii_start();
            let next = behind.strip_prefix(b",").unwrap_or_default();
            behind.starts_with(b"]") || next.trim_ascii_start().starts_with(b"{")
        };
        if let Some(end) = ends.find(is_end) {
            self.mend("not valid JSON and skipped", start, end + 1);
            (self.at, self.wrong) = (end + 1, None);
        }
    }

    /// A number or a word; one that JSON does not have is missing.
    fn word(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let is_end = |byte: &u8| {
            let is_mark = matches!(byte, b',' | b':' | b'[' | b']' | b'{' | b'}' | b'"');
            is_mark || byte.is_ascii_whitespace()
        };
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let (start, word) = (self.at, &rest[..length]);
        let value = serde_json::from_slice(word);
        if length == rest.len() && self.depth > 0 {
            self.end_early();
            return None;
        }
        if word.is_empty() || value.is_err() && self.depth == 0 {
            self.fail("expected a value");
            return None;
        }
        self.at += length;
        if word == b"NaN" && !self.nan.is_null() {
            return Some(self.nan.clone());
        }
        if value.is_err() {
            self.mend("not JSON and read as missing", start, start + length);
        }
        Some(value.unwrap_or_default())
    }

    fn string(&mut self) -> Option<String> {
        let (text, start) = (self.text, self.at + 1);
        let mut end = start;
        loop {
            let rest = text.get(end..).unwrap_or_default();
            let Some(next) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
                self.end_early();
                return None;
            };
            end += next;
            if text[end] == b'"' {
                break;
            }
            end += 2;
        }
        self.at = end + 1;
        let inside = &text[start..end];
        let is_plain = !inside.iter().any(|byte| *byte < b' ' || *byte == b'\\');
        if let (true, Ok(plain)) = (is_plain, std::str::from_utf8(inside)) {
            return Some(plain.to_owned());
        }
        let string = serde_json::from_slice(&text[start - 1..=end]);
        Some(string.unwrap_or_else(|_| self.mended(start, end)))
    }

    /// A string in which something is wrong.
    fn mended(&mut self, start: usize, end: usize) -> String {
        let text = self.notes.utf8(self.text, start..end, self.line);
        let (mut rest, mut string) = (&*text, String::new());
        while let Some(at) = rest.find(|each: char| each < ' ' || each == '\\') {
            string.push_str(&rest[..at]);
            rest = &rest[at..];
            // Two halves of a character, one character, or a sign.
            let escape = [12, 6, 2].into_iter().find_map(|length| {
                let escape = format!("\"{}\"", rest.get(..length)?);
                Some((length, serde_json::from_str::<String>(&escape).ok()?))
            });
            if let Some((length, escape)) = escape {
                string.push_str(&escape);
                rest = &rest[length..];
                continue;
            }
            let place = start + (end - start).saturating_sub(rest.len());
            self.mend("not valid inside of a text and replaced", place, place + 1);
            let digits = rest.strip_prefix("\\u").and_then(|digits| digits.get(..4));
            let is_half =
                digits.is_some_and(|all| all.bytes().all(|each| each.is_ascii_hexdigit()));
            let (length, instead) = match is_half {
                true => (6, '\u{fffd}'),
                // A backslash that should be two, or a control character.
                false if rest.starts_with('\\') => (1, '\\'),
                false => (1, '\u{fffd}'),
            };
            string.push(instead);
            rest = &rest[length..];
        }
        string + rest
    }

    /// Hands over the values at the places that are wanted, each if it is complete. A place is
    /// one of [`keys`].
    fn walk(
        &mut self,
        place: &mut String,
        want: &mut dyn FnMut(&str) -> bool,
        part: &mut dyn FnMut(&str, Value, &mut Notes),
    ) {
        let (is_wanted, length) = (want(place), place.len());
        match self.peek() {
            Some(b'{') if !is_wanted => self.inside(b'}', &mut |reader| {
                if let Some(key) = reader.key() {
                    place.push_str(if length == 0 { "" } else { "." });
                    place.push_str(&key);
                    reader.walk(place, want, part);
                    place.truncate(length);
                }
            }),
            Some(b'[') if !is_wanted => self.inside(b']', &mut |reader| {
                place.push_str("[]");
                reader.walk(place, want, part);
                place.truncate(length);
            }),
            _ => {
                let value = self.value();
                if let (Some(value), true, None) = (value, is_wanted, &self.wrong) {
                    part(place, value, self.notes);
                }
            }
        }
    }
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

    fn read(text: impl AsRef<[u8]>) -> (Option<Value>, Vec<String>) {
        let mut notes = Notes::default();
        let (value, wrong) = Reader::of(text.as_ref(), 1, &mut notes).document();
        wrong.into_iter().for_each(|wrong| notes.stop(wrong));
        (value, notes.texts())
    }

    #[test]
    fn a_document_that_ends_early_has_its_complete_entries() {
        for (text, expected) in [
            (
                r#"{"a": [{"b": [1, 2]}, {"b": [3, 4"#,
                Some(json!({"a": [{"b": [1, 2]}]})),
            ),
            (
                r#"{"a": [{"b": [1, 2, 3"#,
                Some(json!({"a": [{"b": [1, 2]}]})),
            ),
            (r#"[1, "]", "x\\", 2"#, Some(json!([1, "]", "x\\"]))),
            (r#"{"a": [1, 2], "b": {"c"#, Some(json!({"a": [1, 2]}))),
            (
                r#"{"a": 1, "b": {"c": [3], "d": [{"e": 1, "f": "#,
                Some(json!({"a": 1, "b": {"c": [3]}})),
            ),
            (r#"{"a": 1"#, None),
            (r#"{"a": [1"#, None),
        ] {
            assert_eq!(read(text).0, expected, "{text}");
        }
    }

    #[test]
    fn words_that_json_does_not_have_are_missing() {
        let (value, notes) = read("[1,\n  2, nan,\n inf, {\"e\": -NaN}, 1e999]");
        assert_eq!(value, Some(json!([1, 2, null, null, {"e": null}, null])));
        let note = "line 2, column 6: \"nan\" is not JSON and read as missing (4 in all)";
        assert_eq!(notes, [note]);
    }

    #[test]
    fn superfluous_commas_are_skipped() {
        let (value, notes) = read("[{\"a\": 1 ,\n}, ,2,\n\n]");
        assert_eq!(value, Some(json!([{"a": 1}, 2])));
        let note = "line 1, column 10: \",\" is superfluous and skipped (3 in all)";
        assert_eq!(notes, [note]);
    }

    #[test]
    fn texts_stay_texts() {
        let text = b"[\"\\n\\u00e9 \\ud83d\\ude00 \\ud83d \\udc00 C:\\Users\\x \t\xff\xe2\x82\"]";
        let (value, notes) = read(text);
        let expected = "\n\u{e9} \u{1f600} \u{fffd} \u{fffd} C:\\Users\\x \u{fffd}\u{fffd}\u{fffd}";
        assert_eq!(value, Some(json!([expected])));
        assert_eq!(notes.len(), 2, "{notes:?}");
    }

    #[test]
    fn keys_of_a_beginning() {
        let text = br#"{"a": [{"b": 1, "c": {"d": null}}, {"e": "x"}], "f": tru"#;
        let found: Vec<String> = keys(text).into_iter().collect();
        assert_eq!(
            found,
            ["a", "a[]", "a[].b", "a[].c", "a[].c.d", "a[].e", "f"]
        );
        assert!(keys(b"no JSON").is_empty());
        for deep in ["[", "{\"\":", "{\"a\":", "[{\"\":"] {
            let keys = keys(deep.repeat(100_000).as_bytes());
            assert!(keys.len() <= DEPTH, "{deep}");
        }
    }

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
