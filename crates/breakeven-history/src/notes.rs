//! What people say of entries, and taking one out.

use jiff::Timestamp;
use rusqlite::params;

use crate::database::History;
use crate::error::HistoryError;
use crate::load::{Branches, Entry};

/// What an entry is called by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// Its number.
    Entry(i64),
    /// The beginning of its commit.
    Commit(String),
}

impl History {
    /// The entry of that number, or those of a commit, of which the beginning is enough.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Unknown`] if there is none.
    pub fn named(&self, name: &Name) -> Result<Vec<Entry>, HistoryError> {
        let mut entries = self.entries(&Branches::All)?;
        let (what, text) = match name {
            Name::Entry(number) => ("entry", number.to_string()),
            Name::Commit(commit) => ("commit", commit.clone()),
        };
        entries.retain(|entry| match name {
            Name::Entry(number) => entry.id == *number,
            Name::Commit(begin) => {
                let commit = entry.commit.as_ref();
                !begin.is_empty() && commit.is_some_and(|commit| commit.starts_with(begin))
            }
        });
        match entries.is_empty() {
            true => Err(HistoryError::Unknown {
                what,
                name: text,
                hint: "`breakeven history list` names all",
            }),
            false => Ok(entries),
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
