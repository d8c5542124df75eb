//! A text in UTF-8, whatever the file holds.

use std::io::{self, Cursor, Read};

use breakeven_profile::file::{FileError, FileErrorKind};

use crate::mended::{Mended, behind};

/// What stands in place of bytes and characters that cannot be read.
pub(crate) const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Reads bytes as UTF-8.
pub(crate) struct Utf8<R> {
    inner: R,
    /// Bytes of the file; the first are those of a character that was cut.
    chunk: Vec<u8>,
    cut: usize,
    out: Cursor<Vec<u8>>,
    position: [usize; 2],
    mended: Mended,
}

impl<R: Read> Utf8<R> {
    pub(crate) fn of(inner: R, mended: Mended) -> Self {
        Self {
            inner,
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
            let read = match self.inner.read(&mut self.chunk[self.cut..]) {
                Err(reason) if reason.kind() == io::ErrorKind::UnexpectedEof => {
                    self.mended.stop(cut_off());
                    0
                }
                read => read?,
            };
            let mut end = self.cut + read;
            if end == 0 {
                return Ok(0);
            }
            self.out = Cursor::default();
            let mut start = 0;
            while let Err(error) = std::str::from_utf8(&self.chunk[start..end]) {
                let bad = start + error.valid_up_to();
                let Some(length) = error.error_len().or((read == 0).then_some(end - bad)) else {
                    end = bad;
                    break;
                };
                let (before, out) = (&self.chunk[..bad], self.out.get_mut());
                out.extend([&before[start..], REPLACEMENT].concat());
                let what = "not UTF-8 and read as \u{fffd}";
                let byte = &self.chunk[bad..bad + 1];
                self.mended.add(what, byte, self.position, before);
                start = bad + length;
            }
            self.out
                .get_mut()
                .extend_from_slice(&self.chunk[start..end]);
            self.position = behind(self.position, &self.chunk[..end]);
            let all = self.cut + read;
            self.cut = all - end;
            self.chunk.copy_within(end..all, 0);
        }
    }
}

/// Why a compressed file ends before its end.
pub(crate) fn cut_off() -> FileError {
    let told = "the compressed file ends early; copy or measure again";
    FileError::new(FileErrorKind::Truncated, told)
}
