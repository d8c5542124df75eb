//! Measurements of the machine: peaks and break-even sizes.

use serde::{Deserialize, Serialize};

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
