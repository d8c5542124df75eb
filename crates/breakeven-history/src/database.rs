//! The SQLite file: how it is opened, its tables, its version.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use breakeven_profile::file::{FileError, FileErrorKind};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Marks the file as a history: `brkv` in the header of the database.
const APPLICATION: i64 = 0x6272_6b76;

/// Version of the tables.
const VERSION: i64 = 1;

/// First bytes of every SQLite database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The tables. `value` has the figures that changes are found by, stored next to the other values
/// of the series. The packed profile is stored with its entry.
const TABLES: &str = "
    CREATE TABLE machine (
        id INTEGER PRIMARY KEY,
        description TEXT NOT NULL UNIQUE
    );
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        time TEXT NOT NULL,
        added TEXT NOT NULL,
        commit_id TEXT,
        branch TEXT,
        machine INTEGER NOT NULL REFERENCES machine,
        operations INTEGER NOT NULL,
        digest BLOB NOT NULL UNIQUE,
        profile BLOB NOT NULL
    );
    CREATE INDEX entry_by_time ON entry (time, id);
    CREATE TABLE series (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        device TEXT NOT NULL,
        size INTEGER,
        machine INTEGER NOT NULL REFERENCES machine
    );
    CREATE UNIQUE INDEX series_by_key ON series (name, device, ifnull(size, -1), machine);
    CREATE TABLE point (
        series INTEGER NOT NULL REFERENCES series,
        entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
        value_ns REAL NOT NULL,
        low_ns REAL NOT NULL,
        high_ns REAL NOT NULL,
        runs INTEGER NOT NULL,
        PRIMARY KEY (series, entry)
    ) WITHOUT ROWID;
    CREATE TABLE note (
        id INTEGER PRIMARY KEY,
        entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
        time TEXT NOT NULL,
        text TEXT NOT NULL,
        accepted INTEGER NOT NULL
    );
";

/// Seconds that a writer waits for another writer.
const PATIENCE_S: u64 = 10;

const NO_DATABASE: &str = "it is not an SQLite database";

fn foreign(path: &Path, found: &str) -> FileError {
    let message = format!("is not a history of breakeven: {found}; name another file");
    FileError::new(FileErrorKind::NotAProfile, message).at_path(path)
}

fn damaged(path: &Path, reason: &str) -> FileError {
    let message = format!(
        "is damaged: {reason}; restore a copy, or save what can be read with `sqlite3 {} .recover`",
        path.display()
    );
    FileError::new(FileErrorKind::Syntax, message).at_path(path)
}

/// Turns an error of SQLite into one that names the file.
fn explained(path: &Path, error: &rusqlite::Error) -> FileError {
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => return foreign(path, NO_DATABASE),
        Some(ErrorCode::DatabaseCorrupt) => return damaged(path, &error.to_string()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let message = format!("another process has been writing for {PATIENCE_S} s; try again");
            (FileErrorKind::Io, message)
        }
        Some(ErrorCode::DiskFull) => (FileErrorKind::Full, format!("{error}; nothing was added")),
        _ => (FileErrorKind::Io, error.to_string()),
    };
    FileError::new(kind, message).at_path(path)
}

/// An open history.
pub struct History {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

/// True if the file is an SQLite database, as every history is.
pub fn is_history(path: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *MAGIC
}

impl History {
    /// Opens the history in the file at `path`; there must be one.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn open(path: &Path) -> Result<Self, FileError> {
        if !path.exists() {
            let message = "there is no history yet; `breakeven history add` begins one";
            return Err(FileError::new(FileErrorKind::Io, message).at_path(path));
        }
        // SQLite takes a file of a few bytes for an empty database and overwrites it.
        let is_empty = std::fs::metadata(path).is_ok_and(|found| found.len() == 0);
        if !is_empty && !is_history(path) {
            return Err(foreign(path, NO_DATABASE));
        }
        let mut history = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        match history.version()? {
            // An empty file of somebody else's, or a writer that stopped before its first entry.
            0 => history.create_tables()?,
            _ => history.check()?,
        }
        Ok(history)
    }

