//! Errors of profile files, in one line with the place.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::error::Category;

/// The kind of error of a profile file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The operating system refused: no such file, or no permission.
    Io,
    /// There is no space left for it.
    Full,
    /// The file is empty.
    Empty,
    /// The file is not a profile.
    NotAProfile,
    /// The version of the format is missing, or this build does not know it.
    Version,
    /// The file ends before the profile does.
    Truncated,
    /// The text is not JSON.
    Syntax,
    /// A value has the wrong type, is out of range, missing or duplicated.
    Value,
    /// A table of another tool, of which nobody said which column is what.
    Columns,
    /// A file that could be of several formats of other tools, or is of none that is known.
    Format,
    /// Counts of another tool, of which nobody said the unit.
    Unit,
}

/// Why a profile file could not be read or written.
///
/// Displayed it is one line: `path:line:column: place: what is wrong; what to do`.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.line_of_text())]
pub struct FileError {
    kind: FileErrorKind,
    path: Option<PathBuf>,
    position: Option<(usize, usize)>,
    place: Option<String>,
    message: String,
}

impl FileError {
    /// An error of that kind: what is wrong and what to do, in one line.
    pub fn new(kind: FileErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: None,
            position: None,
            place: None,
            message: message.into(),
        }
    }

    /// An error of the operating system: the action that failed, and the reason.
    pub fn io(action: &str, reason: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let kind = match reason.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => FileErrorKind::Full,
            _ => FileErrorKind::Io,
        };
        Self::new(kind, format!("{action}: {reason}"))
    }

    /// The file ends before its writer's end of it.
    pub fn truncated() -> Self {
        let message = "the file ends early; its writer was stopped or the copy is incomplete: copy \
                       or measure again";
        Self::new(FileErrorKind::Truncated, message)
    }

    /// An error of the JSON parser, with its line and its place in the document, which is empty for
    /// the document itself.
    pub fn json(error: &serde_json::Error, place: &str) -> Self {
        let text = error.to_string();
        let reason = match error.classify() {
            Category::Eof => Self::truncated(),
            Category::Syntax => {
                let message = format!("not valid JSON: {}", syntax(bare(&text)));
                Self::new(FileErrorKind::Syntax, message)
            }
            Category::Io => Self::new(
                FileErrorKind::Io,
                format!("cannot be read: {}", bare(&text)),
            ),
            Category::Data => Self::new(FileErrorKind::Value, in_words(&text)),
        };
        let reason = reason.at_position(error.line(), error.column());
        // A field whose name could not be read is `?`.
        match place.trim_end_matches('?').trim_matches('.') {
            "" => reason,
            place => reason.at_place(place),
        }
    }

    /// Adds the path of the file.
    #[must_use]
    pub fn at_path(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// Adds the line and the byte of the line, both from 1.
    #[must_use]
    pub fn at_position(mut self, line: usize, column: usize) -> Self {
        self.position = Some((line, column));
        self
    }

    /// Adds the place in the document.
    #[must_use]
    pub fn at_place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> FileErrorKind {
        self.kind
    }

    /// The file, or the name that the caller gave to the text.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The line of the file, from 1.
    pub fn line(&self) -> Option<usize> {
        self.position.map(|(line, _)| line)
    }

    /// The byte of the line at which reading stopped, from 1: at the wrong value or just after it;
    /// 0 if the line is still empty.
    pub fn column(&self) -> Option<usize> {
        self.position.map(|(_, column)| column)
    }

    /// The place in the document: `operations[3].runs[0].samples_ns[2]`.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// What is wrong and what to do, without path, line and place.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn line_of_text(&self) -> String {
        let path = self.path().map(Path::to_string_lossy);
        let mut text = match (path.filter(|path| !path.is_empty()), self.position) {
            (Some(path), Some((line, column))) => format!("{path}:{line}:{column}: "),
            (Some(path), None) => format!("{path}: "),
            (None, Some((line, column))) => format!("line {line}, column {column}: "),
            (None, None) => String::new(),
        };
        if let Some(place) = &self.place {
            text.extend([&clipped(place), ": "]);
        }
        text.push_str(&self.message);
        escaped(&text)
    }
}

/// Texts of serde_json that need rewording.
fn syntax(text: &str) -> &str {
    match text {
        "invalid unicode code point" => "a text is not UTF-8; save the file as UTF-8",
        "recursion limit exceeded" => "lists or objects are nested more than 120 deep",
        "trailing characters" => "something follows the end of the document",
        other => other,
    }
}

/// serde's text for an invalid value, with JSON's names instead of Rust's types, and without the
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

/// A text from a file, short enough to stand inside a message.
pub(super) fn clipped(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text with its control characters escaped: it stays on one line and
/// cannot drive a terminal.
fn escaped(text: &str) -> String {
    let on_one_line = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(on_one_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line_whatever_the_file_holds() {
        let error = FileError::new(FileErrorKind::Value, "a\nb\u{1b}[31m")
            .at_path(Path::new("x\ny.json"))
            .at_position(3, 7)
            .at_place("operations[0].attributes.\r");
        assert_eq!(
            error.to_string(),
            "x\\ny.json:3:7: operations[0].attributes.\\r: a\\nb\\u{1b}[31m"
        );
    }

    #[test]
    fn long_texts_are_clipped_between_characters() {
        let long = "µ".repeat(5000);
        assert_eq!(clipped(&long).chars().count(), 201);
        assert_eq!(clipped("short"), "short");
    }
}
