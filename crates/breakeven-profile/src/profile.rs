//! What was measured, as plain data: a [`Profile`] of [`Operation`]s, each with
//! the raw samples of each [`Run`], the [`Environment`] they were taken in and
//! the [`Evidence`] (peaks, break-even sizes) that they are judged against.
//!
//! Nothing here computes or does I/O beyond trivial look-ups: `file` reads and
//! writes, `stats` computes. Every field but an operation's name is optional in
//! a file; `docs/profile-format.md` describes the file field by field.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stats::Moments;

/// A set of measurements, from one or more runs (processes) of one program on one machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// When measuring began, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The program that wrote the profile, with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// True when measuring was cut short: what is here is sound but not all that was asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The machine and the build.
    #[serde(default, skip_serializing_if = "Environment::is_empty")]
    pub environment: Environment,
    /// What is known of the machine's limits, measured in the same session.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The operations, in the order they were measured.
    #[serde(default)]
    pub operations: Vec<Operation>,
}

/// What tells one operation from another: its name, the device it ran on and
/// the size of its input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationKey {
    /// The operation's name.
    pub name: String,
    /// The device's id; `cpu` where the file names none.
    pub device: String,
    /// Elements in one call's input, where the writer told.
    pub size: Option<u64>,
}

impl fmt::Display for OperationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.name, self.device)?;
        match self.size {
            Some(size) => write!(f, ", size {size}"),
            None => Ok(()),
        }
    }
}

/// One operation on one device at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// The operation's name.
    pub name: String,
    /// The device's id.
    #[serde(default = "default_device")]
    pub device: String,
    /// Elements in one call's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The workload in words, for people: `1×256×256, 3×3 Sobel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Items that one call processes (images, products, vectors): throughput counts these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Bytes that one call must read and write at the least (compulsory traffic).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Floating-point operations of one call; a fused multiply-add counts as two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// Memory that one call holds at its peak, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Anything else the writer knows of the operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
    /// Why the operation has no (or not all) samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The samples, apart per run.
    #[serde(default)]
    pub runs: Vec<Run>,
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure in a word: `out of memory`, `device lost`, `crash`.
    pub kind: String,
    /// What happened, in one line.
    pub message: String,
}

/// What one run (one process) measured of one operation. A run is the unit of
/// inference: samples inside a run are not independent of each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Wall time of each measured call, ns, in the order measured. A bounded
    /// reservoir where `moments` says that there were more calls.
    pub samples_ns: Vec<u64>,
    /// Exact count, mean, spread, least and greatest of *all* calls, ns; present
    /// where `samples_ns` holds only some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
    /// The very first call, ns: compilation, allocation, cold caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_call_ns: Option<u64>,
    /// Wall time of each warm-up call after the first, ns; in no statistic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warmup_ns: Vec<u64>,
    /// Times of the parts of a call, ns, measured apart from `samples_ns`:
    /// `upload`, `launch`, `kernel`, `download` for a GPU.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases_ns: BTreeMap<String, Vec<u64>>,
}

/// The machine and build that a profile was taken on. Host name and paths are
/// in it only when they were asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Operating system, `linux`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Instruction set architecture, `x86_64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// The processor and the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The GPUs found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The clock that took the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// Version-control revision of the measured program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// `release` or `debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_profile: Option<String>,
    /// The host's name, only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// The processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// The vendor's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Hardware threads of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_cores: Option<u64>,
    /// Cores of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_cores: Option<u64>,
    /// Hardware threads that the process may use (affinity, cgroup quota).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_cores: Option<f64>,
    /// SIMD features, `avx2`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simd: Vec<String>,
    /// Memory of the machine, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Memory that the process may use (cgroup limit), bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_memory_bytes: Option<u64>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// The id that operations name in `device`.
    pub id: String,
    /// The vendor's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `discrete`, `integrated`, `virtual`, `software`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `cuda`, `vulkan`, `metal`, `dx12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Its memory, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Driver and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Where `phases_ns.kernel` comes from: `device` time stamps or the `host` clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_clock: Option<String>,
}

impl Gpu {
    /// True for a GPU that is a program on the CPU.
    pub fn is_software(&self) -> bool {
        self.kind.as_deref() == Some("software")
    }
}

/// The clock that took the samples, measured at start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// What it reads: `tsc`, `os`.
    pub source: String,
    /// Cost of one reading, ns, the least seen: the floor under every sample.
    pub read_ns: f64,
    /// Smallest step seen between two readings, ns.
    pub resolution_ns: f64,
}

/// What was measured of the machine itself, for samples to be judged against.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// One entry per device that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<Peak>,
    /// Sizes from which another device pays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub break_even: Vec<BreakEven>,
}

/// The best that a device was seen to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The device's id.
    pub device: String,
    /// Memory bandwidth, bytes per second, reads and writes added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes_per_s: Option<f64>,
    /// 32-bit floating-point operations per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops_per_s: Option<f64>,
    /// From launching an empty kernel until the host knows that it is done, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_ns: Option<f64>,
    /// Host to device, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_bytes_per_s: Option<f64>,
    /// Device to host, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download_bytes_per_s: Option<f64>,
}

/// The size from which `device` is faster than `over` for an operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakEven {
    /// The operation's name.
    pub operation: String,
    /// The device that pays from `size` on.
    pub device: String,
    /// The device that is faster below it.
    pub over: String,
    /// Elements; absent: never up to `tested_to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<f64>,
    /// Interval of `size`, elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Greatest size that was tried, elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested_to: Option<f64>,
}

impl Operation {
    /// An operation without samples yet.
    pub fn new(name: impl Into<String>, device: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            device: device.into(),
            size: None,
            workload: None,
            items: None,
            bytes: None,
            flops: None,
            memory_bytes: None,
            attributes: BTreeMap::new(),
            failure: None,
            runs: Vec::new(),
        }
    }

    /// What tells this operation from the others of its profile.
    pub fn key(&self) -> OperationKey {
        OperationKey {
            name: self.name.clone(),
            device: self.device.clone(),
            size: self.size,
        }
    }

    /// The kept samples of all runs, ns.
    pub fn samples_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.samples_ns.iter().copied())
    }

    /// The times of one phase in all runs, ns.
    pub fn phase_ns<'a>(&'a self, phase: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.runs
            .iter()
            .filter_map(move |run| run.phases_ns.get(phase))
            .flatten()
            .copied()
    }
}

impl Profile {
    /// The peak measured for a device.
    pub fn peak(&self, device: &str) -> Option<&Peak> {
        self.evidence.peaks.iter().find(|peak| peak.device == device)
    }

    /// The GPU of that id.
    pub fn gpu(&self, device: &str) -> Option<&Gpu> {
        self.environment.gpus.iter().find(|gpu| gpu.id == device)
    }
}

impl Environment {
    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Evidence {
    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.peaks.is_empty() && self.break_even.is_empty()
    }
}

fn default_device() -> String {
    "cpu".to_owned()
}

fn is_false(value: &bool) -> bool {
    !value
}
