//! The profile file from outside: round trips, errors, readers, the disk.

mod arbitrary;
mod disk;
mod document;
mod errors;
mod readers;
mod round_trip;

use breakeven_profile::file::{self, FileError};
use breakeven_profile::profile::Profile;

/// Reads a profile that stands in the test.
fn parse(text: impl AsRef<[u8]>) -> Result<Profile, FileError> {
    file::read_from(text.as_ref(), "profile.json")
}

/// The text of a profile's file.
fn written(profile: &Profile) -> String {
    let mut text = Vec::new();
    file::write_to(profile, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A profile around these operations.
fn with_operations(operations: &str) -> String {
    format!(
        "{{\"format\": \"breakeven-profile\", \"version\": 1,\n\"operations\": [{operations}]}}"
    )
}
