//! A reader that takes a digest of what passes: the same two files are the same
//! pair, wherever they lie.

use std::io::{self, Read};

use xxhash_rust::xxh3::Xxh3;

/// Reads from `R` and takes a digest (XXH3, 128 bits) of what it read. It tells
/// files apart; against somebody who makes up collisions it is no protection.
pub struct Digesting<R> {
    inner: R,
    hash: Xxh3,
}

impl<R: Read> Digesting<R> {
    /// Around a reader at its beginning.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Xxh3::new(),
        }
    }

    /// The digest of everything read so far, 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_all_bytes_whatever_the_pieces() {
        let digest = |bytes: &[u8], piece: usize| {
            let mut reader = Digesting::new(bytes);
            let mut buffer = vec![0; piece];
            while reader.read(&mut buffer).unwrap() > 0 {}
            reader.digest()
        };
        assert_eq!(digest(b"breakeven", 2), digest(b"breakeven", 9));
        assert_ne!(digest(b"breakeven", 2), digest(b"breakevem", 2));
        // XXH3's own test vector for the empty input.
        assert_eq!(digest(b"", 1), "99aa06d3014798d86001c324468d497f");
    }
}
