//! Reading: from a path or any reader, whole or one operation at a time.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use serde::de::DeserializeSeed;

use super::document::{Document, Findings};
use super::error::FileError;
use super::explain::{self, Beginning};
use crate::profile::{Operation, Profile};

/// Bytes that are asked of the reader at a time.
const BUFFER: usize = 64 * 1024;

/// Reads the profile in the file at `path`.
///
/// # Errors
///
/// When the file cannot be read, is not a profile, is of a newer version of the format,
/// or holds a wrong value.
pub fn read(path: &Path) -> Result<Profile, FileError> {
    let file = File::open(path)
        .map_err(|reason| FileError::io("cannot be opened", &reason).at_path(path))?;
    read_from(file, path)
}

/// Reads a profile from any reader. Errors call it `origin`: a path, or `<stdin>`.
///
/// # Errors
///
/// As [`read`].
pub fn read_from(reader: impl Read, origin: impl AsRef<Path>) -> Result<Profile, FileError> {
    let mut operations = Vec::new();
    let header = read_operations(reader, origin, |operation| operations.push(operation))?;
    Ok(Profile {
        operations,
        ..header
    })
}

/// Reads a profile, hands over one operation at a time in the order of the file,
/// and returns the rest of the profile, without operations. Memory is bounded by
/// the largest operation and the keys of all.
///
/// The rest of a profile may come behind its operations: what `each` was handed
/// counts only once this returns `Ok`.
///
/// # Errors
///
/// As [`read`].
pub fn read_operations(
    reader: impl Read,
    origin: impl AsRef<Path>,
    each: impl FnMut(Operation),
) -> Result<Profile, FileError> {
    read_document(reader, each).map_err(|error| error.at_path(origin.as_ref()))
}

fn read_document(mut reader: impl Read, each: impl FnMut(Operation)) -> Result<Profile, FileError> {
    let mut head = Vec::new();
    (&mut reader)
        .take(Beginning::BYTES)
        .read_to_end(&mut head)
        .map_err(|reason| FileError::io("cannot be read", &reason))?;
    let beginning = Beginning::of(&head);
    head.drain(..beginning.byte_order_mark(&head));

    let rest = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(reader));
    let mut json = serde_json::Deserializer::from_reader(rest);
    let mut findings = Findings::default();
    let mut track = serde_path_to_error::Track::new();
    let document = Document {
        findings: &mut findings,
        each,
    };
    document
        .deserialize(serde_path_to_error::Deserializer::new(
            &mut json, &mut track,
        ))
        .and_then(|profile| json.end().map(|()| profile))
        .map_err(|error| explain::error(error, &track.path(), findings, beginning))
}
