//! The file that is read: its path, its first bytes, and the rest behind them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use breakeven_profile::file::{FileError, FileErrorKind};
use flate2::bufread::MultiGzDecoder;

use crate::note::{Notes, position};
use crate::reader::keys;

/// Bytes by which a format is recognised.
const HEAD: u64 = 64 * 1024;

/// The byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The most of a file that is read as a whole: a compressed one may hold any.
const MOST_MIB: u64 = 256;

/// The most of a trace, of which little beside the text is in memory.
pub(crate) const MOST_MIB_OF_TRACE: u64 = 1024;

/// A file or folder that is open, with what its format can be recognised by. A file is
/// read once from its beginning, so a pipe will do; what gzip compressed is decompressed.
pub(crate) struct Source {
    path: PathBuf,
    head: Vec<u8>,
    /// The first bytes as a text.
    text: String,
    keys: BTreeSet<String>,
    rest: Box<dyn Read>,
    /// What was compressed ended early.
    is_cut: bool,
}

impl Source {
    /// Opens a file or a folder; `-` is the standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let failed = |action, reason: io::Error| FileError::io(action, &reason).at_path(path);
        if path == Path::new("-") {
            let read = Self::of(io::stdin(), Path::new("<stdin>"));
            return read.map_err(|reason| failed("cannot be read", reason));
        }
        if path.is_dir() {
            let folder = Self::of(io::empty(), path);
            return folder.map_err(|reason| failed("cannot be read", reason));
        }
        let file = File::open(path).map_err(|reason| failed("cannot be opened", reason))?;
        Self::of(file, path).map_err(|reason| failed("cannot be read", reason))
    }

    /// What a reader gives, under that name.
    pub(crate) fn of(reader: impl Read + 'static, path: &Path) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(128 * 1024, reader);
        let is_gzip = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let mut rest: Box<dyn Read> = match is_gzip {
            true => Box::new(MultiGzDecoder::new(reader)),
            false => Box::new(reader),
        };
        let mut head = Vec::new();
        let is_cut = fill(&mut head, HEAD, &mut rest)?;
        if is_cut {
            rest = Box::new(io::empty());
        }
        let text = head.strip_prefix(MARK).unwrap_or(&head);
        Ok(Self {
            path: path.to_owned(),
            text: String::from_utf8_lossy(text).into_owned(),
            keys: keys(text),
            head,
            rest,
            is_cut,
        })
    }

    /// Its path, or the name that it was given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// True for a folder.
    pub(crate) fn is_folder(&self) -> bool {
        self.path.is_dir()
    }

    /// The end of its name, in small letters and without `.gz`.
    pub(crate) fn extension(&self) -> Option<String> {
        let name = self.path.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.rsplit_once('.').map(|(_, end)| end.to_owned())
    }

    /// The first bytes.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The first bytes as a text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The complete lines among the first bytes.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        let text = self.text();
        let complete = match (self.head.len() as u64) < HEAD {
            true => text,
            false => text
                .rsplit_once('\n')
                .map_or(text, |(complete, _)| complete),
        };
        complete.lines()
    }

    /// Whether the beginning, read as JSON, has such a key, as in `results[].command`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Whether it is JSON that has this key and no other.
    pub(crate) fn has_only(&self, key: &str) -> bool {
        self.has(key) && self.keys.len() == 1
    }

    /// All of it from the beginning, as it is.
    pub(crate) fn into_all(self) -> impl Read {
        Cursor::new(self.head).chain(self.rest)
    }

    /// All of it in memory, without a byte order mark.
    pub(crate) fn into_memory(self, notes: &mut Notes) -> Result<Vec<u8>, FileError> {
        self.into_bytes(MOST_MIB, notes)
    }

    /// All of it in memory, if it has at most so many MiB, without a byte order mark.
    pub(crate) fn into_bytes(
        mut self,
        most_mib: u64,
        notes: &mut Notes,
    ) -> Result<Vec<u8>, FileError> {
        let wrong = |kind, message: &str| FileError::new(kind, message).at_path(&self.path);
        let mut bytes = self.head;
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            let message = "it is UTF-16 text; save it as UTF-8";
            return Err(wrong(FileErrorKind::Syntax, message));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            let message = "the file is empty; look whether its writer ran";
            return Err(wrong(FileErrorKind::Empty, message));
        }
        if bytes.starts_with(MARK) {
            bytes.drain(..MARK.len());
        }
        let most = most_mib << 20;
        let rest = (most + 1).saturating_sub(bytes.len() as u64);
        self.is_cut |= fill(&mut bytes, rest, &mut self.rest)
            .map_err(|reason| FileError::io("cannot be read", &reason).at_path(&self.path))?;
        if bytes.len() as u64 > most {
            let message = format!(
                "a text of more than {most_mib} MiB; cut it into several files, or measure for a \
                 shorter time"
            );
            return Err(wrong(FileErrorKind::Value, &message));
        }
        if self.is_cut {
            let message = "the compressed file ends early; copy or measure again";
            notes.stop(FileError::new(FileErrorKind::Truncated, message));
        }
        Ok(bytes)
    }

    /// All of it as a text.
    pub(crate) fn into_text(self, notes: &mut Notes) -> Result<String, FileError> {
        Ok(text(self.into_memory(notes)?, notes))
    }

    /// All of it as a text of lines of which each may be the last: one that was cut may be
    /// another valid one, which is noted.
    pub(crate) fn into_lines(self, notes: &mut Notes) -> Result<String, FileError> {
        let text = text(self.into_bytes(MOST_MIB_OF_TRACE, notes)?, notes);
        if !text.ends_with('\n') {
            let (line, column) = position(text.as_bytes(), text.len(), 1);
            notes.add(format!(
                "line {line}, column {column}: the last line has no line break: if the file was \
                 cut, its last value is wrong, and lines are missing"
            ));
        }
        Ok(text)
    }
}

fn text(bytes: Vec<u8>, notes: &mut Notes) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.as_bytes();
        notes.utf8(bytes, 0..bytes.len(), 1).into_owned()
    })
}

/// Adds at most so many bytes; true if what was compressed ends early.
fn fill(bytes: &mut Vec<u8>, most: u64, reader: &mut dyn Read) -> io::Result<bool> {
    match reader.take(most).read_to_end(bytes) {
        Err(reason) if reason.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        read => read.map(|_| false),
    }
}
