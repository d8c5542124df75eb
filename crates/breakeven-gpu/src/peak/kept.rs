//! Peaks that outlive the process that measured them: `peaks.json`.

use breakeven_profile::profile::Peak;
use serde::{Deserialize, Serialize};

use crate::cache::{CacheFile, Cached, MachineId};

/// Devices that are kept.
const MOST_DEVICES: usize = 64;

/// `peaks.json`: those of the machine that measured last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct KeptPeaks {
    #[serde(flatten)]
    machine: MachineId,
    peaks: Vec<Peak>,
}

impl Cached for KeptPeaks {
    const NAME: &str = "peaks.json";
    const FORMAT: &str = "breakeven-peaks";
}

impl KeptPeaks {
    /// Those of that machine.
    pub fn of(self, machine: &MachineId) -> Vec<Peak> {
        match self.machine == *machine {
            true => self.peaks,
            false => Vec::new(),
        }
    }

    /// Adds peaks of that machine; those of another one go.
    pub fn add(&mut self, machine: &MachineId, peaks: &[Peak]) {
        let known = std::mem::take(self).of(machine);
        *self = Self {
            machine: machine.clone(),
            peaks: joined(&known, peaks),
        };
    }
}

/// Peaks with newer ones, which take the place of older ones of the same devices.
pub fn joined(known: &[Peak], newer: &[Peak]) -> Vec<Peak> {
    let is_old = |old: &&Peak| !newer.iter().any(|new| new.device == old.device);
    let all = newer.iter().chain(known.iter().filter(is_old));
    all.take(MOST_DEVICES).cloned().collect()
}

/// What the devices of this machine can do at best, as far as this user's processes kept it.
pub fn kept() -> Vec<Peak> {
    let file = CacheFile::<KeptPeaks>::open_default().ok().flatten();
    let read = file.and_then(|file| file.read().ok());
    read.map_or_else(Vec::new, |kept| kept.of(&MachineId::detect()))
}