    /// Opens the history in the file at `path`, and creates it if there is no file.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn create(path: &Path) -> Result<Self, FileError> {
        if path.exists() {
            return Self::open(path);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut history = Self::connect(path, flags)?;
        history.create_tables()?;
        Ok(history)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, FileError> {
        let failure = |error: rusqlite::Error| explained(path, &error);
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(failure)?;
        connection
            .busy_timeout(Duration::from_secs(PATIENCE_S))
            .map_err(failure)?;
        let history = Self {
            connection,
            path: path.to_owned(),
        };
        Ok(history)
    }

    /// Reads a number from the database's header.
    fn number(&self, pragma: &str) -> Result<i64, FileError> {
        let read = self
            .connection
            .pragma_query_value(None, pragma, |row| row.get(0));
        read.map_err(|error| self.failure(&error))
    }

    /// Version of the tables; 0 if there are none.
    fn version(&self) -> Result<i64, FileError> {
        // One transaction, because another process may create the tables meanwhile.
        let view = self.connection.unchecked_transaction();
        let _view = view.map_err(|error| self.failure(&error))?;
        let (application, version) = (self.number("application_id")?, self.number("user_version")?);
        let tables = || {
            let count = "SELECT count(*) FROM sqlite_master";
            let read = self
                .connection
                .query_row(count, [], |row| row.get::<_, i64>(0));
            read.map_err(|error| self.failure(&error))
        };
        match (application, version) {
            (APPLICATION, 1..=VERSION) => Ok(version),
            (APPLICATION, found) if found > VERSION => {
                let message = format!(
                    "is of version {found} of the format, and this build knows up to {VERSION}; \
                     update breakeven"
                );
                Err(FileError::new(FileErrorKind::Version, message).at_path(&self.path))
            }
            (0, 0) if tables()? == 0 => Ok(0),
            _ => Err(foreign(&self.path, "it is another program's database")),
        }
    }

    /// Sets what SQLite must do for every connection.
    fn check(&self) -> Result<(), FileError> {
        // WAL lets readers and a writer work at the same time. If the file system has no shared
        // memory for it, SQLite keeps its rollback journal.
        let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                       PRAGMA foreign_keys = ON; PRAGMA cache_size = -32768;";
        let start = Instant::now();
        let set = loop {
            let set = self.connection.execute_batch(pragmas);
            // Two processes that change the mode at once would wait for each other, so SQLite
            // refuses one of them without waiting.
            let is_busy = (set.as_ref().err()).and_then(rusqlite::Error::sqlite_error_code)
                == Some(ErrorCode::DatabaseBusy);
            if !is_busy || start.elapsed() >= Duration::from_secs(PATIENCE_S) {
                break set;
            }
            thread::sleep(Duration::from_millis(5));
        };
        match set {
            // A read-only copy.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => Ok(()),
            set => set.map_err(|error| self.failure(&error)),
        }
    }

    fn create_tables(&mut self) -> Result<(), FileError> {
        self.check()?;
        self.write(|to| {
            let version: i64 = to.pragma_query_value(None, "user_version", |row| row.get(0))?;
            // Another process may have created the tables first.
            if version == 0 {
                to.execute_batch(TABLES)?;
                to.pragma_update(None, "application_id", APPLICATION)?;
                to.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(())
        })
    }

    /// Writes everything or nothing, after other writers have finished.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, FileError> {
        let written = (self.connection)
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let done = work(&transaction)?;
                transaction.commit()?;
                Ok(done)
            });
        written.map_err(|error| self.failure(&error))
    }

    /// Adds the file to an error of SQLite.
    pub(crate) fn failure(&self, error: &rusqlite::Error) -> FileError {
        explained(&self.path, error)
    }

    /// Reports a value that is invalid.
    pub(crate) fn damaged(&self, reason: impl Into<String>) -> FileError {
        damaged(&self.path, &reason.into())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Longest document that is unpacked, so that a damaged length cannot exhaust the memory.
const MOST: u64 = 1 << 30;

pub(crate) fn pack(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut packed, value)?;
    packed
        .flush()
        .and_then(|()| packed.finish())
        .map_err(serde_json::Error::io)
}

pub(crate) fn unpack<T: DeserializeOwned>(packed: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_reader(ZlibDecoder::new(packed).take(MOST))
}
