//! What is known of a machine before it is judged: plain data.

use breakeven_profile::profile::Clock;
use serde::Serialize;

use super::activity::Activity;
use crate::hardware::Fact;
use crate::hardware::sensors::{CpuReading, GpuReading};

/// All that the findings are made from.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Facts {
    /// What was set when it was looked at.
    pub settings: Settings,
    /// While nothing was asked of the machine.
    pub quiet: Activity,
    /// While it was worked with.
    pub loaded: Activity,
    /// The processors after the work; limits of their clocks are those since its begin.
    pub cpu: CpuReading,
    /// The GPUs after the work.
    pub gpus: Vec<GpuReading>,
    /// The clock that takes times, where it was measured.
    pub clock: Option<Clock>,
}

/// A file of the system with one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its path.
    pub file: String,
    /// Its text.
    pub value: String,
    /// Whether this process could write it.
    pub writable: bool,
}

/// What is set on the machine and for this process.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Settings {
    /// The processor's architecture, as `std::env::consts::ARCH` names it.
    pub arch: &'static str,
    /// Whether this process is the administrator's.
    pub root: Fact<bool>,
    /// The cores and which of them this process may use.
    pub cores: Cores,
    /// The quota of CPU time, if there is one.
    pub quota: Option<Quota>,
    /// How clocks are chosen.
    pub frequency: Frequency,
    /// Whether the machine is one.
    pub virtualisation: Virtualisation,
    /// The clock that the system counts time with.
    pub clock_source: ClockSource,
    /// Swap and addresses.
    pub memory: Memory,
}

/// Logical cores by their numbers.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Cores {
    /// Those that this process may use.
    pub allowed: Fact<Vec<u32>>,
    /// Those that are switched on.
    pub online: Fact<Vec<u32>>,
    /// Those that the scheduler gives only to processes that ask for them (`isolcpus`).
    pub isolated: Fact<Vec<u32>>,
    /// Those without a timer's interrupt while one thread runs (`nohz_full`).
    pub tickless: Fact<Vec<u32>>,
    /// For each physical core the logical ones that share it.
    pub siblings: Fact<Vec<Vec<u32>>>,
}

/// A quota of CPU time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Quota {
    /// Cores' worth of CPU time.
    pub cores: f64,
    /// The file that says so.
    pub setting: Setting,
}

/// How clocks are chosen.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Frequency {
    /// For each core that this process may use, where the system chooses its clock.
    pub scaling: Vec<Scaling>,
    /// Whether cores may run above their base clock.
    pub boost: Fact<Boost>,
    /// Whether the machine runs on a battery.
    pub on_battery: Fact<bool>,
}

/// How the clock of one core is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Scaling {
    /// The core.
    pub core: u32,
    /// The driver: `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`.
    pub driver: Fact<String>,
    /// The rule: `performance`, `powersave`, `schedutil`.
    pub governor: Setting,
    /// The processor's own preference, where its firmware chooses: `performance`,
    /// `balance_performance`, `power`.
    pub preference: Fact<Setting>,
}

/// The switch for clocks above the base clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Boost {
    /// Whether it is on.
    pub on: bool,
    /// What switches it off, and on again.
    pub switch: Setting,
}

/// What stands between this process and the hardware.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Virtualisation {
    /// Whether a hypervisor runs below (the processor says so).
    pub hypervisor: Fact<bool>,
    /// The machine by its firmware.
    pub product: Fact<String>,
    /// Whether the process is in a container.
    pub container: Fact<Container>,
}

/// Whether a process is in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Container {
    /// In none.
    None,
    /// In one, by this file.
    By(String),
}

/// The clock that the system counts time with.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ClockSource {
    /// The one in use.
    pub current: Fact<Setting>,
    /// Those that could be.
    pub available: Vec<String>,
}

/// Swap and addresses.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Memory {
    /// Devices and files that memory is swapped to.
    pub swaps: Fact<Vec<String>>,
    /// Whether addresses are random: `2`, `1`, or `0` for fixed ones.
    pub randomised: Fact<Setting>,
    /// Whether this process's addresses are fixed (`setarch --addr-no-randomize`).
    pub fixed_here: Fact<bool>,
}
