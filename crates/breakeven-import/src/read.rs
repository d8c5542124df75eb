//! Reading a file of any format.

use std::fs;
use std::io::Read;
use std::path::Path;

use breakeven_profile::file::{self, FileError, FileErrorKind};
use breakeven_profile::profile::Profile;

pub use crate::formats::Options;
use crate::formats::{self, Format};
use crate::note::{Entry, Notes};
use crate::other;
use crate::source::Source;

/// A profile, and what is to be said of where it came from.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The profile.
    pub profile: Profile,
    /// The format that the file was of; none for a profile file.
    pub format: Option<&'static Format>,
    /// What a reader should know before trusting a verdict.
    pub notes: Vec<String>,
    /// All measurements of a file that keeps a history, oldest first; `profile` is the
    /// newest of them. Empty for any other file.
    pub history: Vec<Entry>,
}

/// Reads a profile file, or a file of another tool; `-` is the standard input.
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
    let importer = importer(&source, options)?;
    let mut notes = Notes::default();
    let read = match importer {
        Some(importer) => (importer.read)(source, options, &mut notes),
        None => profile(source),
    };
    let texts = notes.texts();
    let is_incomplete = notes.stopped.is_some();
    let mut profile = read.map_err(|error| match notes.stopped {
        // Nothing came before the end.
        Some(stopped) if error.kind() == FileErrorKind::Empty => stopped,
        _ => error,
    })?;
    profile.interrupted |= is_incomplete;
    Ok(Imported {
        profile,
        format: importer,
        notes: texts,
        history: notes.history,
    })
}

/// Reads what no importer recognises: a profile, or an error that says what it may be.
fn profile(source: Source) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    if is_profile(&source) {
        return file::read_from(source.into_all(), path);
    }
    let is_table = |end: &str| ["csv", "tsv", "jsonl", "ndjson"].contains(&end);
    let (kind, message) = if source.is_folder() {
        let unknown = "the folder holds no results of a tool that is known; name a file in it";
        let message = of_folder(source.path()).unwrap_or_else(|| unknown.to_owned());
        return Err(FileError::new(FileErrorKind::NotAProfile, message));
    } else if let Some(message) = other::what_to_give(&source) {
        (FileErrorKind::NotAProfile, message)
    } else if source.extension().as_deref().is_some_and(is_table) {
        let message = "which column of the table is what? name the columns, as in \
                    name=…,time=…,unit=ms";
        (FileErrorKind::Columns, message)
    } else {
        let read = file::read_from(source.into_all(), &path);
        return read.map_err(|error| match error.kind() {
            FileErrorKind::NotAProfile => {
                let message = format!("of no known format, and {}", error.message());
                FileError::new(FileErrorKind::Format, message)
            }
            _ => error,
        });
    };
    Err(FileError::new(kind, message))
}

/// Files of a folder that are opened to recognise their format.
const FIRST_FILES: usize = 5;

/// What to name in place of a folder that no importer reads; none if its first files are unknown.
fn of_folder(folder: &Path) -> Option<String> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let files = files.map(|file| file.path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort();
    let (tool, end) = files.iter().take(FIRST_FILES).find_map(|file| {
        let source = Source::open(file).ok()?;
        let tool = importer(&source, &Options::default()).ok()?;
        let is_known = tool.is_some() || is_profile(&source);
        Some((tool.map_or("breakeven", Format::name), file.extension()?)).filter(|_| is_known)
    })?;
    let count = (files.iter().filter(|file| file.extension() == Some(end))).count();
    let (end, folder) = (end.display(), folder.display());
    Some(format!(
        "the folder holds {count} .{end} file(s), of {tool}; name them: {folder}/*.{end}"
    ))
}

fn is_profile(source: &Source) -> bool {
    source.has("format") && source.has("operations")
}

/// What reads it: as asked for, else the one that recognises it; none for a profile and
/// for what nothing recognises.
fn importer(source: &Source, options: &Options) -> Result<Option<&'static Format>, FileError> {
    let table = &formats::table::IMPORTER;
    if let Some(importer) = options.from {
        if options.columns.is_some() && importer.name != table.name {
            let message = format!(
                "columns are named for CSV and JSON lines, and it is to be read as {}; leave out one of the two",
                importer.name
            );
            return Err(FileError::new(FileErrorKind::NotAProfile, message));
        }
        return Ok(Some(importer));
    }
    if is_profile(source) {
        return Ok(None);
    }
    if options.columns.is_some() {
        return Ok(Some(table));
    }
    let mut found = Format::all().filter(|each| (each.recognises)(source));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => Err(FileError::new(
            FileErrorKind::Format,
            format!(
                "it could be of the format {} or {}; name the format",
                one.name, other.name
            ),
        )),
        (found, _) => Ok(found),
    }
}
