//! Measurements of the machine: peaks and break-even sizes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Measurements of the machine itself, by which samples are judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Evidence {
    /// One entry per device that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<Peak>,
    /// Sizes from which another device pays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub break_even: Vec<BreakEven>,
}

/// The best measured rates of a device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The device's id.
    pub device: String,
    /// Memory bandwidth beyond all caches, bytes per second, reads plus writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes_per_s: Option<f64>,
    /// Bandwidth by size of the working set, smallest first: caches are faster than memory, so a
    /// small kernel is judged by the rate of a small working set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Bandwidth>,
    /// 32-bit floating-point operations per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops_per_s: Option<f64>,
    /// Launch latency: from launching an empty kernel until the host knows that it
    /// is done, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_ns: Option<f64>,
    /// Host to device, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_bytes_per_s: Option<f64>,
    /// Device to host, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download_bytes_per_s: Option<f64>,
    /// Words of 32 bits that units read from shared memory, without conflicts, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_accesses_per_s: Option<f64>,
    /// Atomic additions to words of shared memory, without conflicts, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_atomics_per_s: Option<f64>,
    /// Time of an access to shared memory that waits for the one before it, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_ns: Option<f64>,
}

/// Memory bandwidth at one size of the working set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes that the measurement touched.
    pub working_set_bytes: u64,
    /// Bytes per second, reads plus writes.
    pub bytes_per_s: f64,
}

impl Peak {
    /// The bandwidth for a working set of that many bytes: linear interpolation of the measured
    /// points over the logarithm of the size, constant beyond the ends. `None` if no bandwidth was
    /// measured.
    pub fn bandwidth_at(&self, working_set_bytes: u64) -> Option<f64> {
        let size = working_set_bytes.max(1) as f64;
        let (Some(first), Some(last)) = (self.memory.first(), self.memory.last()) else {
            return self.memory_bytes_per_s;
        };
        if size <= first.working_set_bytes as f64 {
            return Some(first.bytes_per_s);
        }
        let between = self.memory.windows(2).find_map(|pair| {
            let (low, high) = (
                pair[0].working_set_bytes as f64,
                pair[1].working_set_bytes as f64,
            );
            (low <= size && size < high).then(|| {
                let way = (size / low).ln() / (high / low).ln();
                pair[0].bytes_per_s + way * (pair[1].bytes_per_s - pair[0].bytes_per_s)
            })
        });
        between.or(Some(last.bytes_per_s))
    }
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
    /// Elements; absent if the device is never faster up to `tested_to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<f64>,
    /// Interval of `size`, elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Largest measured size, elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested_to: Option<f64>,
}

impl Evidence {
    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.peaks.is_empty() && self.break_even.is_empty()
    }
}

// What a call takes of a GPU, counted beside its kernel, and which of the device's measured
// rates limits it.

/// Counted work of one call on a GPU: the least that its kernel does, by the resource that it
/// uses. An [`Operation`](super::Operation) has it among its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use]
#[serde(default)]
pub struct DeviceWork {
    /// Bytes read from and written to the device's memory.
    pub bytes: u64,
    /// Words of 32 bits that units read or write in shared memory or in the cache beside it,
    /// which NVIDIA's multiprocessors serve at one rate (Volta Tuning Guide, "Unified Shared
    /// Memory/L1/Texture Cache"). A word that a whole plane reads counts once per unit.
    pub accesses: u64,
    /// Atomic operations on shared memory, one per unit.
    pub atomics: u64,
    /// Instructions, one per unit; a multiply-add is one.
    pub instructions: u64,
    /// Dependent accesses that follow each other: the longest chain of a cube, times the rounds
    /// in which the device runs the cubes.
    pub steps: u64,
}

/// The resource that limits a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bandwidth of the device's memory.
    Bandwidth,
    /// Accesses to shared memory.
    SharedMemory,
    /// Atomic operations on shared memory.
    Atomics,
    /// Instructions.
    Arithmetic,
    /// Accesses that wait for each other.
    Latency,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bandwidth => "bandwidth",
            Self::SharedMemory => "shared memory",
            Self::Atomics => "atomics",
            Self::Arithmetic => "arithmetic",
            Self::Latency => "latency",
        })
    }
}

