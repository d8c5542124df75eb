//! Reads entries, series and complete profiles.

use std::collections::{BTreeMap, HashMap};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Cpu, Environment, Failure, OperationKey, Profile};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;

use crate::database::{History, unpack};

/// Which entries to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branches {
    /// Entries of all branches.
    All,
    /// Entries of one branch; `None` selects entries without a branch, added from a detached
    /// checkout.
    Of(Option<String>),
}

/// A profile that was added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number.
    pub id: i64,
    /// When its commit was made, else when the profile was measured, RFC 3339 in UTC.
    pub time: String,
    /// The commit that was measured.
    pub commit: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The machine in words.
    pub machine: String,
    /// How many operations it has.
    pub operations: u64,
    /// Notes that people added.
    pub notes: Vec<String>,
    /// True if somebody accepted the changes at this entry.
    pub accepted: bool,
}

/// An operation that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failed {
    /// The operation.
    #[serde(flatten)]
    pub key: OperationKey,
    /// The entry.
    pub entry: Entry,
    /// Why it failed.
    pub failure: Failure,
}

/// An operation's values on one machine, in the order of the commits. Serialised without values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The operation.
    #[serde(flatten)]
    pub key: OperationKey,
    /// The machine in words.
    pub machine: String,
    /// The values.
    #[serde(skip)]
    pub points: Vec<Point>,
}

/// A value of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Index of its entry in [`Loaded::entries`].
    #[serde(skip)]
    pub entry: usize,
    /// Median of the runs' medians, ns.
    pub value_ns: f64,
    /// Smallest of the runs' medians, ns.
    pub low_ns: f64,
    /// Largest of the runs' medians, ns.
    pub high_ns: f64,
    /// Number of measured runs.
    pub runs: u64,
}

/// Entries and their series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// In the order of time.
    pub entries: Vec<Entry>,
    /// In the order of names, devices, sizes and machines.
    pub series: Vec<Series>,
}

impl Loaded {
    /// The entry of a point.
    pub fn entry(&self, point: &Point) -> &Entry {
        &self.entries[point.entry]
    }
}

