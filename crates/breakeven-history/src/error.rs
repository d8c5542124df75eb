//! Errors of reading and writing a history.

use std::path::{Path, PathBuf};

/// Why a history cannot be read or written: which file, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is no such file.
    #[error("{}: there is no history yet; `breakeven history add` begins one", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a history.
    #[error("{}: is not a history of breakeven: {found}; name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What the file is.
        found: &'static str,
    },
    /// A newer build wrote it.
    #[error(
        "{}: is of version {found} of the format, and this build knows up to {known}; update \
         breakeven", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// The newest version that this build can read.
        known: i64,
    },
    /// The database is damaged.
    #[error(
        "{}: is damaged: {reason}; restore a copy, or save what can be read with `sqlite3 {} \
         .recover`", path.display(), path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite or the decoder reported.
        reason: String,
    },
    /// Another process was still writing after the timeout.
    #[error("{}: another process has been writing for {seconds} s; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long this process waited.
        seconds: u64,
    },
    /// There is no space left for the file.
    #[error("{}: {reason}; nothing was added", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite reported.
        reason: String,
    },
    /// The operating system or SQLite returned an error.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The history has nothing of that name.
    #[error("there is no {what} {name:?} in the history; {hint}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: String,
        /// How to list the names that exist.
        hint: &'static str,
    },
    /// The text is not a time.
    #[error("{text:?} is not a point in time; give one as 2026-03-01T12:00:00Z")]
    Time {
        /// The text.
        text: String,
    },
    /// The profile has no times.
    #[error("the profile has no times; measure before adding it")]
    Nothing,
}

/// Seconds that a writer waits for another writer.
pub(crate) const PATIENCE_S: u64 = 10;

impl HistoryError {
    /// Turns an error of SQLite into one that names the file.
    pub(crate) fn sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign {
                path,
                found: "it is not an SQLite database",
            },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, reason },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy {
                path,
                seconds: PATIENCE_S,
            },
            Some(ErrorCode::DiskFull) => Self::Full { path, reason },
            _ => Self::Io { path, reason },
        }
    }
}
