//! The file as a document: reading, checking, writing. One for all machines
//! that share the directory; each reads its own part and keeps the others'.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use breakeven_profile::file::in_words;
use serde::{Deserialize, Serialize};

use super::bytes_of;
use super::costs::MachineId;
use super::warning::{CostsWarning, CostsWarningKind};
use crate::error::{Error, ErrorKind};
use crate::plan::costs::{Forgotten, OperationRecord, Snapshot, micros};

/// What the field `format` says.
const FORMAT: &str = "breakeven-costs";

/// The version that is written, and the newest that is read.
const VERSION: u64 = 1;

/// Machines that are kept; beyond, the one that was not used for longest goes.
const MOST_MACHINES: usize = 16;

/// Stamps that are later than now by more are wrong: they would never be old.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Costs of all machines that use the directory.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Document {
    format: String,
    version: u64,
    machines: Vec<Machine>,
}

/// What is known on one machine.
#[derive(Debug, Serialize, Deserialize)]
struct Machine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    cores: usize,
    /// When it was last written, µs since 1970.
    #[serde(default)]
    saved_at_us: u64,
    #[serde(default)]
    forgotten: Vec<Forgotten>,
    #[serde(default)]
    operations: Vec<OperationRecord>,
}

/// The beginning, which every version has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            machines: Vec::new(),
        }
    }
}

/// The document at `path`; an empty one where there is no file.
pub(super) fn read(path: &Path, now: SystemTime) -> Result<Document, CostsWarning> {
    let refused = |kind, message| CostsWarning {
        kind,
        path: Some(path.to_owned()),
        message,
    };
    let unreadable = |reason: &io::Error| {
        let what = format!("cannot be read: {reason}; nothing that was measured before is known");
        refused(CostsWarningKind::Unreadable, what)
    };
    let Some(text) = bytes_of(path).map_err(|reason| unreadable(&reason))? else {
        return Ok(Document::default());
    };
    let damaged = |what: String| {
        let message = format!("{what}; it is put aside when costs are saved, and measured anew");
        refused(CostsWarningKind::Damaged, message)
    };
    let not_json = |reason: serde_json::Error| {
        damaged(format!("is damaged: {}", in_words(&reason.to_string())))
    };
    let head: Head = serde_json::from_slice(&text).map_err(not_json)?;
    if head.format != FORMAT {
        let format: String = head.format.chars().take(40).collect();
        return Err(damaged(format!("is of format {format:?}, not {FORMAT}")));
    }
    if head.version > VERSION {
        let message = format!(
            "is of version {}, and this program knows {VERSION}: it is left alone; update the program, or set BREAKEVEN_CACHE_DIR to another directory",
            head.version
        );
        return Err(refused(CostsWarningKind::NewerVersion, message));
    }
    let mut document: Document = serde_json::from_slice(&text).map_err(not_json)?;
    document.drop_future(micros(now + CLOCK_DIFFERENCE));
    Ok(document)
}

impl Document {
    /// Takes that machine's part out: operations, and those that were forgotten.
    pub(super) fn take(&mut self, id: &MachineId) -> (Vec<OperationRecord>, Vec<Forgotten>) {
        let is_own = |machine: &Machine| machine.cpu == id.cpu && machine.cores == id.cores;
        let Some(index) = self.machines.iter().position(is_own) else {
            return Default::default();
        };
        let own = self.machines.remove(index);
        (own.operations, own.forgotten)
    }

    /// Puts that machine's part in, in front.
    pub(super) fn put(&mut self, id: &MachineId, snapshot: &Snapshot, now: SystemTime) {
        let own = Machine {
            cpu: id.cpu.clone(),
            cores: id.cores,
            saved_at_us: micros(now),
            forgotten: snapshot.forgotten.clone(),
            operations: snapshot.operations.clone(),
        };
        self.machines.insert(0, own);
        let newest = |machine: &Machine| std::cmp::Reverse(machine.saved_at_us);
        self.machines.sort_by_key(newest);
        self.machines.truncate(MOST_MACHINES);
    }

    pub(super) fn write(&self, mut file: &mut dyn Write) -> Result<(), Error> {
        let written = serde_json::to_writer(&mut file, self).map_err(io::Error::from);
        let ended = written.and_then(|()| file.write_all(b"\n"));
        let wrong = |reason| format!("costs cannot be written: {reason}");
        ended.map_err(|reason| Error::new(ErrorKind::File, wrong(reason)))
    }

    /// Drops what is stamped later than that.
    fn drop_future(&mut self, latest: u64) {
        for machine in &mut self.machines {
            machine.forgotten.retain(|noted| noted.at_us <= latest);
            for operation in &mut machine.operations {
                let windows = operation.gpus.iter_mut().map(|gpu| {
                    gpu.fits = gpu.fits.filter(|fits| fits.at_us <= latest);
                    &mut gpu.launches
                });
                for window in windows.chain([&mut operation.cpu]) {
                    window.observations.retain(|seen| seen.at_us <= latest);
                }
            }
        }
    }
}
