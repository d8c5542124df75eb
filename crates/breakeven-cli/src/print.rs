//! Prints pages and documents, and handles readers that have gone.

use std::io::{self, ErrorKind, Write};

use anyhow::Result;
use breakeven_judge::page::{Page, is_obeyed};
use breakeven_profile::file::{FileError, FileErrorKind};
use serde::Serialize;

use crate::values::PageFormat;

/// Prints a page, as wide as the terminal.
pub(crate) fn print(page: &Page, out: &mut dyn Write) -> Result<()> {
    Ok(page.text(width(), true, out)?)
}

/// Widest page, columns: breaking a long name into lines costs its length times this.
const WIDEST: usize = 1_000;

/// Columns that `COLUMNS` names, else those of the terminal, else 80.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    let terminal = || Some(terminal_size::terminal_size()?.0.0.into());
    columns.or_else(terminal).unwrap_or(80).min(WIDEST)
}

/// Prints a page, or its document, as requested.
pub(crate) fn page_or_document<D: Serialize>(
    format: PageFormat,
    page: impl FnOnce() -> Page,
    document: impl FnOnce() -> D,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        PageFormat::Table => print(&page(), out)?,
        PageFormat::Json => self::document(&document(), out)?,
        PageFormat::Markdown => page().markdown(out)?,
    }
    Ok(out.flush()?)
}

/// Prints a JSON document.
pub(crate) fn document(document: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    escaped(&(serde_json::to_string_pretty(document)? + "\n"), out)
}

/// Prints JSON with all terminal control characters escaped; JSON itself requires that only below
/// U+0020.
pub(crate) fn escaped(json: &str, out: &mut dyn Write) -> Result<()> {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c != '\n' && is_obeyed(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Ok(out.write_all(shown.as_bytes())?)
}

/// The output, in which a reader that has gone is no error: a command still writes its files.
pub(crate) struct Output<'o> {
    pub(crate) out: &'o mut dyn Write,
    /// The reader has gone.
    pub(crate) is_closed: bool,
}

impl Output<'_> {
    fn unless_closed<T>(&mut self, written: io::Result<T>, nothing: T) -> io::Result<T> {
        self.is_closed |= matches!(&written, Err(error) if error.kind() == ErrorKind::BrokenPipe);
        if self.is_closed {
            return Ok(nothing);
        }
        written.map_err(|why| io::Error::new(why.kind(), format!("standard output: {why}")))
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.is_closed {
            Ok(0)
        } else {
            self.out.write(bytes)
        };
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = if self.is_closed {
            Ok(())
        } else {
            self.out.flush()
        };
        self.unless_closed(written, ())
    }
}

/// True for a write to a pipe that nobody reads, however it is wrapped.
pub(crate) fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    io_kind(error) == Some(ErrorKind::BrokenPipe)
}

/// True for a write for which there was no space left, however it is wrapped.
pub(crate) fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let file = error.downcast_ref::<FileError>();
    file.is_some_and(|error| error.kind() == FileErrorKind::Full)
        || matches!(
            io_kind(error),
            Some(StorageFull | QuotaExceeded | FileTooLarge)
        )
}

fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        Some(io.kind())
    } else if let Some(json) = error.downcast_ref::<serde_json::Error>() {
        json.io_error_kind()
    } else if let Some(csv) = error.downcast_ref::<::csv::Error>() {
        match csv.kind() {
            ::csv::ErrorKind::Io(io) => Some(io.kind()),
            _ => None,
        }
    } else {
        None
    }
}
