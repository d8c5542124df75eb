//! What people say of entries, and taking one out.

use jiff::Timestamp;
use rusqlite::params;

use crate::database::History;
use crate::error::HistoryError;

impl History {
    /// The entries that a commit (its beginning is enough) or a number names.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Unknown`] where there is none.
    pub fn named(&self, name: &str) -> Result<Vec<i64>, HistoryError> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut found = self.connection.prepare(
                "SELECT id FROM entry
                 WHERE substr(commit_id, 1, length(?1)) = ?1 OR CAST(id AS TEXT) = ?1
                 ORDER BY id",
            )?;
            found.query_map([name], |row| row.get(0))?.collect()
        };
        let found = read().map_err(|error| self.told(&error))?;
        match found.is_empty() || name.is_empty() {
            true => Err(HistoryError::Unknown {
                what: "entry or commit",
                name: name.to_owned(),
                hint: "`breakeven history list` names all",
            }),
            false => Ok(found),
        }
    }

    /// Says something of entries. What changed at an accepted one is no alert.
    ///
    /// # Errors
    ///
    /// [`HistoryError`].
    pub fn annotate(
        &mut self,
        entries: &[i64],
        text: &str,
        accepted: bool,
    ) -> Result<(), HistoryError> {
        // A note is a line.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let time = format!("{:.3}", Timestamp::now());
        self.write(|to| {
            for entry in entries {
                to.execute(
                    "INSERT INTO note (entry, time, text, accepted) VALUES (?1, ?2, ?3, ?4)",
                    params![entry, time, text, accepted],
                )?;
            }
            Ok(())
        })
    }

    /// Takes entries out, with their points and notes.
    ///
    /// # Errors
    ///
    /// [`HistoryError`].
    pub fn remove(&mut self, entries: &[i64]) -> Result<(), HistoryError> {
        self.write(|to| {
            for entry in entries {
                // Points and notes go with it.
                to.execute("DELETE FROM entry WHERE id = ?1", [entry])?;
            }
            Ok(())
        })
    }
}
