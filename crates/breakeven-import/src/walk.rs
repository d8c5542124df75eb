//! A JSON document part by part, so that one of any length is read in the same memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use breakeven_profile::file::{FileError, FileErrorKind};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::mended::{self, Mended, SUPERFLUOUS, behind};
use crate::name::one_line;

/// The longest value that is taken as a text, bytes: what lacks a bracket is no longer.
const LONGEST: usize = 64 << 20;

/// What is wanted of the value at a place of a document.
pub(crate) enum Want {
    /// It is passed over.
    Nothing,
    /// It is handed over as it is written.
    Text,
    /// What is inside comes one by one; an error calls the object or the list so.
    Object(&'static str),
    List(&'static str),
    Either(&'static str),
    /// What is inside, if anything is.
    Any,
}

/// Takes a document part by part. A place is that of `keys`: `traceEvents[]`.
pub(crate) trait Parts {
    /// Before each value.
    fn want(&mut self, place: &str) -> Want;

    /// A value whose text is wanted; none for what cannot be read.
    fn part(&mut self, place: &str, value: Raw<'_>);

    /// Behind the last value inside an object (`a`) or a list (`a[]`).
    fn end(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Hands over the parts of a document. What is not JSON inside of them is mended.
pub(crate) struct Walk<'p, R, P> {
    reader: R,
    parts: &'p mut P,
    /// The line of the next byte, and its place in it.
    position: [usize; 2],
    text: Vec<u8>,
    mended: Mended,
}

impl<'p, R: BufRead, P: Parts> Walk<'p, R, P> {
    pub(crate) fn of(reader: R, parts: &'p mut P, mended: Mended) -> Self {
        Self {
            reader,
            parts,
            position: [1, 1],
            text: Vec::new(),
            mended,
        }
    }

    /// Takes the document and what is behind it.
    pub(crate) fn document(&mut self) -> Result<(), FileError> {
        self.value("")?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.syntax("something follows the end of the document")),
        }
    }

    fn value(&mut self, place: &str) -> Result<(), FileError> {
        let want = self.parts.want(place);
        let first = self.peek()?.ok_or_else(|| self.early())?;
        match (want, first) {
            (Want::Object(_) | Want::Either(_) | Want::Any, b'{') => self.object(place),
            (Want::List(_) | Want::Either(_) | Want::Any, b'[') => self.list(place),
            (Want::Nothing | Want::Any, _) => self.take(false),
            (Want::Text, _) => {
                let start = self.position;
                self.take(true)?;
                let mended;
                let strict = std::str::from_utf8(&self.text).ok();
                // Half a character is only noticed when its text is read.
                let strict =
                    strict.filter(|text| !["\\ud", "\\uD"].iter().any(|half| text.contains(half)));
                let value = match strict.and_then(|text| serde_json::from_str(text).ok()) {
                    Some(value) => value,
                    None => {
                        mended = mended::valid(&self.text, start, &self.mended);
                        let text = mended.as_deref().unwrap_or("null");
                        serde_json::from_str(text).unwrap_or_default()
                    }
                };
                self.parts.part(place, value);
                Ok(())
            }
            // One entry of a list is not all.
            (Want::Object(_), _) if place.ends_with("[]") => {
                let (start, what) = (self.position, "not an object and skipped");
                self.take(true)?;
                self.mended.add(what, &self.text, start, b"");
                Ok(())
            }
            (Want::Object(name) | Want::List(name) | Want::Either(name), first) => {
                let [line, column] = self.position;
                let found = match first {
                    b'{' => "object".to_owned(),
                    b'[' => "list".to_owned(),
                    _ => {
                        self.take(true)?;
                        format!("`{}`", one_line(&String::from_utf8_lossy(&self.text)))
                    }
                };
                let message = format!("invalid type: {found}, expected {name}");
                Err(FileError::new(FileErrorKind::Value, message).at_position(line, column))
            }
        }
    }

    fn object(&mut self, place: &str) -> Result<(), FileError> {
        self.consume(1);
        let point = if place.is_empty() { "" } else { "." };
        let mut is_first = true;
        while self.is_further(b'}', is_first)? {
            is_first = false;
            if self.peek()?.is_some_and(|byte| byte != b'"') {
                return Err(self.syntax("expected a key, which is a text"));
            }
            self.take(true)?;
            let key: String = serde_json::from_slice(&self.text).unwrap_or_default();
            // Every level makes the place longer.
            let key = if key.is_empty() { "\"\"" } else { &key };
            match self.peek()? {
                Some(b':') => self.consume(1),
                Some(_) => return Err(self.syntax("expected `:`")),
                None => return Err(self.early()),
            }
            self.value(&format!("{place}{point}{key}"))?;
        }
        self.parts.end(place).map_err(|wrong| self.wrong(wrong))
    }

    fn list(&mut self, place: &str) -> Result<(), FileError> {
        self.consume(1);
        let place = format!("{place}[]");
        let mut is_first = true;
        while self.is_further(b']', is_first)? {
            is_first = false;
            self.value(&place)?;
        }
        self.parts.end(&place).map_err(|wrong| self.wrong(wrong))
    }

    /// Takes what is before a further value, or the end.
    fn is_further(&mut self, end: u8, is_first: bool) -> Result<bool, FileError> {
        let mut is_next = is_first;
        loop {
            match self.peek()? {
                Some(byte) if byte == end => {
                    self.consume(1);
                    return Ok(false);
                }
                Some(b',') if !is_first => {
                    let position = self.position;
                    self.consume(1);
                    if self.peek()?.is_some_and(|byte| byte == end || byte == b',') {
                        self.mended.add(SUPERFLUOUS, b",", position, b"");
                    }
                    is_next = true;
                }
                Some(_) if is_next => return Ok(true),
                Some(_) => {
                    let end = char::from(end);
                    return Err(self.syntax(&format!("expected `,` or `{end}`")));
                }
                None => return Err(self.early()),
            }
        }
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Result<Option<u8>, FileError> {
        loop {
            let chunk = self.reader.fill_buf().map_err(unreadable)?;
            let at = chunk.iter().position(|byte| !byte.is_ascii_whitespace());
            match (at, chunk.len()) {
                (_, 0) => return Ok(None),
                (Some(0), _) => return Ok(Some(chunk[0])),
                (at, length) => self.consume(at.unwrap_or(length)),
            }
        }
    }

    /// Takes a value, and keeps its text.
    fn take(&mut self, is_kept: bool) -> Result<(), FileError> {
        self.text.clear();
        let (mut depth, mut in_text, mut is_escaped, mut length) = (0_usize, false, false, 0);
        let position = self.position;
        loop {
            let chunk = self.reader.fill_buf().map_err(unreadable)?;
            let mut begin = 0;
            let mut end = (chunk.is_empty() && depth == 0 && !in_text).then_some(0);
            for (at, byte) in chunk.iter().enumerate() {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = in_text,
                    b'"' => {
                        in_text = !in_text;
                        end = (!in_text && depth == 0).then_some(at + 1);
                    }
                    // What was taken until here is another entry, and has a quote too many.
                    b'{' if in_text && is_kept && depth > 0 && is_seam(chunk, at) => {
                        self.text.extend_from_slice(&chunk[begin..at]);
                        let what = "not valid JSON and skipped";
                        self.mended.add(what, &self.text, position, b"");
                        self.text.clear();
                        (begin, depth, in_text) = (at, 1, false);
                    }
                    _ if in_text => {}
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' if depth > 0 => {
                        depth -= 1;
                        end = (depth == 0).then_some(at + 1);
                    }
                    // Behind a number or a word.
                    b',' | b':' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => {
                        end = Some(at);
                    }
                    _ => {}
                }
                if end.is_some() {
                    break;
                }
            }
            let taken = end.unwrap_or(chunk.len());
            let is_over = chunk.is_empty();
            if is_kept {
                self.text.extend_from_slice(&chunk[begin..taken]);
            }
            self.consume(taken);
            length += taken;
            match end {
                Some(_) if length > 0 => return Ok(()),
                _ if is_over => return Err(self.early()),
                Some(_) => return Err(self.syntax("expected a value")),
                None if self.text.len() > LONGEST => {
                    return Err(self.syntax("a value is longer than 64 MiB"));
                }
                None => {}
            }
        }
    }

    fn consume(&mut self, count: usize) {
        // What is consumed was read before.
        if let Ok(chunk) = self.reader.fill_buf() {
            self.position = behind(self.position, &chunk[..count]);
        }
        self.reader.consume(count);
    }

    /// What is wrong with the next byte.
    fn syntax(&self, message: &str) -> FileError {
        let [line, column] = self.position;
        let message = format!("not valid JSON: {message}");
        FileError::new(FileErrorKind::Syntax, message).at_position(line, column)
    }

    /// What is wrong with the value that was taken last.
    fn wrong(&self, message: String) -> FileError {
        let [line, column] = self.position;
        FileError::new(FileErrorKind::Value, message).at_position(line, column - 1)
    }

    fn early(&self) -> FileError {
        let [line, column] = self.position;
        FileError::truncated().at_position(line, column - 1)
    }
}

/// Whether an entry of a list seems to be inside a text with its first bracket, since there is
/// a quote too many or too few before it: `},{"`.
fn is_seam(chunk: &[u8], at: usize) -> bool {
    let before = chunk[..at].trim_ascii_end().strip_suffix(b",");
    before.is_some_and(|before| before.trim_ascii_end().ends_with(b"}"))
        && chunk[at + 1..].trim_ascii_start().starts_with(b"\"")
}

fn unreadable(reason: std::io::Error) -> FileError {
    FileError::io("cannot be read", &reason)
}

/// How deep keys are looked at.
const DEPTH: usize = 4;

/// Keys of the document that begins so, each with those around it: `results`,
/// `results[].command`. Empty for what is no JSON.
pub(crate) fn keys(beginning: &[u8]) -> BTreeSet<String> {
    let mut keys = Keys::default();
    // A beginning ends in the middle: what came before counts.
    let _ = Walk::of(beginning, &mut keys, Mended::default()).document();
    keys.0
}

#[derive(Default)]
struct Keys(BTreeSet<String>);

impl Parts for Keys {
    fn want(&mut self, place: &str) -> Want {
        if place.is_empty() {
            return Want::Any;
        }
        if !self.0.contains(place) {
            self.0.insert(place.to_owned());
        }
        let depth = place.split('.').map(|key| 1 + key.matches("[]").count());
        match depth.sum::<usize>() < DEPTH {
            true => Want::Any,
            false => Want::Nothing,
        }
    }

    fn part(&mut self, _: &str, _: Raw<'_>) {}
}

/// The farthest from its clock's zero that a time may be, ns: 146 years.
const FARTHEST_NS: u64 = 1 << 62;

/// A value, or none.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Raw<'t>(#[serde(borrow)] Option<&'t RawValue>);

impl<'t> Raw<'t> {
    /// The value, if it is of that type.
    pub(crate) fn read<T: Deserialize<'t>>(self) -> Option<T> {
        serde_json::from_str(self.0?.get()).ok()
    }

    /// The entries of a list, each if it is of that type.
    pub(crate) fn entries<T: Deserialize<'t>>(self) -> impl Iterator<Item = Option<T>> {
        let entries: Vec<Self> = self.read().unwrap_or_default();
        entries.into_iter().map(Self::read)
    }

    /// What it says: what is in a text, or the number or word.
    fn inner(self) -> &'t str {
        let text = self.0.map_or("", RawValue::get);
        let inner = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        inner.unwrap_or(text).trim()
    }

