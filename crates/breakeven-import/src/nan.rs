//! NaN and Infinity in JSON, which has neither: Python's `json` and Google Benchmark print
//! them bare.

use std::io::{self, Read};

/// What stands in a document in place of a NaN, as a text.
pub(crate) const NAN: &str = "N";
/// What stands in place of an infinite number.
pub(crate) const INFINITE: &str = "Infini";

/// The replacements, as long as what they replace, so that places stay right. A negative
/// infinity becomes a number: its sign has been passed on already.
const TEXT_OF_NAN: Word = (b"NaN", b"\"N\"");
const TEXT_OF_INFINITY: Word = (b"Infinity", b"\"Infini\"");
const NUMBER_OF_INFINITY: Word = (b"Infinity", b"1e000300");

/// What is replaced and by what, byte for byte.
type Word = (&'static [u8], &'static [u8]);

/// A JSON document in which bare NaN and Infinity became texts.
pub(crate) struct NanAsText<R> {
    inner: R,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Outside {
        is_negative: bool,
    },
    Text,
    Escape,
    /// Inside of a replaced word: what is left of it.
    Word(Word),
}

impl<R: Read> NanAsText<R> {
    pub(crate) fn of(inner: R) -> Self {
        let place = Place::Outside { is_negative: false };
        Self { inner, place }
    }
}

impl<R: Read> Read for NanAsText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for byte in &mut buffer[..count] {
            (self.place, *byte) = self.place.after(*byte);
        }
        Ok(count)
    }
}

impl Place {
    fn after(self, byte: u8) -> (Self, u8) {
        let outside = |is_negative| Self::Outside { is_negative };
        let place = match (self, byte) {
            (Self::Outside { .. }, b'"') => Self::Text,
            (Self::Outside { .. }, b'N') => return Self::Word(TEXT_OF_NAN).after(byte),
            (Self::Outside { is_negative }, b'I') => {
                let word = match is_negative {
                    true => NUMBER_OF_INFINITY,
                    false => TEXT_OF_INFINITY,
                };
                return Self::Word(word).after(byte);
            }
            (Self::Outside { .. }, byte) => outside(byte == b'-'),
            (Self::Text, b'"') => outside(false),
            (Self::Text, b'\\') => Self::Escape,
            (Self::Text | Self::Escape, _) => Self::Text,
            (Self::Word(([expected, word @ ..], [by, rest @ ..])), byte) if byte == *expected => {
                let place = match rest {
                    [] => outside(false),
                    rest => Self::Word((word, rest)),
                };
                return (place, *by);
            }
            // Another word, which no JSON has: the reader will say so.
            (Self::Word(_), _) => outside(false),
        };
        (place, byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_words_are_replaced() {
        let text = r#"{"NaN \" Infinity": [NaN, -1, Infinity, -Infinity, null, "N"]}"#;
        let mut read = String::new();
        let mut reader = NanAsText::of(text.as_bytes());
        reader.read_to_string(&mut read).expect("a text");
        assert_eq!(
            read,
            r#"{"NaN \" Infinity": ["N", -1, "Infini", -1e000300, null, "N"]}"#
        );
        let read = |text: &'static str| serde_json::from_reader(NanAsText::of(text.as_bytes()));
        let read: Result<serde_json::Value, _> = read("[NaM]");
        assert!(read.is_err());
    }
}
