//! JSON as its writers really leave it, with `inf`, `NaN`, control characters, wrong escapes
//! and trailing commas. What is mended is noted, and is never a time: it counts as missing.

use std::io::{self, BufRead, Cursor, Read};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::mended::{Mended, behind};
use crate::utf8::REPLACEMENT;

/// The longest white space behind a comma and the longest word that are looked at, bytes.
const LONGEST: usize = 4_096;

/// A JSON document without what JSON does not have.
pub(crate) struct Lenient<R> {
    inner: R,
    out: Cursor<Vec<u8>>,
    state: State,
    /// Bytes that are passed on once those behind them are known.
    held: Vec<u8>,
    position: [usize; 2],
    mended: Mended,
    /// Leaves a word that is not JSON out of its list, where it would be `null`.
    shortens_lists: bool,
    /// The brackets that are open.
    open: Vec<u8>,
    /// Everything in this list so far was left out.
    is_still_empty: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Between,
    /// Behind a comma, in white space.
    Comma,
    /// In a number, `true`, `null`, or what JSON does not have.
    Word,
    Text,
    Escape,
}

impl<R: BufRead> Lenient<R> {
    pub(crate) fn of(inner: R, mended: Mended) -> Self {
        Self {
            inner,
            out: Cursor::default(),
            state: State::Between,
            held: Vec::new(),
            position: [1, 1],
            mended,
            shortens_lists: false,
            open: Vec::new(),
            is_still_empty: false,
        }
    }

    /// Leaves a word that is not JSON out of its list: for lists of times, in which places
    /// mean nothing.
    pub(crate) fn shortening_lists(mut self) -> Self {
        self.shortens_lists = true;
        self
    }

    fn push(&mut self, bytes: &[u8]) {
        self.out.get_mut().extend_from_slice(bytes);
    }

    fn found(&self, what: &'static str, found: &[u8], before: &[u8]) {
        self.mended.add(what, found, self.position, before);
    }

    /// Passes on what was held.
    fn release(&mut self, state: State) {
        self.out.get_mut().append(&mut self.held);
        self.state = state;
    }

    /// Takes some of these bytes and says how many; `before` are those that came before
    /// them since `position`.
    fn step(&mut self, bytes: &[u8], before: &[u8]) -> usize {
        let byte = bytes[0];
        match self.state {
            State::Between if byte == b',' && self.is_still_empty => self.push(b" "),
            // Most commas: what follows is a value.
            State::Between if matches!(bytes, [b',', b'"' | b'{', ..]) => self.push(b","),
            State::Between if byte == b',' => {
                self.held.push(byte);
                self.state = State::Comma;
            }
            State::Between if !ends_word(byte) => {
                self.state = State::Word;
                return 0;
            }
            State::Between => {
                self.push(&[byte]);
                self.is_still_empty &= byte.is_ascii_whitespace();
                match byte {
                    b'"' => self.state = State::Text,
                    b'[' | b'{' => self.open.push(byte),
                    b']' | b'}' => drop(self.open.pop()),
                    _ => {}
                }
            }
            State::Comma if byte.is_ascii_whitespace() && self.held.len() < LONGEST => {
                self.held.push(byte);
            }
            State::Comma if !ends_word(byte) => {
                self.state = State::Word;
                return 0;
            }
            State::Comma => {
                if matches!(byte, b',' | b']' | b'}') {
                    self.found("superfluous and skipped", b",", before);
                    self.held[0] = b' ';
                }
                self.release(State::Between);
                return 0;
            }
            State::Word => {
                let end = bytes.iter().position(|byte| ends_word(*byte));
                let word = &bytes[..end.unwrap_or(bytes.len())];
                let room = 2 * LONGEST - self.held.len();
                self.held.extend_from_slice(&word[..word.len().min(room)]);
                if end.is_some() {
                    self.end_word(before);
                }
                return word.len();
            }
            State::Text => {
                let is_special = |byte: &u8| *byte < b' ' || matches!(*byte, b'"' | b'\\');
                let end = bytes.iter().position(is_special).unwrap_or(bytes.len());
                self.push(&bytes[..end]);
                match bytes.get(end) {
                    None => return end,
                    Some(b'"') => {
                        self.push(b"\"");
                        self.state = State::Between;
                    }
                    Some(b'\\') => {
                        self.held.push(b'\\');
                        self.state = State::Escape;
                    }
                    Some(control) => {
                        let before = [before, &bytes[..end]].concat();
                        self.found(NO_TEXT, &[*control], &before);
                        self.push(REPLACEMENT);
                    }
                }
                return end + 1;
            }
            State::Escape => {
                self.held.push(byte);
                self.end_escape(false, before);
            }
        }
        1
    }