    /// A text, or what stands for one: a number, true, what is in an object; else nothing.
    pub(crate) fn text(self) -> Cow<'t, str> {
        let text = self.0.map_or("", RawValue::get);
        match text.as_bytes().first() {
            Some(b'"') if !text.contains('\\') => Cow::Borrowed(&text[1..text.len() - 1]),
            Some(b'"') => Cow::Owned(self.read().unwrap_or_default()),
            // As in `id2`: {"local": "0x1"}.
            Some(b'{') => {
                let inside: BTreeMap<String, Raw<'_>> = self.read().unwrap_or_default();
                Cow::Owned(inside.values().map(|value| value.inner()).collect())
            }
            Some(b'[') => Cow::Borrowed(""),
            _ => Cow::Borrowed(text),
        }
    }

    /// A number, also as a text.
    pub(crate) fn number(self) -> Option<f64> {
        self.inner().parse().ok()
    }

    /// A whole number that is not negative.
    #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
    pub(crate) fn count(self) -> Option<u64> {
        let is_count = |value: &f64| (0.0..9e15).contains(value) && value.fract() == 0.0;
        let whole = self.inner().parse().ok();
        whole.or_else(|| Some(self.number().filter(is_count)? as u64))
    }

    /// A time of a trace, a number in a unit of so many ns, as ns of its clock.
    pub(crate) fn ns(self, unit_ns: u32) -> Option<i64> {
        let (text, unit) = (self.inner(), i64::from(unit_ns));
        let ns = match text.parse::<i64>() {
            Ok(whole) => whole.checked_mul(unit),
            Err(_) => {
                // The whole part times the unit is exact, where the product of all is not.
                let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
                let fraction = (value.fract() * f64::from(unit_ns)).round() as i64;
                (value.trunc() as i64)
                    .checked_mul(unit)?
                    .checked_add(fraction)
            }
        };
        ns.filter(|ns| ns.unsigned_abs() <= FARTHEST_NS)
    }

    /// Three counts, as of a launch's grid: `[64, 1, 1]`, or rocprofv3's `{"x": 64, …}`.
    pub(crate) fn three(self) -> Option<[u64; 3]> {
        let three = match self.read::<Vec<Raw<'_>>>() {
            Some(list) => [0, 1, 2].map(|at| list.get(at)?.count()),
            None => {
                let axes: BTreeMap<String, Raw<'_>> = self.read()?;
                ["x", "y", "z"].map(|axis| axes.get(axis)?.count())
            }
        };
        Some([three[0]?, three[1].unwrap_or(1), three[2].unwrap_or(1)])
    }
}

