//! A tolerant reader of JSON: what is wrong is mended and noted with its place, and what came
//! before a place that cannot be read counts.

use std::collections::BTreeSet;

use breakeven_profile::file::{FileError, FileErrorKind};
use serde_json::{Map, Value};

use crate::note::{Notes, position};

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
pub(crate) struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// The number of the first line.
    line: usize,
    /// Brackets that are open, and those of lists.
    depth: usize,
    lists: usize,
    pub(crate) wrong: Option<FileError>,
    /// What `NaN` stands for.
    pub(crate) nan: Value,
    notes: &'t mut Notes,
}

impl<'t> Reader<'t> {
    pub(crate) fn of(text: &'t [u8], line: usize, notes: &'t mut Notes) -> Self {
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
    pub(crate) fn document(mut self) -> (Option<Value>, Option<FileError>) {
        let value = self.value();
        self.end();
        (value, self.wrong)
    }

    pub(crate) fn end(&mut self) {
        if self.wrong.is_none() && self.peek().is_some() {
            self.fail("something follows the end of the document");
        }
    }

    /// The next byte that is no white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
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
    pub(crate) fn value(&mut self) -> Option<Value> {
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
    pub(crate) fn walk(
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
}
