//! Adds and removes entries, and adds notes to them.

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::median;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};
use xxhash_rust::xxh3::xxh3_128;

use crate::database::{History, pack};
use crate::load::{Entry, describe};

/// Where in a program's history a profile belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct At {
    /// The commit that was measured; otherwise the profile's revision, if it has one.
    pub commit: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// When the commit was made, RFC 3339; series are sorted by it. Without it, the time when the
    /// profile was measured is used, else the current time.
    pub time: Option<String>,
}

/// The result of adding a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The profile was added as this entry.
    New(i64),
    /// The profile is already in the history, as this entry.
    Known(i64),
}

impl History {
    /// Adds the complete profile, or nothing. A profile that the history already has for the same
    /// commit is not added again. Call paths, the timeline and the recorded load are dropped.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn add(&mut self, profile: &Profile, at: &At) -> Result<Added, FileError> {
        let points: Vec<Point<'_>> = profile.operations.iter().filter_map(Point::of).collect();
        let failed = |operation: &Operation| operation.failure.is_some();
        if points.is_empty() && !profile.operations.iter().any(failed) {
            let message = "the profile has no times; measure before adding it";
            return Err(FileError::new(FileErrorKind::Empty, message));
        }
        let kept = Profile {
            stacks: Vec::new(),
            timeline: None,
            load: Vec::new(),
            ..profile.clone()
        };
        let packed = pack(&kept).map_err(|error| self.damaged(error.to_string()))?;
        let commit = at.commit.clone().or(profile.environment.revision.clone());
        let mut all = commit.clone().unwrap_or_default().into_bytes();
        all.extend_from_slice(&packed);
        let digest = xxh3_128(&all).to_be_bytes();
        let machine = describe(&profile.environment);
        let time = time(at.time.as_deref().or(profile.created.as_deref()))?;
        let operations = (profile.operations.len() as u64).cast_signed();
        self.write(|to| {
            let known = "SELECT id FROM entry WHERE digest = ?1";
            let known = to.query_row(known, [digest], |row| row.get(0)).optional()?;
            if let Some(known) = known {
                return Ok(Added::Known(known));
            }
            to.execute(
                "INSERT OR IGNORE INTO machine (description) VALUES (?1)",
                [&machine],
            )?;
            let number = "SELECT id FROM machine WHERE description = ?1";
            let machine: i64 = to.query_row(number, [&machine], |row| row.get(0))?;
            let added = format!("{:.3}", Timestamp::now());
            to.execute(
                "INSERT INTO entry
                     (time, added, commit_id, branch, machine, operations, digest, profile)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    time, added, commit, at.branch, machine, operations, digest, packed
                ],
            )?;
            let entry = to.last_insert_rowid();
            for point in &points {
                point.insert(entry, machine, to)?;
            }
            Ok(Added::New(entry))
        })
    }
}

/// The time as stored: RFC 3339 in UTC, so that text order is time order.
fn time(text: Option<&str>) -> Result<String, FileError> {
    let time = match text {
        Some(text) => text.parse().map_err(|_| {
            let message =
                format!("{text:?} is not a point in time; give one as 2026-03-01T12:00:00Z");
            FileError::new(FileErrorKind::Value, message)
        })?,
        None => Timestamp::now(),
    };
    Ok(format!("{time:.3}"))
}

/// Median of the runs' medians, and their minimum and maximum, ns.
struct Point<'p> {
    operation: &'p Operation,
    median: f64,
    least: f64,
    greatest: f64,
    runs: u64,
}

impl<'p> Point<'p> {
    /// None without samples, and if a value is zero: no ratio to it exists.
    fn of(operation: &'p Operation) -> Option<Self> {
        let runs = operation.runs.iter();
        let medians: Vec<f64> = runs
            .filter_map(|run| median(&run.samples_ns).ok())
            .collect();
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let point = Self {
            operation,
            median: median(&medians).ok()?,
            least,
            greatest: medians.iter().copied().fold(0.0, f64::max),
            runs: medians.len() as u64,
        };
        (least > 0.0).then_some(point)
    }
}

impl Point<'_> {
    fn insert(&self, entry: i64, machine: i64, to: &Transaction<'_>) -> rusqlite::Result<()> {
        let operation = self.operation;
        // SQLite has no unsigned integers.
        let size = operation.size.map(u64::cast_signed);
        let key = params![operation.name, operation.device, size, machine];
        to.prepare_cached(
            "INSERT OR IGNORE INTO series (name, device, size, machine) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(key)?;
        let series: i64 = to
            .prepare_cached(
                "SELECT id FROM series WHERE name = ?1 AND device = ?2
                 AND ifnull(size, -1) = ifnull(?3, -1) AND machine = ?4",
            )?
            .query_row(key, |row| row.get(0))?;
        to.prepare_cached(
            "INSERT INTO point (series, entry, value_ns, low_ns, high_ns, runs)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            series,
            entry,
            self.median,
            self.least,
            self.greatest,
            self.runs.cast_signed()
        ])?;
        Ok(())
    }
}

impl History {
    /// Adds a note to entries. A change at an accepted entry is no alert.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn annotate(
        &mut self,
        entries: &[Entry],
        text: &str,
        accepted: bool,
    ) -> Result<(), FileError> {
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
    /// [`FileError`].
    pub fn remove(&mut self, entries: &[Entry]) -> Result<(), FileError> {
        self.write(|to| {
            for entry in entries {
                // Deletes the entry's points and notes too.
                to.execute("DELETE FROM entry WHERE id = ?1", [entry.id])?;
            }
            Ok(())
        })
    }
}
