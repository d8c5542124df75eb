//! Devices' peaks, measured once and kept alongside the cost model: `peaks.json`.

use std::sync::Arc;

use breakeven_profile::profile::Peak;

use super::costs::Costs;
use crate::error::Error;
use crate::locked;
use crate::peak::{KeptPeaks, joined};

impl Costs {
    /// Returns the kept peaks of this machine's devices; the file is read once. Empty if the file
    /// is another machine's or damaged.
    pub fn peaks(&self) -> Arc<[Peak]> {
        let read = || {
            let (file, machine) = self.file.as_ref()?;
            let kept = file.beside::<KeptPeaks>().read().ok()?;
            Some(kept.of(machine).into())
        };
        let mut peaks = locked(&self.peaks);
        Arc::clone(peaks.get_or_insert_with(|| read().unwrap_or_default()))
    }

    /// Keeps peaks, replacing older ones of the same devices: in memory, and if the model has a
    /// file, in `peaks.json` alongside it, for later processes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) if that cannot be written; they are kept in
    /// memory anyway.
    pub fn keep_peaks(&self, peaks: &[Peak]) -> Result<(), Error> {
        let known = self.peaks();
        *locked(&self.peaks) = Some(joined(&known, peaks).into());
        let Some((file, machine)) = &self.file else {
            return Ok(());
        };
        let file = file.beside::<KeptPeaks>();
        file.update(|kept| kept.add(machine, peaks))
    }
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
        // Another machine's file, and damage, count as empty.
        let file = path.with_file_name("peaks.json");
        let text = fs::read_to_string(&file).expect("a file");
        fs::write(&file, text.replace("\"cores\":", "\"cores\":9")).expect("written");
        assert!(open().peaks().is_empty());
        fs::write(&file, "{").expect("written");
        assert!(open().peaks().is_empty());
        // Reading a pipe would wait.
        fs::remove_file(&file).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.expect("mkfifo is there").success());
        assert!(open().peaks().is_empty());
        // In memory only.
        let costs = Costs::new();
        costs.keep_peaks(&[peak("cpu", 1.0)]).expect("kept");
        costs.keep_peaks(&[peak("gpu", 2.0)]).expect("kept");
        assert_eq!(*costs.peaks(), [peak("gpu", 2.0), peak("cpu", 1.0)]);
    }
}
