//! The header of a document: is it a profile, and of a version that this build knows?

use serde_json::Value;

use super::error::{FileError, FileErrorKind, clipped};
use super::{FORMAT, VERSION};

/// Top-level keys that an error names of a document that is no profile.
const KEYS_NAMED: usize = 6;

/// What was seen of the header so far. The keys may come in any order, and
/// `version` has no meaning before `format` was seen: it may be another tool's.
#[derive(Default)]
pub(super) struct Header {
    format: bool,
    version: Option<Value>,
    keys: Vec<String>,
}

impl Header {
    /// Notes a top-level key, for the error about a document that is no profile.
    pub(super) fn key(&mut self, key: &str) {
        if self.keys.len() < KEYS_NAMED {
            self.keys.push(clipped(key));
        }
    }

    pub(super) fn format(&mut self, value: &Value) -> Result<(), FileError> {
        if value.as_str() != Some(FORMAT) {
            return Err(FileError::new(
                FileErrorKind::NotAProfile,
                format!(
                    "not a breakeven profile: \"format\" is {}, not \"{FORMAT}\"",
                    clipped(&value.to_string())
                ),
            )
            .at_place("format"));
        }
        self.format = true;
        self.check_version()
    }

    pub(super) fn version(&mut self, value: Value) -> Result<(), FileError> {
        self.version = Some(value);
        self.check_version()
    }

    pub(super) fn finish(&self) -> Result<(), FileError> {
        if !self.format {
            let keys = match &self.keys[..] {
                [] => "it is an empty object".to_owned(),
                keys => format!("its first keys are {}", keys.join(", ")),
            };
            return Err(FileError::new(
                FileErrorKind::NotAProfile,
                format!(
                    "not a breakeven profile: it has no \"format\", {keys}; a profile \
                     begins {{\"format\": \"{FORMAT}\", \"version\": {VERSION}"
                ),
            ));
        }
        if self.version.is_none() {
            return Err(FileError::new(
                FileErrorKind::Version,
                format!("the profile has no \"version\"; add \"version\": {VERSION}"),
            ));
        }
        Ok(())
    }

    fn check_version(&self) -> Result<(), FileError> {
        let Some(version) = self.version.as_ref().filter(|_| self.format) else {
            return Ok(());
        };
        let message = match version.as_u64() {
            // Older versions that this build still reads get their arms here.
            Some(VERSION) => return Ok(()),
            Some(newer) if newer > VERSION => format!(
                "the profile is of version {newer} and this build reads up to version \
                 {VERSION}; update breakeven, or write the profile again with this one"
            ),
            _ => format!(
                "{} is not a version of the profile format; write \"version\": {VERSION}",
                clipped(&version.to_string())
            ),
        };
        Err(FileError::new(FileErrorKind::Version, message).at_place("version"))
    }
}
