//! SQLite, read only: what tables there are, rows one by one, texts of numbers.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use breakeven_profile::file::{FileError, FileErrorKind};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};

use crate::trace::When;

/// What a database begins with.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// A database.
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
}

impl Database {
    /// Opens it without changing anything: no lock, no journal.
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let mut head = [0; MAGIC.len()];
        let opened = File::open(path).and_then(|mut file| file.read_exact(&mut head));
        opened.map_err(|reason| {
            let message = "cannot be opened as a file, which a database must be";
            FileError::io(message, &reason).at_path(path)
        })?;
        if head != MAGIC {
            let message = "not a database as it is; unpack it first";
            return Err(FileError::new(FileErrorKind::NotAProfile, message).at_path(path));
        }
        for (end, what) in [("-wal", "a write-ahead log"), ("-journal", "a journal")] {
            let mut beside = path.as_os_str().to_owned();
            beside.push(end);
            if fs::metadata(&beside).is_ok_and(|found| found.len() > 0) {
                let message = format!(
                    "there is {what} beside it ({end}), so another program is writing it or was \
                     stopped; close that program, or export the report again"
                );
                return Err(FileError::new(FileErrorKind::Io, message).at_path(path));
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(path), flags);
        let connection = connection.map_err(|error| explained(&error).at_path(path))?;
        // A file that is no database is only noticed by the first query.
        let first = "SELECT count(*) FROM sqlite_master";
        let first = connection.query_row(first, [], |_| Ok(()));
        first.map_err(|error| explained(&error).at_path(path))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    /// The table of that name, or its latest version, as in `NVTX_EVENTS_V2`.
    pub(super) fn table(&self, table: &str) -> Option<String> {
        let query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND (name = ?1 \
                     OR name GLOB ?1 || '_V[0-9]*') ORDER BY name <> ?1, length(name) DESC, name \
                     DESC";
        let name = |row: &rusqlite::Row<'_>| row.get(0);
        let found = self.connection.query_row(query, [table], name);
        found.optional().ok().flatten()
    }

    /// Takes the rows of a table one by one, with these columns: NULL for those that it lacks;
    /// no rows where there is no such table.
    pub(super) fn each(
        &self,
        table: &str,
        columns: &str,
        mut each: impl FnMut(Row<'_>),
    ) -> Result<(), FileError> {
        let Some(table) = self.table(table) else {
            return Ok(());
        };
        let query = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
        let columns = columns.split_whitespace().map(|column| {
            let found = self
                .connection
                .query_row(query, [&table, column], |_| Ok(()));
            match found {
                Ok(()) => format!("[{column}]"),
                Err(_) => "NULL".to_owned(),
            }
        });
        let columns: Vec<String> = columns.collect();
        let query = format!("SELECT {} FROM [{table}]", columns.join(", "));
        let failed = |error| explained(&error).at_path(&self.path);
        let mut statement = self.connection.prepare(&query).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(Row(row));
        }
        Ok(())
    }

    /// The texts that a table has for numbers.
    pub(super) fn texts(&self, table: &str, text: &str) -> Result<HashMap<i64, String>, FileError> {
        let mut texts = HashMap::new();
        self.each(table, &format!("id {text}"), |row| {
            if let (Some(id), Some(text)) = (row.number(0), row.text(1)) {
                texts.insert(id, text.to_owned());
            }
        })?;
        Ok(texts)
    }
}

/// A row of a query.
pub(super) struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    /// A whole number; `None` for NULL and for anything else.
    pub(super) fn number(&self, column: usize) -> Option<i64> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(number)) => Some(number),
            _ => None,
        }
    }

    /// A text of the row itself.
    pub(super) fn text(&self, column: usize) -> Option<&str> {
        self.0.get_ref(column).ok()?.as_str().ok()
    }

    /// A beginning, and an end in the next column.
    pub(super) fn when(&self, column: usize) -> Option<When> {
        When::between(self.number(column)?, self.number(column + 1)?)
    }
}

/// The path as SQLite's name of a file that nobody changes meanwhile.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for c in path.to_string_lossy().chars() {
        match c {
            '%' | '?' | '#' => uri.push_str(&format!("%{:02x}", u32::from(c))),
            c => uri.push(c),
        }
    }
    uri + "?mode=ro&immutable=1"
}

fn explained(error: &rusqlite::Error) -> FileError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FileError::new(
            FileErrorKind::Syntax,
            format!("the database is damaged ({error}); export the report again"),
        ),
        _ => {
            let reason = match error {
                rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
                error => error.to_string(),
            };
            let message = format!("the database cannot be read: {reason}; export the report again");
            FileError::new(FileErrorKind::Io, message)
        }
    }
}
