//! What people say of entries, and taking one out.

use jiff::Timestamp;
use rusqlite::params;

use crate::database::History;
use crate::error::HistoryError;
use crate::load::Entry;

impl History {
    /// Says something of entries. What changed at an accepted one is no alert.
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
        // A note is a line.
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

    /// Takes entries out, with their points and notes.
    ///
    /// # Errors
    ///
    /// [`HistoryError`].
    pub fn remove(&mut self, entries: &[Entry]) -> Result<(), HistoryError> {
        self.write(|to| {
            for entry in entries {
                // Points and notes go with it.
                to.execute("DELETE FROM entry WHERE id = ?1", [entry.id])?;
            }
            Ok(())
        })
    }
}
