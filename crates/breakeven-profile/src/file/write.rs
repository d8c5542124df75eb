//! Writes a profile: streamed into a temporary file, which then replaces the target.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use tempfile::NamedTempFile;

use super::error::{FileError, FileErrorKind};
use super::validate::validate;
use super::{FORMAT, VERSION};
use crate::profile::Profile;
use crate::profile::time::MAX_NS;

/// Writes the profile to the file at `path`.
///
/// A regular file is replaced in one step: a reader sees the old profile or the new one, and a
/// failure leaves the old one. Permissions and symbolic links to it are preserved. Any other
/// existing target (a pipe, `/dev/stdout`) is written to directly.
///
/// # Errors
///
/// If the file cannot be written, or the profile has an invalid value: a duplicate or unnamed
/// operation, a number that is not finite, a time above 2^63 ns.
pub fn write(profile: &Profile, path: &Path) -> Result<(), FileError> {
    // Checked before a temporary file exists.
    validate(profile).map_err(|error| error.at_path(path))?;
    replace(path, |file| {
        write_to(profile, file).map_err(|error| error.at_path(path))
    })
}

/// Writes the profile to any writer, in small pieces through a buffer, and flushes it.
///
/// # Errors
///
/// As [`write()`].
pub fn write_to(profile: &Profile, writer: impl Write) -> Result<(), FileError> {
    write_with(profile, &(), writer)
}

/// Writes the profile as [`write_to`] does, with the fields of `further` after its own, which the
/// reader ignores.
///
/// # Errors
///
/// As [`write()`].
pub fn write_with(
    profile: &Profile,
    further: &impl Serialize,
    writer: impl Write,
) -> Result<(), FileError> {
    validate(profile)?;
    let document = Document {
        format: FORMAT,
        version: VERSION,
        profile,
        further,
    };
    let mut buffer = BufWriter::new(writer);
    let mut json = serde_json::Serializer::with_formatter(&mut buffer, Layout::default());
    (document.serialize(&mut json))
        .map_err(io::Error::from)
        .and_then(|()| buffer.write_all(b"\n"))
        .and_then(|()| buffer.flush())
        .map_err(|reason| not_written(&reason))
}

/// Replaces the file at `path` as [`write()`] does, with what `fill` writes through a buffer. An
/// error of `fill` is returned unchanged, and the old file stays.
///
/// # Errors
///
/// If the file cannot be written, and the errors of `fill`.
pub fn replace<E: From<FileError>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let refused = |error: FileError| error.at_path(path);
    match Target::of(path).map_err(refused)? {
        Target::Direct => {
            let file = OpenOptions::new().write(true).truncate(true).open(path);
            let file = file.map_err(|reason| refused(not_written(&reason)))?;
            filled(file, path, fill)?;
        }
        Target::Replace(replaced) => {
            let mut temporary = replaced.temporary().map_err(refused)?;
            filled(&mut temporary, path, fill)?;
            let synced = temporary.as_file().sync_all();
            synced.map_err(|reason| refused(not_written(&reason)))?;
            let persisted = temporary.persist(&replaced.path);
            persisted.map_err(|error| refused(not_written(&error.error)))?;
        }
    }
    Ok(())
}

fn filled<E: From<FileError>>(
    file: impl Write,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = BufWriter::new(file);
    fill(&mut buffer)?;
    let flushed = buffer.flush();
    flushed.map_err(|reason| not_written(&reason).at_path(path).into())
}

fn not_written(reason: &io::Error) -> FileError {
    FileError::io("cannot be written", reason)
}

/// The document: the header, the profile, and additional fields.
#[derive(Serialize)]
struct Document<'a, F> {
    format: &'static str,
    version: u64,
    #[serde(flatten)]
    profile: &'a Profile,
    #[serde(flatten)]
    further: &'a F,
}

/// Levels of nesting that get lines of their own: the document, the list of
/// operations, an operation, its list of runs.
const LEVELS: usize = 4;

#[derive(Default)]
pub(super) struct Layout {
    level: usize,
    has_value: bool,
}

