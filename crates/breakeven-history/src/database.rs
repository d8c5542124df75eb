//! The SQLite file: how it is opened, its tables, its version.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{HistoryError, PATIENCE_S};

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
    /// [`HistoryError`].
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        if !path.exists() {
            let path = path.to_owned();
            return Err(HistoryError::Missing { path });
        }
        // SQLite takes a file of a few bytes for an empty database and overwrites it.
        let is_empty = std::fs::metadata(path).is_ok_and(|found| found.len() == 0);
        if !is_empty && !is_history(path) {
            return Err(HistoryError::Foreign {
                path: path.to_owned(),
                found: "it is not an SQLite database",
            });
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
    /// [`HistoryError`].
    pub fn create(path: &Path) -> Result<Self, HistoryError> {
        if path.exists() {
            return Self::open(path);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut history = Self::connect(path, flags)?;
        history.create_tables()?;
        Ok(history)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, HistoryError> {
        let failure = |error: rusqlite::Error| HistoryError::sqlite(path, &error);
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
    fn number(&self, pragma: &str) -> Result<i64, HistoryError> {
        let read = self
            .connection
            .pragma_query_value(None, pragma, |row| row.get(0));
        read.map_err(|error| self.failure(&error))
    }

    /// Version of the tables; 0 if there are none.
    fn version(&self) -> Result<i64, HistoryError> {
        // One transaction, because another process may create the tables meanwhile.
        let view = self.connection.unchecked_transaction();
        let _view = view.map_err(|error| self.failure(&error))?;
        let (application, version) = (self.number("application_id")?, self.number("user_version")?);
        let path = || self.path.clone();
        let tables = || {
            let count = "SELECT count(*) FROM sqlite_master";
            let read = self
                .connection
                .query_row(count, [], |row| row.get::<_, i64>(0));
            read.map_err(|error| self.failure(&error))
        };
        match (application, version) {
            (APPLICATION, 1..=VERSION) => Ok(version),
            (APPLICATION, found) if found > VERSION => Err(HistoryError::Newer {
                path: path(),
                found,
                known: VERSION,
            }),
            (0, 0) if tables()? == 0 => Ok(0),
            _ => Err(HistoryError::Foreign {
                path: path(),
                found: "it is another program's database",
            }),
        }
    }

    /// Sets what SQLite must do for every connection.
    fn check(&self) -> Result<(), HistoryError> {
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
                == Some(rusqlite::ErrorCode::DatabaseBusy);
            if !is_busy || start.elapsed() >= Duration::from_secs(PATIENCE_S) {
                break set;
            }
            thread::sleep(Duration::from_millis(5));
        };
        match set {
            // A read-only copy.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly) => {
                Ok(())
            }
            set => set.map_err(|error| self.failure(&error)),
        }
    }

    fn create_tables(&mut self) -> Result<(), HistoryError> {
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
    ) -> Result<T, HistoryError> {
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
    pub(crate) fn failure(&self, error: &rusqlite::Error) -> HistoryError {
        HistoryError::sqlite(&self.path, error)
    }

    /// Reports a value that is invalid.
    pub(crate) fn damaged(&self, reason: impl Into<String>) -> HistoryError {
        HistoryError::Damaged {
            path: self.path.clone(),
            reason: reason.into(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
