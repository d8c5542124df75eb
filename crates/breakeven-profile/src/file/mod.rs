//! The profile file: JSON, read completely, written in one step.
//!
//! `docs/profile-format.md` describes it field by field. Most programs only need [`read`] and
//! [`write()`]:
//!
//! ```
//! use breakeven_profile::file;
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let mut sobel = Operation::new("sobel", "cpu");
//! sobel.runs.push(Run { samples_ns: vec![812_000.0, 799_000.0], ..Run::default() });
//! let profile = Profile { operations: vec![sobel], ..Profile::default() };
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("profile.json");
//! file::write(&profile, &path)?;
//! assert_eq!(file::read(&path)?, profile);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub(crate) mod read;
mod validate;
mod write;

pub use error::{FileError, FileErrorKind, in_words};
pub use read::{read, read_from};
pub use write::{TEMPORARY_PREFIX, check_writable, replace, write, write_to, write_with};

/// Value of the field `format` in every profile file.
pub const FORMAT: &str = "breakeven-profile";

/// The version of the format that this build writes, and the newest that it reads.
pub const VERSION: u64 = 1;
