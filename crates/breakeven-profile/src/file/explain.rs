//! From the JSON parser's error to one that says what to do.

use serde_json::error::Category;
use serde_path_to_error::{Path as Place, Segment};

use super::document::Findings;
use super::error::{FileError, FileErrorKind, clipped};

/// What the first bytes of a file look like.
#[derive(Clone, Copy)]
pub(super) enum Beginning {
    /// Only white space, or nothing.
    Blank,
    /// UTF-8 with a byte order mark, which is skipped.
    Utf8Mark,
    /// UTF-16, as some shells write it on redirection.
    Utf16,
    /// A compressed file.
    Compressed(&'static str),
    /// Anything else, with its first character that is not white space.
    Text(char),
}

impl Beginning {
    pub(super) const BYTES: u64 = 4;

    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Self::Utf8Mark,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Self::Utf16,
            [0x1f, 0x8b, ..] => Self::Compressed("gzip"),
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Compressed("zstd"),
            [b'P', b'K', 3, 4] => Self::Compressed("zip"),
            _ => match String::from_utf8_lossy(head).trim_start().chars().next() {
                Some(first) => Self::Text(first),
                None => Self::Blank,
            },
        }
    }

    /// Length of the byte order mark, which is no JSON.
    pub(super) fn byte_order_mark(self, head: &[u8]) -> usize {
        match self {
            Self::Utf8Mark => head.len().min(3),
            _ => 0,
        }
    }

    fn looks_like(self) -> String {
        match self {
            Self::Utf16 => "it is UTF-16 text; save it as UTF-8".to_owned(),
            Self::Compressed(format) => format!("it is a {format} file; decompress it first"),
            Self::Text('[') => "it is no JSON object, and a profile is one".to_owned(),
            Self::Text('<') => "it looks like HTML or XML".to_owned(),
            Self::Text(first) if first.is_control() || first == char::REPLACEMENT_CHARACTER => {
                "it is not text".to_owned()
            }
            Self::Text(_) => "it is not JSON".to_owned(),
            Self::Blank | Self::Utf8Mark => "it is not a JSON object".to_owned(),
        }
    }
}

/// Names the error, with its line and its place in the document.
pub(super) fn error(
    error: serde_json::Error,
    place: &Place,
    findings: Findings,
    beginning: Beginning,
) -> FileError {
    let (line, column) = (error.line(), error.column());
    let category = error.classify();
    let told = match (findings.error, category) {
        (Some(ours), _) => ours,
        (None, Category::Io) => return FileError::io("cannot be read", &error.into()),
        (None, Category::Eof) if !findings.is_object => match beginning {
            Beginning::Blank | Beginning::Utf8Mark => FileError::new(
                FileErrorKind::Empty,
                "the file is empty; write the profile again",
            ),
            _ => not_a_profile(beginning),
        },
        (None, _) if !findings.is_object => not_a_profile(beginning),
        (None, Category::Eof) => FileError::new(
            FileErrorKind::Truncated,
            "the file ends early, in the middle of the profile; its writer was stopped or \
             the copy is incomplete: copy or measure again",
        ),
        (None, Category::Syntax) => FileError::new(
            FileErrorKind::Syntax,
            format!("not valid JSON: {}", syntax(bare(&error.to_string()))),
        ),
        (None, Category::Data) => {
            FileError::new(FileErrorKind::Value, in_words(&error.to_string()))
        }
    };
    let told = told.at_position(line, column);
    match text_of(place) {
        Some(text) if told.place().is_none() => told.at_place(text),
        _ => told,
    }
}

/// The place in words; `None` for the document itself.
fn text_of(place: &Place) -> Option<String> {
    let text = place.to_string();
    match place.iter().next_back()? {
        // A key that could not be read.
        Segment::Unknown => Some(text.trim_end_matches('?').trim_end_matches('.').to_owned())
            .filter(|text| !text.is_empty()),
        _ => Some(text),
    }
}

fn not_a_profile(beginning: Beginning) -> FileError {
    FileError::new(
        FileErrorKind::NotAProfile,
        format!("not a breakeven profile: {}", beginning.looks_like()),
    )
}

/// serde_json's words, where they need another.
fn syntax(text: &str) -> &str {
    match text {
        "invalid unicode code point" => "a text is not UTF-8; save the file as UTF-8",
        "recursion limit exceeded" => "lists or objects are nested more than 120 deep",
        "trailing characters" => {
            "something follows the end of the profile; a file holds one profile"
        }
        other => other,
    }
}

/// serde's words for a wrong value of JSON, with JSON's names for Rust's types, and without the
/// line and column that serde_json appends.
pub fn in_words(text: &str) -> String {
    let text = bare(text);
    let Some((found, expected)) = text.rsplit_once(", expected ") else {
        return clipped(text);
    };
    let found = clipped(found).replace("invalid type: sequence", "invalid type: list");
    let found = found.replace("invalid type: map", "invalid type: object");
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other if other.starts_with("tuple") || other.starts_with("a tuple") => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{found}, expected {expected}")
}

fn bare(text: &str) -> &str {
    let end = text.rfind(" at line ");
    let end = end.filter(|_| text.ends_with(|last: char| last.is_ascii_digit()));
    &text[..end.unwrap_or(text.len())]
}