impl Layout {
    fn open(&mut self, writer: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn close(&mut self, writer: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.has_value && self.level < LEVELS {
            self.new_line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn separate(&self, writer: &mut (impl io::Write + ?Sized), first: bool) -> io::Result<()> {
        if self.level > LEVELS {
            return writer.write_all(if first { b"" } else { b", " });
        }
        writer.write_all(if first { b"" } else { b"," })?;
        self.new_line(writer)
    }

    fn new_line(&self, writer: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.level).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    // A whole number has no fraction: most times are whole nanoseconds.
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        match value.fract() == 0.0 && value.abs() < MAX_NS {
            true => self.write_i64(writer, value as i64),
            false => CompactFormatter.write_f64(writer, value),
        }
    }
}

/// Checks whether a profile can be written to `path`, before hours of measuring. Changes no file
/// and leaves none behind.
///
/// # Errors
///
/// If the directory is missing or read-only, or `path` is a directory or not writable.
pub fn check_writable(path: &Path) -> Result<(), FileError> {
    let checked = Target::of(path).and_then(|target| match target {
        // Opening a pipe would wait for its reader.
        Target::Direct => Ok(()),
        Target::Replace(replaced) => replaced.temporary().map(drop),
    });
    checked.map_err(|error| error.at_path(path))
}

enum Target {
    /// A pipe, a device, or a descriptor of this process.
    Direct,
    /// A regular file, or none yet.
    Replace(Replaced),
}

/// Symbolic links that are followed one after another before it must be a loop; Linux's own limit.
const MOST_LINKS: usize = 40;

/// A file to replace.
struct Replaced {
    /// The file behind all symbolic links.
    path: PathBuf,
    directory: PathBuf,
    permissions: Option<Permissions>,
}

impl Target {
    /// Follows `path` to the file that it leads to, which need not exist yet.
    fn of(path: &Path) -> Result<Self, FileError> {
        let permissions = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let text = "is a directory; name a file in it";
                return Err(FileError::new(FileErrorKind::Io, text));
            }
            Ok(metadata) if !metadata.is_file() => return Ok(Self::Direct),
            Ok(metadata) => {
                // Replacing only needs permission on the directory; the file's own permission is
                // checked too.
                let opened = OpenOptions::new().write(true).open(path);
                opened.map_err(|reason| FileError::io("cannot be written", &reason))?;
                Some(metadata.permissions())
            }
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => None,
            Err(reason) => return Err(FileError::io("cannot be written", &reason)),
        };
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let directory = directory_of(&path)?;
            if directory.starts_with("/proc") {
                // A redirected `/dev/stdout`: the file belongs to the process that opened it.
                return Ok(Self::Direct);
            }
            match fs::read_link(&path) {
                Ok(link) => path = directory.join(link),
                Err(_) => {
                    return Ok(Self::Replace(Replaced {
                        path,
                        directory,
                        permissions,
                    }));
                }
            }
        }
        let text = "is a symbolic link that leads to itself";
        Err(FileError::new(FileErrorKind::Io, text))
    }
}

/// The existing directory of a file that need not exist.
fn directory_of(path: &Path) -> Result<PathBuf, FileError> {
    if path.file_name().is_none() {
        return Err(FileError::new(
            FileErrorKind::Io,
            "the path does not name a file",
        ));
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::canonicalize(parent).map_err(|reason| {
        let action = format!("the directory {} cannot be used", parent.display());
        FileError::io(&action, &reason)
    })
}

/// Prefix of temporary files, until they are renamed.
pub const TEMPORARY_PREFIX: &str = ".breakeven-";

impl Replaced {
    /// A new file in the target's directory. It gets the target's permissions, or the default ones.
    /// Removed when dropped.
    fn temporary(&self) -> Result<NamedTempFile, FileError> {
        let created = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .make_in(&self.directory, |path| File::create_new(path));
        let refused = |reason: io::Error| {
            let action = format!("cannot create a file in {}", self.directory.display());
            FileError::io(&action, &reason)
        };
        let temporary = created.map_err(refused)?;
        if let Some(permissions) = &self.permissions {
            let set = temporary.as_file().set_permissions(permissions.clone());
            set.map_err(refused)?;
        }
        Ok(temporary)
    }
}
