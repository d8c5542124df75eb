//! Reads the machine's sensors: use, memory, temperature, power, energy, clocks and why they are
//! limited, of the CPU and of every GPU whose driver reports them.
//!
//! [`Sensors::read`] takes one [`Reading`] after the other. On Linux the CPU is read from `/proc`,
//! `hwmon`, `cpufreq` and the power-capping interface (RAPL); NVIDIA's GPUs through NVML, AMD's and
//! Intel's from `sysfs`. Elsewhere there is only NVML. A value that nothing reports is
//! [`Fact::Unknown`], never zero. A driver that hangs costs its GPU's figures, not the reader
//! ([`GpuState::Silent`]).
//!
//! [`EnergyMeter`] counts joules per device, and states what it needs if it cannot.

mod cpu;
mod drm;
mod energy;
mod rapl;
mod reading;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use energy::{
    EnergyCounter, EnergyDomain, EnergyMeter, EnergyMethod, EnergyUnknown, IdlePower, joules_of,
    least_time,
};
pub use reading::{
    ClockLimit, CoreReading, CpuReading, GpuProcess, GpuReading, GpuState, Reading, Source,
};

use crate::{Fact, linux, nvml};
use cpu::CpuSensors;
use drm::Card;
use rapl::Rapl;

/// How long a reading waits for NVML; an answer that comes later is in the next reading.
pub const DRIVER_PATIENCE: Duration = Duration::from_millis(500);

/// The sensors of this machine. Figures that are rates (use, power from an energy
/// counter) are those since the previous reading, and unknown in the first.
#[derive(Debug)]
pub struct Sensors {
    pub(crate) root: PathBuf,
    cpu: CpuSensors,
    rapl: Rapl,
    cards: Vec<Card>,
    nvml: Option<nvml::Watched>,
    patience: Duration,
    last: Option<Instant>,
}

impl Sensors {
    /// Finds the sensors. Reads directories and looks for NVML's library; starts one thread if it
    /// exists.
    pub fn open() -> Self {
        Self::at(Path::new("/"), nvml::Watched::start(), DRIVER_PATIENCE)
    }

    /// The sensors below `root` alone, without asking any driver library.
    pub fn of_files(root: &Path) -> Self {
        Self::at(root, None, DRIVER_PATIENCE)
    }

    pub(crate) fn at(root: &Path, nvml: Option<nvml::Watched>, patience: Duration) -> Self {
        Self {
            root: root.to_owned(),
            cpu: CpuSensors::default(),
            rapl: Rapl::open(root),
            cards: drm::cards(root),
            nvml,
            patience,
            last: None,
        }
    }

    /// Reads all sensors except the processes on the GPUs. Takes at most some milliseconds, and
    /// [`DRIVER_PATIENCE`] if NVML does not answer.
    pub fn read(&mut self) -> Reading {
        let at = Instant::now();
        let interval = self.last.replace(at).map(|last| at - last);
        let (gpus, nvml_silent_s) = self.read_gpus(at);
        let mut cpu = self.cpu.read(&self.root);
        cpu.power_watts = self.rapl.power_watts(at, interval);
        Reading {
            at,
            cpu,
            gpus,
            nvml_silent_s,
        }
    }

    /// The GPUs alone, and for how long NVML has not answered, s.
    fn read_gpus(&mut self, at: Instant) -> (Vec<GpuReading>, Option<f64>) {
        let answer = self.nvml.as_mut().map(|nvml| nvml.ask(self.patience));
        let (mut gpus, silent_s) = answer.flatten().unwrap_or_else(|| {
            self.nvml = None;
            (Vec::new(), None)
        });
        gpus.extend(self.cards.iter_mut().map(|card| card.read(at)));
        (gpus, silent_s)
    }

    /// The processes that use the GPUs of this reading, per GPU in its order: NVML's are
    /// in the reading already, AMD's and Intel's are found in `/proc/<pid>/fdinfo`, of
    /// the processes that this one may look at. Tens of milliseconds on a machine with
    /// thousands of processes.
    pub fn add_processes(&self, reading: &mut Reading) {
        // NVIDIA's driver has no such lines.
        let is_in_files =
            |gpu: &&mut GpuReading| gpu.source != Source::Nvml && gpu.state == GpuState::Current;
        if reading.gpus.iter_mut().any(|gpu| is_in_files(&gpu)) {
            let users = drm::users(&self.root);
            for gpu in reading.gpus.iter_mut().filter(is_in_files) {
                let pci = gpu.load.pci.known();
                let on_it = pci.and_then(|pci| users.get(pci)).cloned();
                gpu.processes = Fact::Known(on_it.unwrap_or_default());
            }
        }
        for gpu in &mut reading.gpus {
            if let Fact::Known(processes) = &mut gpu.processes {
                for process in processes {
                    let name = linux::text(self.root.join(format!("proc/{}/comm", process.pid)));
                    process.name = name.filter(|name| !name.is_empty()).into();
                }
            }
        }
    }
}
