//! JSON as its writers really leave it, with `inf`, `NaN`, control characters, wrong escapes
//! and trailing commas. What is mended is noted, and is never a time: it counts as missing.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::mended::{Mended, REPLACEMENT};

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
mod tests {
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
