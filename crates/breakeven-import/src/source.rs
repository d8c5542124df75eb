//! The file that is read: its path, its first bytes, and the rest behind them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use breakeven_profile::file::{FileError, FileErrorKind};
use flate2::bufread::MultiGzDecoder;

use crate::mended::{Mended, Utf8};
use crate::walk::keys;

/// Bytes by which a format is recognised.
const HEAD: u64 = 64 * 1024;

/// The byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The most of a text that is read as a whole, bytes: a compressed file may hold any.
const MOST_TEXT: u64 = 256 << 20;

/// A file or folder that is open, with what its format can be recognised by. A file is
/// read once from its beginning, so a pipe will do; what gzip compressed is decompressed.
pub(crate) struct Source {
    path: PathBuf,
    head: Vec<u8>,
    /// The first bytes as a text.
    text: String,
    keys: BTreeSet<String>,
    rest: Box<dyn Read>,
    mended: Mended,
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
        let mended = Mended::default();
        let is_gzip = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let mut rest: Box<dyn Read> = match is_gzip {
            true => Box::new(Packed(MultiGzDecoder::new(reader), mended.clone())),
            false => Box::new(reader),
        };
        let mut head = Vec::new();
        (&mut rest).take(HEAD).read_to_end(&mut head)?;
        let text = head.strip_prefix(MARK).unwrap_or(&head);
        Ok(Self {
            path: path.to_owned(),
            text: String::from_utf8_lossy(text).into_owned(),
            keys: keys(text),
            head,
            rest,
            mended,
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

    /// What is mended while it is read.
    pub(crate) fn mended(&self) -> Mended {
        self.mended.clone()
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

    /// All of it from the beginning, without a byte order mark.
    pub(crate) fn into_bytes(self) -> Result<impl BufRead, FileError> {
        if self.head.starts_with(&[0xff, 0xfe]) || self.head.starts_with(&[0xfe, 0xff]) {
            let message = "it is UTF-16 text; save it as UTF-8";
            return Err(FileError::new(FileErrorKind::Syntax, message).at_path(&self.path));
        }
        if self.head.iter().all(u8::is_ascii_whitespace) {
            let message = "the file is empty; look whether its writer ran";
            return Err(FileError::new(FileErrorKind::Empty, message).at_path(&self.path));
        }
        let skipped = if self.head.starts_with(MARK) { 3 } else { 0 };
        let mut head = Cursor::new(self.head);
        head.set_position(skipped);
        Ok(BufReader::with_capacity(64 * 1024, head.chain(self.rest)))
    }

    /// All of it from the beginning as UTF-8, for formats of lines: one that was cut may be
    /// another valid one.
    pub(crate) fn into_reader(self) -> Result<impl BufRead, FileError> {
        self.into_utf8(true)
    }

    fn into_utf8(self, is_lines: bool) -> Result<impl BufRead, FileError> {
        let mended = self.mended();
        let text = Utf8::of(self.into_bytes()?, is_lines, mended);
        Ok(BufReader::with_capacity(64 * 1024, text))
    }

    /// All of it in memory.
    pub(crate) fn into_memory(self) -> Result<Vec<u8>, FileError> {
        let path = self.path.clone();
        let mut bytes = Vec::new();
        let read = self.into_bytes()?.read_to_end(&mut bytes);
        read.map_err(|reason| FileError::io("cannot be read", &reason).at_path(&path))?;
        Ok(bytes)
    }

    /// All of it as a text, for formats whose files are small.
    pub(crate) fn into_text(self) -> Result<String, FileError> {
        let path = self.path.clone();
        let mut text = String::new();
        let read = (self.into_utf8(false)?.take(MOST_TEXT + 1)).read_to_string(&mut text);
        read.map_err(|reason| FileError::io("cannot be read", &reason).at_path(&path))?;
        if text.len() as u64 > MOST_TEXT {
            let message = "a text of more than 256 MiB; cut it into several files";
            return Err(FileError::new(FileErrorKind::Value, message).at_path(&path));
        }
        Ok(text)
    }
}

/// What was compressed. If it was cut off, the rest of it is missing.
struct Packed<R>(R, Mended);

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(reason) if reason.kind() == io::ErrorKind::UnexpectedEof => {
                let message = "the compressed file ends early; copy or measure again";
                self.1
                    .stop(FileError::new(FileErrorKind::Truncated, message));
                Ok(0)
            }
            read => read,
        }
    }
}
