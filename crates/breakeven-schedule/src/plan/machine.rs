//! The machine that a decision is about: this one, or a described one.

use std::fmt;
use std::time::Duration;

use breakeven_profile::unit;
use serde::{Serialize, Serializer};

use crate::WorkloadProfile;
use crate::error::Error;
use crate::{Fact, GpuKind};

/// What a decision needs to know of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// Workers that run CPU tasks at once.
    pub cores: usize,
    /// Memory that the process may use, bytes.
    pub memory_bytes: Fact<u64>,
    /// Power of its processors and their memory.
    #[serde(rename = "power", skip_serializing_if = "Fact::is_unknown")]
    pub cpu_power: Fact<Power>,
    /// Its GPUs, the one to use first. Software GPUs are included only on request.
    pub gpus: Vec<GpuSpec>,
}

/// Power of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Power {
    /// While it works, W.
    pub busy_watts: f64,
    /// While it waits, W.
    pub idle_watts: f64,
}

/// What a decision needs to know of a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuSpec {
    /// Its name in profiles and in the cost model: a
    /// `DeviceId` for a GPU of this machine.
    pub name: String,
    /// How it is attached to the machine.
    pub kind: GpuKind,
    /// Its memory, bytes.
    pub memory_bytes: Fact<u64>,
    /// Memory in use on it, by whatever process, bytes.
    pub memory_used_bytes: Fact<u64>,
    /// What one launch costs, whatever its size.
    #[serde(rename = "launch_ns", serialize_with = "nanoseconds")]
    pub launch: Fact<Duration>,
    /// Rate of transfers between host and device, bytes per second.
    pub transfer_bytes_per_s: Fact<f64>,
    /// Its rate over the rate of one CPU core.
    pub speedup: Fact<f64>,
    /// Driver and version; measurements with another driver are void.
    pub driver: Fact<String>,
    /// Its power.
    #[serde(skip_serializing_if = "Fact::is_unknown")]
    pub power: Fact<Power>,
}

fn nanoseconds<S: Serializer>(time: &Fact<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    time.map(ns).serialize(serializer)
}

impl GpuSpec {
    /// Creates a discrete GPU of that name, with everything else unknown.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: GpuKind::Discrete,
            memory_bytes: Fact::Unknown,
            memory_used_bytes: Fact::Unknown,
            launch: Fact::Unknown,
            transfer_bytes_per_s: Fact::Unknown,
            speedup: Fact::Unknown,
            driver: Fact::Unknown,
            power: Fact::Unknown,
        }
    }

    /// Returns its free memory, bytes; all of it if its use is unknown.
    pub fn free_bytes(&self) -> Option<u64> {
        let used = self.memory_used_bytes.get().unwrap_or(0);
        Some(self.memory_bytes.get()?.saturating_sub(used))
    }

    /// Returns how many tasks of `bytes` fit its free memory at once; unlimited if its memory is
    /// unknown.
    pub fn fits(&self, bytes: usize) -> usize {
        let fits = self.free_bytes().map(|free| free / (bytes as u64).max(1));
        fits.map_or(usize::MAX, |fits| {
            usize::try_from(fits).unwrap_or(usize::MAX)
        })
    }
}

impl Machine {
    /// Returns a sentence if the host's memory cannot hold all tasks of a batch at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`](breakeven_types::ErrorKind::TooLarge) if it cannot hold a single task.
    pub fn unfit(&self, workload: &WorkloadProfile) -> Result<Option<String>, Error> {
        let (task, all) = (workload.memory_per_task, workload.estimated_memory_bytes());
        let Some(memory) = self.memory_bytes.get().filter(|memory| *memory < all) else {
            return Ok(None);
        };
        let [task, all, has] = [task as u64, all, memory].map(unit::bytes);
        match memory < workload.memory_per_task as u64 {
            true => Err(Error::too_large(format!(
                "a task needs {task} of memory and the machine has {has}: make the tasks smaller"
            ))),
            false => Ok(Some(format!(
                "all tasks together need {all} and the machine has {has}: give it fewer at once"
            ))),
        }
    }

