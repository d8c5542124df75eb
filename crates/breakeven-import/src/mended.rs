//! What is mended while a file is read, with the place of the first of each kind.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use breakeven_profile::file::FileError;

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
