//! A text in UTF-8, whatever the file holds.

use std::io::{self, Cursor, Read};

use crate::mended::{Mended, behind};

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
            let read = self.inner.read(&mut self.chunk[self.cut..])?;
            let all = self.cut + read;
            if all == 0 {
                return Ok(0);
            }
            let text = &self.chunk[..all];
            // A character that is not complete waits for the rest of it, unless it has none.
            let incomplete = text.utf8_chunks().last().map(|last| last.invalid());
            let is_cut = |bytes: &&[u8]| {
                let error = std::str::from_utf8(bytes).err();
                read > 0 && error.is_some_and(|error| error.error_len().is_none())
            };
            self.cut = incomplete.filter(is_cut).map_or(0, <[u8]>::len);
            let end = all - self.cut;
            let whole = self.mended.utf8(&text[..end], self.position);
            self.out = Cursor::new(whole.into_owned().into_bytes());
            self.position = behind(self.position, &text[..end]);
            self.chunk.copy_within(end..all, 0);
        }
    }
}
