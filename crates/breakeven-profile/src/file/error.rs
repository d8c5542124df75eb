//! What can be wrong with a profile file, in one line with its place.

use std::io;
use std::path::{Path, PathBuf};

/// The kind of thing that is wrong with a profile file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The operating system refused: no such file, no permission.
    Io,
    /// There is no space left for it.
    Full,
    /// There is nothing in the file.
    Empty,
    /// The file is something else than a profile.
    NotAProfile,
    /// The version of the format is missing, or this build does not know it.
    Version,
    /// The file ends before the profile does.
    Truncated,
    /// The text is not JSON.
    Syntax,
    /// A value is of the wrong type, out of range, missing or there twice.
    Value,
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

    /// The byte of the line at which reading stopped, from 1: that of the wrong
    /// value or just behind it; 0 where the line is still empty.
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
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
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
