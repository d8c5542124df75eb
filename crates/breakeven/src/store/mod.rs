//! The cost model's file: one per user and cache directory, shared by processes.
//!
//! [`Costs::open_default`] reads `costs.json` of the cache directory,
//! [`Costs::save`] joins with what other processes wrote meanwhile and replaces
//! the file in one step, under a lock. `docs/cost-model.md` has the fields, when
//! what is in it is void, and how to look at it.
//!
//! Not being able to read or write it costs what would have been learned, never
//! the run: reading gives a [`CostsWarning`] and an empty model, writing an
//! error and the model as it is.

mod chain;
mod costs;
#[cfg(test)]
mod damage_tests;
mod document;
mod lock;
mod peaks;
mod place;
#[cfg(test)]
mod process_tests;
pub(crate) mod saver;
#[cfg(test)]
mod tests;
mod warning;

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::time::{Duration, SystemTime};

use breakeven_profile::file::{TEMPORARY_PREFIX, replace};
use serde::Serialize;

use crate::error::Error;
use crate::hardware::HardwareCapabilities;
use crate::plan::costs::Model;
pub(crate) use chain::{Transfer, without_transfers};
use costs::{CostFile, MachineId};
use document::Document;
use place::Place;

pub use costs::Costs;
pub use warning::{CostsWarning, CostsWarningKind};

/// A temporary file that is older was left by a saver that was killed.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);

/// Bytes of a file that are read. Full of everything that may be in it, it is about a tenth.
const MOST_BYTES: u64 = 1 << 28;

/// How long a save waits for others: many times what one takes.
const PATIENCE: Duration = Duration::from_secs(5);

impl Costs {
    /// The model that this user's processes share: `costs.json` in
    /// `$BREAKEVEN_CACHE_DIR`, else in `breakeven/` of the platform's cache
    /// directory. In memory only with `BREAKEVEN_CACHE=off` (or `0`, `false`,
    /// `no`) in the environment. Never fails; takes a few milliseconds.
    pub fn open_default() -> (Self, Option<CostsWarning>) {
        match place::of(|name| std::env::var_os(name)) {
            Place::File(path) => Self::load(&path),
            Place::Memory => (Self::new(), None),
            Place::Unknown => (Self::new(), Some(CostsWarning::no_place())),
        }
    }

    /// The model in the file at `path`, which need not exist yet. Never fails:
    /// of a file that cannot be read nothing is known, and the warning says why.
    pub fn load(path: &Path) -> (Self, Option<CostsWarning>) {
        let hardware = HardwareCapabilities::detect_without_gpu();
        let machine = MachineId {
            cpu: hardware.cpu_model.known().cloned(),
            cores: hardware.cpu_cores,
        };
        Self::load_on(path, machine, SystemTime::now())
    }

    fn load_on(path: &Path, machine: MachineId, now: SystemTime) -> (Self, Option<CostsWarning>) {
        let read = document::read(path, now);
        let read = read.map(|mut document| document.take(&machine));
        let path = path.to_owned();
        let costs = Self {
            model: RwLock::new(Model::of(writer())),
            file: Some(CostFile { path, machine }),
            ..Self::default()
        };
        let joined = read.map(|(operations, forgotten)| {
            costs.change(|model| model.join(operations, forgotten));
        });
        (costs, joined.err())
    }

    /// Writes what was learned to the file, together with what other processes
    /// wrote since it was read, and learns that too. Of each operation, size and
    /// device 16 observations stay: the newest, and an older one where it alone tells what
    /// a launch costs. Does nothing for a model in memory only, or where nothing is new.
    ///
    /// A file that is damaged is kept beside the new one, as
    /// `costs.json.damaged-1` and so on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) where the file cannot be
    /// written or is of a newer version, or when other processes hold the lock
    /// for 5 s. The old file is then as it was, and so is the model: the next call
    /// may succeed.
    pub fn save(&self) -> Result<(), Error> {
        let Some(CostFile { path, machine }) = self.file.as_ref().filter(|_| self.is_unsaved())
        else {
            return Ok(());
        };
        let _held = hold(path)?;
        let now = SystemTime::now();
        sweep(path, now);
        let mut document = match document::read(path, now) {
            Ok(document) => document,
            Err(warning) if warning.kind == CostsWarningKind::Damaged => {
                keep_aside(path)?;
                Document::default()
            }
            Err(warning) => return Err(warning.into()),
        };
        let (operations, forgotten) = document.take(machine);
        let snapshot = self.change(|model| model.join(operations, forgotten));
        document.put(machine, &snapshot, now);
        replace(path, |file| document.write(file))?;
        self.change(|model| model.written(&snapshot));
        Ok(())
    }
}

/// Removes what savers that were killed left beside the file.
fn sweep(path: &Path, now: SystemTime) {
    let entries = path.parent().map(fs::read_dir);
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with(TEMPORARY_PREFIX);
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.map(|at| now.duration_since(at).unwrap_or_default());
        if is_ours && age.is_ok_and(|age| age > FORGOTTEN_AFTER) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Renames the file to a name that is free.
pub(crate) fn keep_aside(path: &Path) -> Result<(), Error> {
    let mut names = (1_u32..).map(|number| beside(path, &format!(".damaged-{number}")));
    let free = names.find(|name| !name.exists());
    let free = free.expect("there are more numbers than files");
    fs::rename(path, &free)
        .map_err(|reason| Error::file(path, "is damaged and cannot be put aside", &reason))
}

/// A file beside the cost model's, where that has a place.
pub(crate) fn cache_file(name: &str) -> Option<PathBuf> {
    match place::of(|name| std::env::var_os(name)) {
        Place::File(path) => Some(path.with_file_name(name)),
        Place::Memory | Place::Unknown => None,
    }
}

/// Keeps other processes from writing a file, for which there is a folder then, until what it
/// gives is dropped.
pub(crate) fn hold(path: &Path) -> Result<File, Error> {
    make_folder(path)?;
    lock::hold(&beside(path, ".lock"), PATIENCE)
}

fn make_folder(path: &Path) -> Result<(), Error> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|reason| Error::file(folder, "cannot be made", &reason))
}

/// What is in a file; none where there is no file.
pub(crate) fn bytes_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(reason) => return Err(reason),
        // A device or a pipe is neither to be read to its end nor to be put aside.
        Ok(found) if !found.is_file() => {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Writes a file in one step.
pub(crate) fn write_json(path: &Path, document: &impl Serialize) -> Result<(), Error> {
    make_folder(path)?;
    replace(path, |file| {
        let written = serde_json::to_writer_pretty(file, document);
        written.map_err(|reason| Error::file(path, "cannot be written", &reason.into()))
    })
}

/// The path with something behind its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A number that no other process is likely to have: what the standard library
/// seeds its maps with comes from the operating system.
fn writer() -> u32 {
    (RandomState::new().hash_one(std::process::id()) >> 32) as u32
}
