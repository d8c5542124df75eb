//! What is mended while a file is read, with the place of the first of each kind.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use breakeven_profile::file::FileError;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::note::Notes;

/// What stands in place of bytes and characters that cannot be read.
pub(crate) const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// What was mended in a file, shared by its readers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mended(Rc<RefCell<All>>);

#[derive(Debug, Default)]
struct All {
    /// What was done, to what at first, at which line and byte of it, and how often.
    found: Vec<(&'static str, String, [usize; 2], u64)>,
    stopped: Option<FileError>,
    /// Where a file of lines ends without a line break.
    open_end: Option<[usize; 2]>,
}

impl Mended {
    pub(crate) fn add(
        &self,
        what: &'static str,
        found: &[u8],
        position: [usize; 2],
        before: &[u8],
    ) {
        let all = &mut self.0.borrow_mut().found;
        if let Some((.., count)) = all.iter_mut().find(|(known, ..)| *known == what) {
            *count += 1;
            return;
        }
        let found = String::from_utf8_lossy(&found[..found.len().min(40)]);
        all.push((what, format!("{found:?}"), behind(position, before), 1));
    }

    /// Bytes as a text, in which what is not UTF-8 is replaced.
    pub(crate) fn utf8<'t>(&self, text: &'t [u8], position: [usize; 2]) -> Cow<'t, str> {
        let bad = match std::str::from_utf8(text) {
            Ok(text) => return Cow::Borrowed(text),
            Err(error) => error.valid_up_to(),
        };
        let chunks = text.utf8_chunks();
        for _ in chunks.filter(|chunk| !chunk.invalid().is_empty()) {
            let what = "not UTF-8 and read as \u{fffd}";
            self.add(what, &text[bad..=bad], position, &text[..bad]);
        }
        String::from_utf8_lossy(text)
    }

    /// Reading stopped before the end of the file, for this reason.
    pub(crate) fn stop(&self, reason: FileError) {
        self.0.borrow_mut().stopped.get_or_insert(reason);
    }

    /// The text ends before its writer's last lines.
    pub(crate) fn cut(&self, text: &str) {
        self.stop(FileError::truncated().at_position(text.lines().count(), 1));
    }

    /// Adds what was mended to the notes; the reason if reading stopped before the end.
    pub(crate) fn into_notes(self, notes: &mut Notes) -> Option<FileError> {
        let All {
            found,
            stopped,
            open_end,
        } = self.0.take();
        let mut add = |[line, column]: [usize; 2], what: String| {
            let place = match line {
                // Of what is packed no place is known.
                0 => "the end of the file".to_owned(),
                _ => format!("line {line}, column {column}"),
            };
            notes.add(format!("{place}: {what}"));
        };
        for (what, found, position, count) in found {
            add(position, format!("{found} is {what} ({count} in all)"));
        }
        if let Some(position) = open_end {
            let what = "the last line has no line break: if the file was cut, its last value is \
                        wrong, and lines are missing";
            add(position, what.to_owned());
        }
        if let Some(reason) = &stopped {
            let position = [reason.line(), reason.column()].map(Option::unwrap_or_default);
            let what = format!("only what comes before is read: {}", reason.message());
            add(position, what);
        }
        stopped
    }
}

/// The line and the byte of it behind a text that begins at that position.
pub(crate) fn behind([line, column]: [usize; 2], text: &[u8]) -> [usize; 2] {
    let is_end = |byte: &u8| *byte == b'\n';
    match text.iter().filter(|byte| is_end(byte)).count() {
        0 => [line, column + text.len()],
        more => {
            let last = text.iter().rposition(is_end).unwrap_or_default();
            [line + more, text.len() - last]
        }
    }
}

/// Reads bytes as UTF-8.
pub(crate) struct Utf8<R> {
    inner: R,
    /// Bytes of the file; the first are those of a character that was cut.
    chunk: Vec<u8>,
    cut: usize,
    out: Cursor<Vec<u8>>,
    position: [usize; 2],
    /// A line break belongs at its end.
    is_lines: bool,
    mended: Mended,
}

impl<R: Read> Utf8<R> {
    pub(crate) fn of(inner: R, is_lines: bool, mended: Mended) -> Self {
        Self {
            inner,
            is_lines,
            chunk: vec![0; 64 * 1024],
            cut: 0,
            out: Cursor::default(),
            position: [1, 1],
            mended,
        }
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.out.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let read = self.inner.read(&mut self.chunk[self.cut..])?;
            let all = self.cut + read;
            if all == 0 {
                if self.is_lines && self.position[1] > 1 {
                    self.mended.0.borrow_mut().open_end = Some(self.position);
                }
                return Ok(0);
            }
            let text = &self.chunk[..all];
            // A character that is not complete waits for the rest of it, unless it has none.
            let is_cut = |bytes: &&[u8]| {
                std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
            };
            let last = match std::str::from_utf8(text) {
                Err(_) if read > 0 => text.utf8_chunks().last().map(|last| last.invalid()),
                _ => None,
            };
            self.cut = last.filter(is_cut).map_or(0, <[u8]>::len);
            let end = all - self.cut;
            let whole = self.mended.utf8(&text[..end], self.position);
            self.out = Cursor::new(whole.into_owned().into_bytes());
            self.position = behind(self.position, &text[..end]);
            self.chunk.copy_within(end..all, 0);
        }
    }
}

