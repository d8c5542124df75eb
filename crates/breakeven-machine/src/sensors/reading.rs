//! The figures of one reading.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::{Fact, GpuLoad};

/// What all sensors said at one moment.
#[derive(Debug, Clone, Serialize)]
pub struct Reading {
    /// When.
    #[serde(skip)]
    pub at: Instant,
    /// The processors and the memory.
    pub cpu: CpuReading,
    /// The GPUs whose driver reports readings; NVIDIA's first.
    pub gpus: Vec<GpuReading>,
    /// For how long NVML's library has not answered, s; none while it does.
    pub nvml_silent_s: Option<f64>,
}

/// The processors of the machine and its memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuReading {
    /// Fraction of the cores' time in use since the previous reading, 0 to 1. Stolen
    /// time counts as used: it could not be had.
    pub used: Fact<f64>,
    /// The logical cores, in the order of their numbers.
    pub cores: Vec<CoreReading>,
    /// Threads that want a core, per logical core ([`crate::SystemLoad`]).
    pub run_queue_per_core: Fact<f64>,
    /// Fraction of the last ten seconds in which some thread waited for a core.
    pub pressure: Fact<f64>,
    /// Memory that programs hold (installed less available), bytes.
    pub memory_used_bytes: Fact<u64>,
    /// Memory of the machine, bytes.
    pub memory_total_bytes: Fact<u64>,
    /// The hottest sensor of a processor, °C (`hwmon`: coretemp, k10temp, zenpower,
    /// cpu_thermal; else a thermal zone of a CPU).
    pub temperature_celsius: Fact<f64>,
    /// Power of all packages and their memory since the previous reading, W (RAPL).
    pub power_watts: Fact<f64>,
    /// Why clocks were lowered since the previous reading; empty if the counters of
    /// `thermal_throttle` did not change.
    pub limits: Fact<Vec<ClockLimit>>,
}

impl CpuReading {
    /// The mean clock of the cores that report theirs, Hz.
    pub fn clock_hz(&self) -> Fact<f64> {
        let clocks = || self.cores.iter().filter_map(|core| core.clock_hz.get());
        let count = clocks().count();
        Some(clocks().sum::<f64>() / count as f64)
            .filter(|_| count > 0)
            .into()
    }
}

/// One logical core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreReading {
    /// Its number, as the system counts.
    pub number: u32,
    /// Fraction of its time in use since the previous reading, 0 to 1.
    pub used: Fact<f64>,
    /// Its clock, Hz (`cpufreq`, else `/proc/cpuinfo`).
    pub clock_hz: Fact<f64>,
}

/// One GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GpuReading {
    /// Name, address, use, memory and temperature.
    #[serde(flatten)]
    pub load: GpuLoad,
    /// The source of the reading.
    pub source: Source,
    /// Whether the figures are of now.
    pub state: GpuState,
    /// Fraction of the driver's last sampling period in which memory was read or
    /// written, 0 to 1.
    pub memory_use: Fact<f64>,
    /// Power now, W.
    pub power_watts: Fact<f64>,
    /// The power at which the driver lowers clocks, W.
    pub power_limit_watts: Fact<f64>,
    /// Energy since the driver was loaded, J; for differences only.
    pub energy_joules: Fact<f64>,
    /// Clock of the multiprocessors, Hz.
    pub clock_hz: Fact<f64>,
    /// Their highest clock, Hz.
    pub clock_max_hz: Fact<f64>,
    /// Clock of the memory, Hz.
    pub memory_clock_hz: Fact<f64>,
    /// Why clocks are below the highest; empty: nothing limits them.
    pub limits: Fact<Vec<ClockLimit>>,
    /// Processes that use it ([`super::Sensors::add_processes`] adds what the driver does not
    /// report).
    pub processes: Fact<Vec<GpuProcess>>,
}

impl GpuReading {
    /// A GPU of which nothing is known yet.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            ..Self::default()
        }
    }
}

/// The source of a GPU's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// NVIDIA's management library.
    #[default]
    Nvml,
    /// The kernel's driver of this name, in `sysfs`.
    Amdgpu,
    /// As above.
    I915,
    /// As above.
    Xe,
}

impl Source {
    /// The name of the library or driver.
    pub fn name(self) -> &'static str {
        match self {
            Source::Nvml => "nvml",
            Source::Amdgpu => "amdgpu",
            Source::I915 => "i915",
            Source::Xe => "xe",
        }
    }
}

/// Whether a GPU's figures can be relied on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuState {
    /// They are of now.
    #[default]
    Current,
    /// Its driver has not answered since then; the figures are the last known ones.
    Silent {
        /// Since it was asked first without an answer, s.
        seconds: f64,
    },
    /// It was there and its driver cannot reach it any more.
    Lost,
}

/// A process on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Its number, as this process's namespace counts for `fdinfo`, as the host's for NVML.
    pub pid: u32,
    /// The program's name (`/proc/<pid>/comm`).
    pub name: Fact<String>,
    /// The GPU's memory that it holds, bytes.
    pub memory_bytes: Fact<u64>,
}

/// A reason for which clocks are lower than they could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockLimit {
    /// Nothing runs.
    Idle,
    /// A lower clock was set.
    Setting,
    /// The limit of power or of current.
    Power,
    /// The temperature.
    Thermal,
    /// An external power brake, a processor-hot signal, or a reliability voltage.
    Hardware,
    /// Another GPU of its group, or the display.
    Group,
    /// A reason that has no name here.
    Other,
}

impl ClockLimit {
    /// Its name as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            ClockLimit::Idle => "idle",
            ClockLimit::Setting => "setting",
            ClockLimit::Power => "power",
            ClockLimit::Thermal => "thermal",
            ClockLimit::Hardware => "hardware",
            ClockLimit::Group => "group",
            ClockLimit::Other => "other",
        }
    }

    /// Whether it slows work down: all but an idle GPU's rest.
    pub fn slows(self) -> bool {
        self != ClockLimit::Idle
    }
}

impl fmt::Display for ClockLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