/// Its name among an operation's attributes.
const NAME: &str = "device_work";

impl DeviceWork {
    /// Reads it from an operation's attributes; `None` if they lack it or have another form.
    pub fn of(attributes: &BTreeMap<String, Value>) -> Option<Self> {
        Self::deserialize(attributes.get(NAME)?).ok()
    }

    /// Writes it to an operation's attributes.
    pub fn write(&self, attributes: &mut BTreeMap<String, Value>) {
        if let Ok(value) = serde_json::to_value(self) {
            attributes.insert(NAME.to_owned(), value);
        }
    }

    /// The least time that each resource needs, ns, for the rates that are known.
    pub fn limits(&self, peak: &Peak) -> impl Iterator<Item = (Limit, f64)> {
        let at = |count: u64, per_s: Option<f64>| Some(1e9 * count as f64 / per_s?);
        // A multiply-add is two operations of the peak.
        let multiply_adds = peak.flops_per_s.map(|flops| flops / 2.0);
        let of = [
            (
                Limit::Bandwidth,
                at(self.bytes, peak.bandwidth_at(self.bytes)),
            ),
            (
                Limit::SharedMemory,
                at(self.accesses, peak.shared_accesses_per_s),
            ),
            (Limit::Atomics, at(self.atomics, peak.shared_atomics_per_s)),
            (Limit::Arithmetic, at(self.instructions, multiply_adds)),
            (
                Limit::Latency,
                peak.access_ns.map(|ns| ns * self.steps as f64),
            ),
        ];
        of.into_iter()
            .filter_map(|(limit, ns)| Some((limit, ns.filter(|ns| ns.is_finite() && *ns > 0.0)?)))
    }

    /// The resource that limits the call, with the least time of a call, ns; `None` if no rate is
    /// known.
    pub fn bound(&self, peak: &Peak) -> Option<(Limit, f64)> {
        self.limits(peak).max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

#[cfg(test)]
mod device_work_tests {
    use super::*;

    #[test]
    fn the_slowest_resource_of_known_rate_is_the_bound() {
        let mut peak = Peak {
            memory_bytes_per_s: Some(1e9),
            ..Peak::default()
        };
        let work = DeviceWork {
            bytes: 1_000,
            accesses: 3_000,
            atomics: 10,
            instructions: 500,
            steps: 40,
        };
        assert_eq!(work.bound(&peak), Some((Limit::Bandwidth, 1_000.0)));
        peak.shared_accesses_per_s = Some(2e9);
        assert_eq!(work.bound(&peak), Some((Limit::SharedMemory, 1_500.0)));
        peak.shared_atomics_per_s = Some(5e6);
        assert_eq!(work.bound(&peak), Some((Limit::Atomics, 2_000.0)));
        // 500 multiply-adds at 0.2 of them per ns.
        peak.flops_per_s = Some(4e8);
        assert_eq!(work.bound(&peak), Some((Limit::Arithmetic, 2_500.0)));
        peak.access_ns = Some(100.0);
        assert_eq!(work.bound(&peak), Some((Limit::Latency, 4_000.0)));
        assert_eq!(work.bound(&Peak::default()), None);
        assert_eq!(DeviceWork::default().bound(&peak), None);
    }

    #[test]
    fn what_is_written_is_read_and_nonsense_is_nothing() {
        let mut attributes = BTreeMap::new();
        assert_eq!(DeviceWork::of(&attributes), None);
        let work = DeviceWork {
            bytes: 8,
            ..DeviceWork::default()
        };
        work.write(&mut attributes);
        assert_eq!(DeviceWork::of(&attributes), Some(work));
        attributes.insert(NAME.to_owned(), "much".into());
        assert_eq!(DeviceWork::of(&attributes), None);
    }
}