// JSON as its writers really leave it, with `inf`, `NaN`, control characters, wrong escapes
// and trailing commas. What is mended is noted, and is never a time: it counts as missing.

/// What is said of a comma before a bracket or another comma.
pub(crate) const SUPERFLUOUS: &str = "superfluous and skipped";

/// The text if it is valid JSON once it is mended; of any other nothing is noted. `position`
/// is that of its first byte.
pub(crate) fn valid(text: &[u8], position: [usize; 2], mended: &Mended) -> Option<String> {
    let first = json(text, position, &Mended::default(), false);
    serde_json::from_str::<IgnoredAny>(&first).ok()?;
    Some(json(text, position, mended, false))
}

/// Reads a line that is a document of its own, also with a comma behind it.
pub(crate) fn line<T: DeserializeOwned>(
    line: &str,
    number: usize,
    mended: &Mended,
) -> serde_json::Result<T> {
    let line = line.trim_end().trim_end_matches(',');
    serde_json::from_str(line).or_else(|_| {
        let mend =
            |mended| serde_json::from_str(&json(line.as_bytes(), [number, 1], mended, false));
        // Nothing is noted of a line that cannot be read at all.
        mend(&Mended::default()).and_then(|_: T| mend(mended))
    })
}

/// The text without what JSON does not have. With `shortens_lists` a word that is not JSON
/// is left out of its list, where it would be `null`: for lists of times, in which places
/// mean nothing.
pub(crate) fn json(
    text: &[u8],
    position: [usize; 2],
    mended: &Mended,
    shortens_lists: bool,
) -> String {
    let text = mended.utf8(text, position);
    let mut mend = Mend {
        text: text.as_bytes(),
        position,
        mended,
        shortens_lists,
        out: Vec::with_capacity(text.len()),
        open: Vec::new(),
        comma: None,
        is_still_empty: false,
    };
    let mut at = 0;
    while at < text.len() {
        at = mend.step(at);
    }
    String::from_utf8_lossy(&mend.out).into_owned()
}

struct Mend<'t> {
    text: &'t [u8],
    position: [usize; 2],
    mended: &'t Mended,
    shortens_lists: bool,
    out: Vec<u8>,
    /// The brackets that are open.
    open: Vec<u8>,
    /// The comma before here, in the text and in `out`, if only white space is behind it.
    comma: Option<(usize, usize)>,
    /// Everything in this list so far was left out.
    is_still_empty: bool,
}

impl Mend<'_> {
    fn found(&self, what: &'static str, at: usize, length: usize) {
        let (before, found) = self.text.split_at(at);
        self.mended
            .add(what, &found[..length], self.position, before);
    }

    /// Passes on what begins at a place, and says where it ends.
    fn step(&mut self, at: usize) -> usize {
        let byte = self.text[at];
        match byte {
            b',' if self.is_still_empty => self.out.push(b' '),
            b',' => {
                self.drop_comma();
                self.comma = Some((at, self.out.len()));
                self.out.push(byte);
            }
            b']' | b'}' => {
                self.drop_comma();
                self.open.pop();
                self.pass(byte);
            }
            b'[' | b'{' => {
                self.open.push(byte);
                self.pass(byte);
            }
            b'"' => {
                self.pass(byte);
                return self.string(at + 1);
            }
            byte if ends_word(byte) => self.out.push(byte),
            _ => return self.word(at),
        }
        at + 1
    }

    fn pass(&mut self, byte: u8) {
        (self.comma, self.is_still_empty) = (None, false);
        self.out.push(byte);
    }

    fn drop_comma(&mut self) {
        if let Some((at, out)) = self.comma.take() {
            self.found(SUPERFLUOUS, at, 1);
            self.out[out] = b' ';
        }
    }

    /// Passes on a number or a word that JSON has, `null` in its place, or nothing; as long
    /// as the word, so that places stay right.
    fn word(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let length = rest.iter().position(|byte| ends_word(*byte));
        let word = &rest[..length.unwrap_or(rest.len())];
        let end = at + word.len();
        let comma = self.comma.take();
        self.is_still_empty = false;
        if serde_json::from_slice::<Value>(word).is_ok() {
            self.out.extend_from_slice(word);
            return end;
        }
        self.found("not JSON and read as missing", at, word.len());
        let width = self.out.len() + word.len();
        if self.shortens_lists && self.open.last() == Some(&b'[') {
            match comma {
                Some((_, out)) => self.out[out] = b' ',
                None => self.is_still_empty = true,
            }
        } else {
            self.out.extend_from_slice(b"null");
        }
        self.out.resize(width.max(self.out.len()), b' ');
        end
    }

    /// Passes on a text, whose inside begins at a place.
    fn string(&mut self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            let is_special = |byte: &u8| *byte < b' ' || matches!(*byte, b'"' | b'\\');
            let plain = rest.iter().position(is_special).unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..plain]);
            at += plain;
            match rest.get(plain) {
                None => return at,
                Some(b'"') => {
                    self.out.push(b'"');
                    return at + 1;
                }
                Some(b'\\') => at += self.escape(at),
                Some(_) => {
                    self.found(NO_TEXT, at, 1);
                    self.out.extend_from_slice(REPLACEMENT);
                    at += 1;
                }
            }
        }
    }

    /// Passes on an escape, and says how long it is. Two halves are one character.
    fn escape(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let length = match rest {
            [
                _,
                b'u',
                b'd' | b'D',
                b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
                ..,
            ] => 12,
            [_, b'u', ..] => 6,
            _ => 2,
        };
        let escape = &rest[..length.min(rest.len())];
        let text = [b"\"", escape, b"\""].concat();
        if serde_json::from_slice::<String>(&text).is_ok() {
            self.out.extend_from_slice(escape);
            return escape.len();
        }
        self.found(NO_TEXT, at, escape.len());
        // Half a character, or a backslash that should be two.
        match rest.get(2..6) {
            Some(half) if rest[1] == b'u' && half.iter().all(u8::is_ascii_hexdigit) => {
                self.out.extend_from_slice(REPLACEMENT);
                6
            }
            _ => {
                self.out.extend_from_slice(br"\\");
                1
            }
        }
    }
}