    /// Returns the machine without the software GPUs whose time is unknown, and a sentence about
    /// each.
    pub(super) fn without_software(&self, has_time: impl Fn(usize) -> bool) -> (Self, Vec<String>) {
        let mut machine = self.clone();
        let mut at = 0..;
        let is_unknown = |gpu: &mut GpuSpec| {
            let is_timed = at.next().is_some_and(&has_time);
            gpu.kind == GpuKind::Software && !is_timed
        };
        let software = machine.gpus.extract_if(.., is_unknown);
        let left_out = software.map(|GpuSpec { name, .. }| {
            format!("{name} was left out: it is software, and its time is not known")
        });
        let left_out = left_out.collect();
        (machine, left_out)
    }

    /// The GPU to use.
    pub fn gpu(&self) -> Option<&GpuSpec> {
        self.gpus.first()
    }
}

/// `16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, 20 × a core`. What is unknown is left
/// out.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cores {
            1 => f.write_str("1 core")?,
            cores => write!(f, "{} cores", unit::count(cores as f64))?,
        }
        if let Some(bytes) = self.memory_bytes.get() {
            write!(f, ", {}", unit::bytes(bytes))?;
        }
        if let Some(power) = self.cpu_power.get() {
            write!(f, ", {power}")?;
        }
        if self.gpus.is_empty() {
            return f.write_str("; no GPU");
        }
        self.gpus.iter().try_for_each(|gpu| write!(f, "; {gpu}"))
    }
}

impl fmt::Display for GpuSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.kind)?;
        if let Some(bytes) = self.memory_bytes.get() {
            write!(f, ", {}", unit::bytes(bytes))?;
        }
        if let Some(bytes) = self.memory_used_bytes.get() {
            write!(f, ", {} in use", unit::bytes(bytes))?;
        }
        if let Some(launch) = self.launch.get() {
            write!(f, ", launch {}", unit::time(launch.as_nanos() as f64))?;
        }
        if let Some(rate) = self.transfer_bytes_per_s.get() {
            write!(f, ", transfer {}", unit::bytes_per_s(rate))?;
        }
        if let Some(speedup) = self.speedup.get() {
            write!(f, ", {} × a core", unit::count(speedup))?;
        }
        if let Some(power) = self.power.get() {
            write!(f, ", {power}")?;
        }
        Ok(())
    }
}

/// `180 W, idle 45 W`.
impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (busy, idle) = (unit::count(self.busy_watts), unit::count(self.idle_watts));
        write!(f, "{busy} W, idle {idle} W")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_in_words() {
        let machine = |text: &str| Machine::from_toml(text).expect("a machine").to_string();
        assert_eq!(machine("cores = 1"), "1 core; no GPU");
        let found = machine(
            "cores = 16\nmemory = \"64 GiB\"\n[[gpu]]\nname = \"V100\"\nmemory = \"32 GiB\"\n\
             memory_used = \"2 GiB\"\nlaunch = \"20 us\"\ntransfer = \"12 GB/s\"\nspeedup = 20\n\
             [[gpu]]\nkind = \"integrated\"",
        );
        let expected = "16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, launch 20.0 µs, transfer 12.0 GB/s, 20 × a core; gpu#2: integrated";
        assert_eq!(found, expected);
    }

    #[test]
    fn memory_whose_use_is_unknown_is_free() {
        let gpu = |memory, used| GpuSpec {
            memory_bytes: memory,
            memory_used_bytes: used,
            ..GpuSpec::named("card")
        };
        assert_eq!(gpu(Fact::Known(8), Fact::Known(3)).free_bytes(), Some(5));
        assert_eq!(gpu(Fact::Known(8), Fact::Unknown).free_bytes(), Some(8));
        assert_eq!(gpu(Fact::Known(8), Fact::Known(9)).free_bytes(), Some(0));
        assert_eq!(gpu(Fact::Unknown, Fact::Known(3)).free_bytes(), None);
    }
}
