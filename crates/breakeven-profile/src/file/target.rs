//! The target of a profile: a file to replace, or something to write to directly.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::{FileError, FileErrorKind};

/// Symbolic links that are followed one after another before it must be a loop; Linux's own limit.
const MOST_LINKS: usize = 40;

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

pub(super) enum Target {
    /// A pipe, a device, or a descriptor of this process.
    Direct,
    /// A regular file, or none yet.
    Replace(Replaced),
}

/// A file to replace.
pub(super) struct Replaced {
    /// The file behind all symbolic links.
    pub(super) path: PathBuf,
    directory: PathBuf,
    permissions: Option<Permissions>,
}

impl Target {
    /// Follows `path` to the file that it leads to, which need not exist yet.
    pub(super) fn of(path: &Path) -> Result<Self, FileError> {
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
    pub(super) fn temporary(&self) -> Result<NamedTempFile, FileError> {
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