const NO_TEXT: &str = "not valid inside of a text and replaced";

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || br#",:"[]{}"#.contains(&byte)
}

#[cfg(test)]
mod lenient_tests {
    use super::*;
    use crate::note::Notes;

    fn read(text: &[u8]) -> (String, Vec<String>) {
        read_as(text, false)
    }

    fn read_as(text: &[u8], shortens_lists: bool) -> (String, Vec<String>) {
        let mended = Mended::default();
        let read = json(text, [1, 1], &mended, shortens_lists);
        let mut notes = Notes::default();
        mended.into_notes(&mut notes);
        let what = |note: String| match note.split_once(": ") {
            Some((_, what)) => what.to_owned(),
            None => note,
        };
        (read, notes.into_parts().0.into_iter().map(what).collect())
    }

    #[test]
    fn what_json_does_not_have_is_missing_and_the_rest_is_as_it_was() {
        let text = br#"{"NaN \" inf, ]": [NaN, -1.5e+3, -Infinity, inf, null, "N", 007, 1e999]}"#;
        let (read, notes) = read(text);
        assert_eq!(
            read,
            r#"{"NaN \" inf, ]": [null, -1.5e+3, null     , null, null, "N", null, null ]}"#
        );
        assert_eq!(
            notes,
            [r#""NaN" is not JSON and read as missing (5 in all)"#]
        );
    }

    #[test]
    fn a_list_of_times_is_shorter_without_what_is_no_number() {
        let text = b"{\"a\": [NaN , inf,\n1, NaN,2,NaN], \"b\": NaN, \"c\": [nan], \"d\": [[NaN, {\"e\": NaN}], NaN]}";
        let (read, notes) = read_as(text, true);
        let expected = "{\"a\": [          \n1     ,2    ], \"b\": null, \"c\": [   ], \"d\": [[     {\"e\": null}]     ]}";
        assert_eq!(read, expected);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(serde_json::from_str::<Value>(&read).is_ok());
    }

    #[test]
    fn superfluous_commas_are_skipped() {
        let (text, notes) = read(b"[{\"a\": 1 ,\n}, ,2,\n\n]");
        assert_eq!(text, "[{\"a\": 1  \n}  ,2 \n\n]");
        assert_eq!(notes, [r#""," is superfluous and skipped (3 in all)"#]);
    }

    #[test]
    fn texts_stay_texts() {
        let text = b"[\"\\n\\u00e9 \\ud83d\\ude00 \\ud83d \\udc00 C:\\Users\\x \t\xff\xe2\x82\"]";
        let (text, notes) = read(text);
        assert_eq!(
            text,
            "[\"\\n\\u00e9 \\ud83d\\ude00 \u{fffd} \u{fffd} C:\\\\Users\\\\x \u{fffd}\u{fffd}\u{fffd}\"]"
        );
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(serde_json::from_str::<Vec<String>>(&text).is_ok());
    }

    #[test]
    fn the_first_has_its_place() {
        let mended = Mended::default();
        json(b"[1,\n  2, nan,\n inf]", [1, 1], &mended, false);
        let mut notes = Notes::default();
        mended.into_notes(&mut notes);
        let note = &notes.into_parts().0[0];
        assert_eq!(
            note,
            "line 2, column 6: \"nan\" is not JSON and read as missing (2 in all)"
        );
    }
}
