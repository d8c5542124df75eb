//! Why a history cannot be read or written.

use std::path::{Path, PathBuf};

/// Why a history cannot be read or written, with the file and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is no such file.
    #[error("{}: there is no history yet; `breakeven history add` begins one", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: is not a history of breakeven: {found}; name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
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
        /// Its version.
        found: i64,
        /// The newest known one.
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
        /// What SQLite or the decoder found.
        reason: String,
    },
    /// Another process writes, and did not stop.
    #[error("{}: another process has been writing for {seconds} s; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// There is no space left for it.
    #[error("{}: {reason}; nothing was added", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The operating system or SQLite refused.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is nothing in it by that name.
    #[error("there is no {what} {name:?} in the history; {hint}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: String,
        /// How to find what there is.
        hint: &'static str,
    },
    /// A time that is none.
    #[error("{text:?} is not a point in time; give one as 2026-03-01T12:00:00Z")]
    Time {
        /// What was given.
        text: String,
    },
    /// A profile without any times.
    #[error("the profile has no times; measure before adding it")]
    Nothing,
}

/// Seconds that a writer waits for another.
pub(crate) const PATIENCE_S: u64 = 10;

impl HistoryError {
    /// What SQLite said of the file.
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
