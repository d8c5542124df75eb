//! pprof: a protobuf message of call paths, packed with gzip. `go tool pprof`, pprof, Pyroscope
//! and other tools read it.
//!
//! Source: `proto/profile.proto` of google/pprof.

use std::io::{BufWriter, Write};

use breakeven_profile::profile::Profile;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::ExportError;
use super::fold::fold;
use super::label::Texts;

/// Writes the paths that [`collapsed`](super::collapsed) writes: a sample for each, whose value
/// is the path's own time in ns. A comment names their source in the profile.
///
/// # Errors
///
/// If the profile has no time, the sum exceeds 2^63 ns, or `out` cannot be written.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let folded = fold(profile)?;
    if i64::try_from(folded.total_ns).is_err() {
        return Err(ExportError::TooLong);
    }
    // The first text is empty, as the format wants it.
    let mut texts = Texts::default();
    texts.number("");
    let mut number = |text: &str| texts.number(text) as u64;
    let mut message = Message::default();
    message.message(1, |kind| {
        kind.count(1, number("time"));
        kind.count(2, number("nanoseconds"));
    });
    // A frame is a function and a location, both with the number of its name.
    let mut frames: Vec<u64> = Vec::new();
    for (path, ns) in folded.paths() {
        let mut path: Vec<u64> = path.map(&mut number).collect();
        frames.extend(&path);
        path.reverse();
        message.message(2, |sample| {
            sample.counts(1, &path);
            sample.counts(2, &[ns]);
        });
    }
    frames.sort_unstable();
    frames.dedup();
    for id in frames {
        message.message(4, |location| {
            location.count(1, id);
            location.message(4, |line| line.count(1, id));
        });
        message.message(5, |function| {
            function.count(1, id);
            function.count(2, id);
        });
    }
    let comment = number(&folded.source);
    message.count(13, comment);
    for text in &texts.all {
        message.bytes(6, text.as_bytes());
    }
    let mut out = GzEncoder::new(BufWriter::new(out), Compression::default());
    out.write_all(&message.0)?;
    Ok(out.finish()?.flush()?)
}

/// A message of protobuf: fields with their number, in base 128 where they are counts.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn count(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn counts(&mut self, field: u64, values: &[u64]) {
        let mut packed = Self::default();
        values.iter().for_each(|value| packed.varint(*value));
        self.bytes(field, &packed.0);
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) {
        let mut inside = Self::default();
        fill(&mut inside);
        self.bytes(field, &inside.0);
    }
}
