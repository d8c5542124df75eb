//! Reading a file of any format.

use std::io::Read;
use std::path::Path;

use breakeven_profile::file::{self, FileError, FileErrorKind};
use breakeven_profile::profile::Profile;

pub use crate::format::Options;
use crate::format::{Format, IMPORTERS, Importer};
use crate::formats;
use crate::history::Entry;
use crate::note::{Note, Notes};
use crate::other_output;
use crate::source::Source;

/// A profile, and what is to be said of where it came from.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The profile.
    pub profile: Profile,
    /// The format that the file was of; none for a profile file.
    pub format: Option<Format>,
    /// What a reader should know before trusting a verdict.
    pub notes: Vec<Note>,
    /// All measurements of a file that keeps a history, oldest first; `profile` is the
    /// newest of them. Empty for any other file.
    pub history: Vec<Entry>,
}

/// Reads a profile file, or a file of another tool.
///
/// # Errors
///
/// [`FileError`]: the file cannot be read, its format is not known or could be several,
/// or something in it is wrong.
pub fn read(path: &Path, options: &Options) -> Result<Imported, FileError> {
    of(Source::open(path)?, options).map_err(|error| named(error, path))
}

/// [`read`] for any reader. Errors call it `origin`: a path, or `<stdin>`. Formats that
/// are a folder or a database need a path.
///
/// # Errors
///
/// As [`read`].
pub fn read_from(
    reader: impl Read + 'static,
    origin: impl AsRef<Path>,
    options: &Options,
) -> Result<Imported, FileError> {
    let origin = origin.as_ref();
    let source = Source::of(reader, origin);
    let source = source.map_err(|reason| FileError::io("cannot be read", &reason).at_path(origin));
    of(source?, options).map_err(|error| named(error, origin))
}

fn named(error: FileError, path: &Path) -> FileError {
    match error.path() {
        Some(_) => error,
        None => error.at_path(path),
    }
}

fn of(source: Source, options: &Options) -> Result<Imported, FileError> {
    let Some(importer) = importer(&source, options)? else {
        let path = source.path().to_owned();
        if source.is_folder() {
            let told = "the folder holds no results of a tool that is known; name a file in it";
            return Err(FileError::new(FileErrorKind::NotAProfile, told));
        }
        if let Some(told) = other_output::recognised(&source) {
            return Err(FileError::new(FileErrorKind::NotAProfile, told));
        }
        let is_table = |end: &str| ["csv", "tsv", "jsonl", "ndjson"].contains(&end);
        if source.extension().as_deref().is_some_and(is_table) {
            let told =
                "which column of the table is what? name the columns, as in name=…,time=…,unit=ms";
            return Err(FileError::new(FileErrorKind::NotAProfile, told));
        }
        return Ok(Imported {
            profile: file::read_from(source.into_all(), path)?,
            format: None,
            notes: Vec::new(),
            history: Vec::new(),
        });
    };
    let mut notes = Notes::default();
    let profile = (importer.read)(source, options, &mut notes)?;
    let (notes, history) = notes.into_parts();
    Ok(Imported {
        profile,
        format: Some(Format(importer)),
        notes,
        history,
    })
}

/// What reads it: as asked for, else the one that recognises it; none for a profile and
/// for what nothing recognises.
fn importer(source: &Source, options: &Options) -> Result<Option<&'static Importer>, FileError> {
    let table = &formats::table::IMPORTER;
    if let Some(Format(importer)) = options.from {
        if options.columns.is_some() && importer.name != table.name {
            let told = format!(
                "columns are named for CSV and JSON lines, and it is to be read as {}; leave out one of the two",
                importer.name
            );
            return Err(FileError::new(FileErrorKind::NotAProfile, told));
        }
        return Ok(Some(importer));
    }
    if source.has("format") && source.has("operations") {
        return Ok(None);
    }
    if options.columns.is_some() {
        return Ok(Some(table));
    }
    let mut found = IMPORTERS
        .iter()
        .copied()
        .filter(|each| (each.recognises)(source));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => Err(FileError::new(
            FileErrorKind::NotAProfile,
            format!(
                "it could be of the format {} or {}; name the format",
                one.name, other.name
            ),
        )),
        (found, _) => Ok(found),
    }
}