/// [`Raw::text`] as a field's `deserialize_with`; so are the others.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, str>, D::Error> {
    Ok(Raw::deserialize(from)?.text())
}

pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Raw::deserialize(from)?.count())
}

pub(crate) fn three<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[u64; 3]>, D::Error> {
    Ok(Raw::deserialize(from)?.three())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(
                keys(deep.repeat(100_000).as_bytes()).len() <= DEPTH,
                "{deep}"
            );
        }
    }

    fn raw(text: &str) -> Raw<'_> {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn values_of_any_shape() {
        assert_eq!(raw("12.5").ns(1_000), Some(12_500));
        assert_eq!(raw("\" 7 \"").count(), Some(7));
        assert_eq!(raw("2.0").count(), Some(2));
        for none in ["null", "\"nan\"", "\"inf\"", "1e999", "[1]", "-1e30"] {
            assert_eq!(
                (raw(none).ns(1_000), raw(none).count()),
                (None, None),
                "{none}"
            );
        }
        assert_eq!(raw(r#"{"x": 2, "y": 3}"#).three(), Some([2, 3, 1]));
        assert_eq!(raw("[4]").three(), Some([4, 1, 1]));
        assert_eq!(raw(r#"{"local": "0x1"}"#).text(), "0x1");
        assert_eq!(raw(r#""a\n""#).text(), "a\n");
    }

    #[test]
    fn what_is_nested_deep_is_no_text() {
        let deep = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
        assert!(raw(&deep).text().len() < deep.len());
    }
}
