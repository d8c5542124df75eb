//! Adds notes to entries, and removes entries.

use jiff::Timestamp;
use rusqlite::params;

use crate::database::History;
use crate::error::HistoryError;
use crate::load::Entry;

impl History {
    /// Adds a note to entries. A change at an accepted entry is no alert.
    ///
    /// # Errors
    ///
    /// [`HistoryError`].
    pub fn annotate(
        &mut self,
        entries: &[Entry],
        text: &str,
        accepted: bool,
    ) -> Result<(), HistoryError> {
        // A note is one line.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let time = format!("{:.3}", Timestamp::now());
        self.write(|to| {
            for entry in entries {
                to.execute(
                    "INSERT INTO note (entry, time, text, accepted) VALUES (?1, ?2, ?3, ?4)",
                    params![entry.id, time, text, accepted],
                )?;
            }
            Ok(())
        })
    }

    /// Removes entries, with their points and notes.
    ///
    /// # Errors
    ///
    /// [`HistoryError`].
    pub fn remove(&mut self, entries: &[Entry]) -> Result<(), HistoryError> {
        self.write(|to| {
            for entry in entries {
                // Deletes the entry's points and notes too.
                to.execute("DELETE FROM entry WHERE id = ?1", [entry.id])?;
            }
            Ok(())
        })
    }
}
