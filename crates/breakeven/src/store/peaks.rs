//! Devices' peaks, measured once and kept beside the cost model: `peaks.json`.

use std::sync::Arc;

use breakeven_profile::profile::Peak;
use serde::{Deserialize, Serialize};

use super::costs::{CostFile, Costs, MachineId};
use super::{bytes_of, write_json};
use crate::error::Error;
use crate::locked;

/// The file's name.
const NAME: &str = "peaks.json";

/// What the file says that it is.
const FORMAT: &str = "breakeven-peaks";

/// Devices that are kept.
const MOST_DEVICES: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    format: String,
    version: u32,
    /// The machine, as the cost model knows it.
    cpu: Option<String>,
    cores: usize,
    peaks: Vec<Peak>,
}

impl Costs {
    /// What the devices of this machine can do at best, as far as it was kept; the file is
    /// read once. None where it is another machine's or damaged.
    pub fn peaks(&self) -> Arc<[Peak]> {
        let mut peaks = locked(&self.peaks);
        let read = || self.file.as_ref().map_or(Vec::new(), read);
        Arc::clone(peaks.get_or_insert_with(|| read().into()))
    }

    /// Keeps peaks, in place of older ones of the same devices: in memory, and for a model
    /// that a file keeps in `peaks.json` beside it, for the processes to come.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) where that cannot be written; they are
    /// kept in memory all the same.
    pub fn keep_peaks(&self, peaks: &[Peak]) -> Result<(), Error> {
        let file = self.file.as_ref();
        let known = file.map_or_else(|| self.peaks().to_vec(), read);
        let is_old = |old: &Peak| !peaks.iter().any(|new| new.device == old.device);
        let mut all = peaks.to_vec();
        all.extend(known.into_iter().filter(is_old));
        all.truncate(MOST_DEVICES);
        *locked(&self.peaks) = Some(all.as_slice().into());
        file.map_or(Ok(()), |file| write(file, all))
    }
}

/// What the file says of this machine.
fn read(CostFile { path, machine }: &CostFile) -> Vec<Peak> {
    let bytes = bytes_of(&path.with_file_name(NAME));
    let bytes = bytes.ok().flatten().unwrap_or_default();
    let read = serde_json::from_slice::<Document>(&bytes).ok();
    let is_ours = |read: &Document| {
        let MachineId { cpu, cores } = machine;
        read.format == FORMAT && read.version == 1 && (&read.cpu, &read.cores) == (cpu, cores)
    };
    read.filter(is_ours).map_or(Vec::new(), |read| read.peaks)
}

fn write(CostFile { path, machine }: &CostFile, peaks: Vec<Peak>) -> Result<(), Error> {
    let document = Document {
        format: FORMAT.to_owned(),
        version: 1,
        cpu: machine.cpu.clone(),
        cores: machine.cores,
        peaks,
    };
    write_json(&path.with_file_name(NAME), &document)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn peak(device: &str, flops: f64) -> Peak {
        Peak {
            device: device.to_owned(),
            flops_per_s: Some(flops),
            ..Peak::default()
        }
    }

    #[test]
    fn newer_peaks_of_a_device_take_the_place_of_older_ones() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("cache/costs.json");
        let open = || Costs::load(&path).0;
        let costs = open();
        assert!(costs.peaks().is_empty());
        let both = [peak("cpu", 1.0), peak("vulkan:0", 2.0)];
        costs.keep_peaks(&both).expect("kept");
        assert_eq!(*costs.peaks(), both);
        open().keep_peaks(&[peak("cpu", 3.0)]).expect("kept");
        assert_eq!(*open().peaks(), [peak("cpu", 3.0), peak("vulkan:0", 2.0)]);
        // Another machine's, and damage, are nothing.
        let file = path.with_file_name(NAME);
        let text = fs::read_to_string(&file).expect("a file");
        fs::write(&file, text.replace("\"cores\": ", "\"cores\": 9")).expect("written");
        assert!(open().peaks().is_empty());
        fs::write(&file, "{").expect("written");
        assert!(open().peaks().is_empty());
        // A pipe would be waited for.
        fs::remove_file(&file).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.expect("mkfifo is there").success());
        assert!(open().peaks().is_empty());
        // In memory alone.
        let costs = Costs::new();
        costs.keep_peaks(&[peak("cpu", 1.0)]).expect("kept");
        costs.keep_peaks(&[peak("gpu", 2.0)]).expect("kept");
        assert_eq!(*costs.peaks(), [peak("gpu", 2.0), peak("cpu", 1.0)]);
    }
}