    /// Passes on a number or a word that JSON has, `null` in its place, or nothing.
    fn end_word(&mut self, before: &[u8]) {
        // Behind a comma and white space.
        let start = self.held.iter().position(|byte| !ends_word(*byte));
        let start = start.unwrap_or_default();
        let is_json = is_plain_number(&self.held[start..])
            || serde_json::from_slice::<Value>(&self.held[start..]).is_ok();
        let is_left_out = !is_json && self.shortens_lists && self.open.last() == Some(&b'[');
        if !is_json {
            self.found("not JSON and read as missing", &self.held[start..], before);
        }
        // As long as the word, so that places stay right.
        if is_left_out {
            let is_seen = |byte: &&mut u8| !byte.is_ascii_whitespace();
            self.held
                .iter_mut()
                .filter(is_seen)
                .for_each(|byte| *byte = b' ');
        } else if !is_json {
            let length = self.held.len();
            self.held.splice(start.., *b"null");
            self.held.resize(length.max(start + 4), b' ');
        }
        self.is_still_empty = is_left_out && start == 0;
        self.release(State::Between);
    }

    /// Passes on an escape once it is complete. Two halves are one character.
    fn end_escape(&mut self, is_last: bool, before: &[u8]) {
        let length = match &self.held[..] {
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
        if self.held.len() < length && !is_last {
            return;
        }
        let text = [b"\"", &self.held[..], b"\""].concat();
        if serde_json::from_slice::<String>(&text).is_ok() {
            return self.release(State::Text);
        }
        let wrong = std::mem::take(&mut self.held);
        self.found(NO_TEXT, &wrong, before);
        // Half a character, or a backslash that should be two.
        let half = (wrong.get(2..6)).filter(|half| half.iter().all(u8::is_ascii_hexdigit));
        self.push(if half.is_some() { REPLACEMENT } else { br"\\" });
        self.state = State::Text;
        let mut at = if half.is_some() { 6 } else { 1 };
        while at < wrong.len() {
            at += self.step(&wrong[at..], before);
        }
    }
}

const NO_TEXT: &str = "not valid inside of a text and replaced";

impl<R: BufRead> Read for Lenient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.out.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.out.set_position(0);
            self.out.get_mut().clear();
            let chunk = self.inner.fill_buf()?.to_vec();
            let mut at = 0;
            while at < chunk.len() {
                at += self.step(&chunk[at..], &chunk[..at]);
            }
            match (self.state, chunk.len()) {
                (State::Word, 0) => self.end_word(b""),
                (State::Comma, 0) => self.release(State::Between),
                (State::Escape, 0) => self.end_escape(true, b""),
                (_, 0) => return Ok(0),
                _ => self.position = behind(self.position, &chunk),
            }
            self.inner.consume(chunk.len());
        }
    }
}

/// Reads a line that is a document of its own, also with a comma behind it.
pub(crate) fn line<T: DeserializeOwned>(
    line: &str,
    number: usize,
    mended: &Mended,
) -> serde_json::Result<T> {
    let line = line.trim_end().trim_end_matches(',');
    let read = |mended| {
        let mut lenient = Lenient::of(line.as_bytes(), mended);
        lenient.position[0] = number;
        serde_json::from_reader(lenient)
    };
    serde_json::from_str(line).or_else(|_| {
        // Nothing is noted of a line that cannot be read at all.
        read(Mended::default()).and_then(|_: T| read(mended.clone()))
    })
}

/// Whether it is a number as most are, `-12.5`. Others take ten times as long to check.
fn is_plain_number(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let is_digits = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let point = word.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = word.split_at(point.unwrap_or(word.len()));
    let is_whole = is_digits(whole) && (whole.len() == 1 || whole[0] != b'0') && whole.len() < 16;
    is_whole && (fraction.is_empty() || is_digits(&fraction[1..]))
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b':' | b'"' | b'[' | b']' | b'{' | b'}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::{Note, Notes};
    use crate::utf8::Utf8;

    fn read(text: &[u8]) -> (String, Vec<String>) {
        read_as(text, false)
    }

    fn read_as(text: &[u8], shortens_lists: bool) -> (String, Vec<String>) {
        let mut by_chunks = None;
        // The same whatever the reader gives at a time.
        for size in [1, 2, 3, 7, 1_000] {
            let mended = Mended::default();
            let reader = Utf8::of(text, mended.clone());
            let reader = io::BufReader::with_capacity(size, reader);
            let mut read = String::new();
            let mut lenient = Lenient::of(reader, mended.clone());
            lenient.shortens_lists = shortens_lists;
            lenient.read_to_string(&mut read).expect("a text");
            let mut notes = Notes::default();
            mended.into_notes(&mut notes);
            let kinds = notes.into_parts().0.into_iter().map(|note| match note {
                Note::Mended { what, .. } => what,
                note => note.to_string(),
            });
            let all = (read, kinds.collect());
            assert_eq!(by_chunks.get_or_insert(all.clone()), &all, "{size}");
        }
        by_chunks.expect("a text")
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
        let text = b"[1,\n  2, nan,\n inf]".as_slice();
        let mut read = Vec::new();
        let mut lenient = Lenient::of(text, mended.clone());
        lenient.read_to_end(&mut read).expect("a text");
        let mut notes = Notes::default();
        mended.into_notes(&mut notes);
        let note = notes.into_parts().0[0].to_string();
        assert_eq!(
            note,
            "line 2, column 6: \"nan\" is not JSON and read as missing (2 in all)"
        );
    }
}