impl History {
    /// Entries in the order of time.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn entries(&self, of: &Branches) -> Result<Vec<Entry>, FileError> {
        let branch = match of {
            Branches::All => None,
            Branches::Of(branch) => Some(branch),
        };
        let read = || -> rusqlite::Result<Vec<Entry>> {
            let mut entries = self.connection.prepare(
                "SELECT entry.id, entry.time, commit_id, branch, description, operations,
                     (SELECT group_concat(text, char(10)) FROM note WHERE note.entry = entry.id),
                     (SELECT max(accepted) FROM note WHERE note.entry = entry.id)
                 FROM entry JOIN machine ON machine.id = entry.machine
                 WHERE ?1 OR branch IS ?2
                 ORDER BY entry.time, entry.id",
            )?;
            let rows = entries.query_map(params![branch.is_none(), branch], |row| {
                let notes: Option<String> = row.get(6)?;
                let accepted: Option<bool> = row.get(7)?;
                Ok(Entry {
                    id: row.get(0)?,
                    time: row.get(1)?,
                    commit: row.get(2)?,
                    branch: row.get(3)?,
                    machine: row.get(4)?,
                    operations: row.get::<_, i64>(5)?.unsigned_abs(),
                    notes: notes
                        .iter()
                        .flat_map(|notes| notes.lines().map(str::to_owned))
                        .collect(),
                    accepted: accepted.unwrap_or(false),
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failure(&error))
    }

    /// The branch with the most entries, or none if most entries have none. It is read unless the
    /// caller names another.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn main_branch(&self) -> Result<Branches, FileError> {
        let most =
            "SELECT branch FROM entry GROUP BY branch ORDER BY count(*) DESC, min(id) LIMIT 1";
        let read = self.connection.query_row(most, [], |row| row.get(0));
        let branch = read
            .optional()
            .map(|branch| branch.map_or(Branches::All, Branches::Of));
        branch.map_err(|error| self.failure(&error))
    }

    /// Entries and their series.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn load(&self, of: &Branches) -> Result<Loaded, FileError> {
        let entries = self.entries(of)?;
        let places: HashMap<i64, usize> = (entries.iter().enumerate())
            .map(|(place, entry)| (entry.id, place))
            .collect();
        let mut series = self.keys()?;
        let mut read = || -> rusqlite::Result<()> {
            let mut points = self
                .connection
                .prepare("SELECT series, entry, value_ns, low_ns, high_ns, runs FROM point")?;
            let mut rows = points.query([])?;
            while let Some(row) = rows.next()? {
                let (Some(entry), Some(series)) = (
                    places.get(&row.get(1)?),
                    series.get_mut(&row.get::<_, i64>(0)?),
                ) else {
                    continue;
                };
                series.points.push(Point {
                    entry: *entry,
                    value_ns: row.get(2)?,
                    low_ns: row.get(3)?,
                    high_ns: row.get(4)?,
                    runs: row.get::<_, i64>(5)?.unsigned_abs(),
                });
            }
            Ok(())
        };
        read().map_err(|error| self.failure(&error))?;
        let mut series: Vec<Series> = series.into_values().collect();
        series.retain(|series| !series.points.is_empty());
        series.sort_by(|one, other| (&one.key, &one.machine).cmp(&(&other.key, &other.machine)));
        for series in &mut series {
            series.points.sort_by_key(|point| point.entry);
            let times = series
                .points
                .iter()
                .flat_map(|point| [point.value_ns, point.low_ns]);
            if times.clone().any(|ns| !(ns.is_finite() && ns > 0.0)) {
                let key = &series.key;
                return Err(self.damaged(format!("a value of {key} is not a time")));
            }
        }
        Ok(Loaded { entries, series })
    }

    /// All series by their numbers, without points.
    fn keys(&self) -> Result<HashMap<i64, Series>, FileError> {
        let read = || -> rusqlite::Result<HashMap<i64, Series>> {
            let mut series = self.connection.prepare(
                "SELECT series.id, name, device, size, description
                 FROM series JOIN machine ON machine.id = series.machine",
            )?;
            let rows = series.query_map([], |row| {
                let size: Option<i64> = row.get(3)?;
                let series = Series {
                    key: OperationKey {
                        name: row.get(1)?,
                        device: row.get(2)?,
                        size: size.map(i64::cast_unsigned),
                    },
                    machine: row.get(4)?,
                    points: Vec::new(),
                };
                Ok((row.get(0)?, series))
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failure(&error))
    }

    /// Reads the profile of an entry, without call paths, timeline and load.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn profile(&self, entry: i64) -> Result<Profile, FileError> {
        let query = "SELECT profile FROM entry WHERE id = ?1";
        let read = self.connection.prepare_cached(query);
        let read =
            read.and_then(|mut read| read.query_row([entry], |row| row.get::<_, Vec<u8>>(0)));
        let packed = read.map_err(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => {
                let message = format!(
                    "there is no entry \"{entry}\" in the history; `breakeven history list` names all"
                );
                FileError::new(FileErrorKind::Value, message)
            }
            error => self.failure(&error),
        })?;
        unpack(&packed).map_err(|error| self.damaged(format!("entry {entry}: {error}")))
    }

    /// The operations that failed in the newest entry of each machine.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn failed(&self, entries: &[Entry]) -> Result<Vec<Failed>, FileError> {
        let by_machine = entries.iter().map(|entry| (&entry.machine, entry));
        let newest: BTreeMap<&String, &Entry> = by_machine.collect();
        let mut failed = Vec::new();
        for entry in newest.into_values() {
            for operation in self.profile(entry.id)?.operations {
                let (key, entry) = (operation.key(), entry.clone());
                failed.extend(operation.failure.map(|failure| Failed {
                    key,
                    entry,
                    failure,
                }));
            }
        }
        Ok(failed)
    }

    /// The latest profiles that were measured on such a machine, oldest first.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn latest(
        &self,
        of: &Branches,
        environment: &Environment,
        most: usize,
    ) -> Result<Vec<Profile>, FileError> {
        let machine = describe(environment);
        let mut entries = self.entries(of)?;
        entries.retain(|entry| entry.machine == machine);
        let latest = &entries[entries.len().saturating_sub(most)..];
        latest.iter().map(|entry| self.profile(entry.id)).collect()
    }
}

// Names the machine that a series belongs to.

/// The machine and the kind of build in words. A different description starts a different series.
/// Driver, clock and revision are left out, so that the series shows what they change.
pub(crate) fn describe(environment: &Environment) -> String {
    let cpu = environment.cpu.clone().unwrap_or_default();
    let Cpu {
        model,
        logical_cores,
        usable_cores,
        ..
    } = cpu;
    let cores = match (logical_cores, usable_cores) {
        (Some(all), Some(usable)) if usable < all as f64 => {
            Some(format!("{usable} of {all} cores"))
        }
        (Some(1), _) => Some("1 core".to_owned()),
        (Some(all), _) => Some(format!("{all} cores")),
        (None, usable) => usable.map(|usable| format!("{usable} cores")),
    };
    let system = [environment.os.clone(), environment.arch.clone()];
    let system = system.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let gpus = environment.gpus.iter().map(|gpu| match &gpu.name {
        Some(name) => format!("{} {name}", gpu.id),
        None => gpu.id.clone(),
    });
    let build = (environment.build_profile.as_deref()).filter(|build| *build != "release");
    let parts = [model, cores, Some(system).filter(|text| !text.is_empty())];
    let parts = parts.into_iter().flatten().chain(gpus);
    let parts: Vec<String> = parts
        .chain(build.map(|build| format!("{build} build")))
        .collect();
    match parts.is_empty() {
        true => "unknown machine".to_owned(),
        false => parts.join(", "),
    }
}
