//! Reads a profile from a path or any reader.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_path_to_error::Track;

use super::error::{FileError, FileErrorKind, clipped};
use super::validate::validate;
use super::{FORMAT, VERSION};
use crate::profile::Profile;

/// Bytes that must show whether the file is a profile, before the rest is read.
const HEAD: u64 = 64 * 1024;

/// Reads the profile in the file at `path`.
///
/// # Errors
///
/// If the file cannot be read, is not a profile, is of a newer version of the format, or has an
/// invalid value.
pub fn read(path: &Path) -> Result<Profile, FileError> {
    let file = File::open(path)
        .map_err(|reason| FileError::io("cannot be opened", &reason).at_path(path))?;
    read_from(file, path)
}

/// Reads a profile from any reader, to its end. Errors call it `origin`: a path, or `<stdin>`.
///
/// # Errors
///
/// As [`read`].
pub fn read_from(reader: impl Read, origin: impl AsRef<Path>) -> Result<Profile, FileError> {
    text_of(reader)
        .and_then(|text| profile(&text))
        .map_err(|error| error.at_path(origin.as_ref()))
}

/// Reads the text if it begins like a profile; any other input may be endless.
fn text_of(mut reader: impl Read) -> Result<Vec<u8>, FileError> {
    let mut text = Vec::new();
    let unread = |reason| FileError::io("cannot be read", &reason);
    let head = reader.by_ref().take(HEAD).read_to_end(&mut text);
    head.map_err(unread)?;
    if text.starts_with(b"\xef\xbb\xbf") {
        text.drain(..3);
    }
    match text.trim_ascii_start().first() {
        Some(b'{') => {
            reader.read_to_end(&mut text).map_err(unread)?;
            Ok(text)
        }
        Some(_) => Err(not_a_profile(looks_like(&text))),
        None => Err(FileError::new(
            FileErrorKind::Empty,
            "the file is empty; write the profile again",
        )),
    }
}

fn looks_like(text: &[u8]) -> &'static str {
    match text {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is UTF-16 text; save it as UTF-8",
        [0x1f, 0x8b, ..] => "it is a gzip file; decompress it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is a zstd file; decompress it first",
        [b'P', b'K', 3, 4, ..] => "it is a zip file; decompress it first",
        _ => match String::from_utf8_lossy(text).trim_start().chars().next() {
            Some('[') => "it is no JSON object, and a profile is one",
            Some('<') => "it looks like HTML or XML",
            Some(first) if first.is_control() || first == char::REPLACEMENT_CHARACTER => {
                "it is not text"
            }
            _ => "it is not JSON",
        },
    }
}

fn profile(text: &[u8]) -> Result<Profile, FileError> {
    // Fields may come in any order, so format and version are searched first.
    let header = parsed(text);
    let begins = format!("a profile begins {{\"format\": \"{FORMAT}\", \"version\": {VERSION}");
    match &header {
        Ok(Header { format, .. }) if format != FORMAT => {
            let format = clipped(format);
            let reason = format!("its \"format\" is {format:?}; {begins}");
            return Err(not_a_profile(&reason));
        }
        // Older versions that this build still reads get their arms here.
        Ok(Header { version, .. }) if *version != Some(VERSION) => {
            let reason = match version {
                Some(version) => format!(
                    "the profile is of version {version} and this build reads version {VERSION}; \
                     update breakeven, or write the profile again with this one"
                ),
                None => format!("the profile has no \"version\"; {begins}"),
            };
            return Err(FileError::new(FileErrorKind::Version, reason));
        }
        Err(error) if error.kind() == FileErrorKind::Value => {
            return Err(not_a_profile(&format!("{error}; {begins}")));
        }
        // Other errors are found again below, with their place.
        _ => {}
    }
    let profile = parsed(text)?;
    header?;
    validate(&profile)?;
    Ok(profile)
}

fn parsed<'t, T: Deserialize<'t>>(text: &'t [u8]) -> Result<T, FileError> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let mut place = Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut place);
    let read = T::deserialize(tracked);
    let value = read.map_err(|error| FileError::json(&error, &place.path().to_string()))?;
    json.end().map_err(|error| FileError::json(&error, ""))?;
    Ok(value)
}

/// The fields that identify a profile.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: Option<u64>,
}

fn not_a_profile(reason: &str) -> FileError {
    let reason = format!("not a breakeven profile: {reason}");
    FileError::new(FileErrorKind::NotAProfile, reason)
}
