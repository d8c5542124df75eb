//! A device's activity over the time of a trace: busy, idle, overlapping.

use serde::{Deserialize, Serialize};

use super::time;

/// A device's time over a trace. Times are lengths of unions of intervals: two simultaneous kernels
/// count once. Over several runs they are sums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The device's id.
    pub device: String,
    /// From the beginning of the device's first activity to the end of its last, ns.
    #[serde(deserialize_with = "time::whole")]
    pub span_ns: u64,
    /// Time with at least one activity, ns. The rest of the span is idle.
    #[serde(deserialize_with = "time::whole")]
    pub busy_ns: u64,
    /// Time with at least one kernel that computes, ns.
    #[serde(default, deserialize_with = "time::whole")]
    pub compute_ns: u64,
    /// Time with at least one kernel of a communication library (NCCL, RCCL), ns.
    #[serde(default, deserialize_with = "time::whole")]
    pub communication_ns: u64,
    /// The time within `communication_ns` during which a kernel computed, ns.
    #[serde(default, deserialize_with = "time::whole")]
    pub communication_overlap_ns: u64,
    /// Time with at least one copy or fill of memory, ns.
    #[serde(default, deserialize_with = "time::whole")]
    pub copy_ns: u64,
    /// The time within `copy_ns` during which a kernel computed, ns.
    #[serde(default, deserialize_with = "time::whole")]
    pub copy_overlap_ns: u64,
    /// Kernels that ran.
    #[serde(default)]
    pub kernels: u64,
    /// The calls that launched kernels, if the trace relates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<Launches>,
    /// Copies and fills, one entry per direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Copies>,
    /// Streams or queues, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<Stream>,
}

/// Calls of the host that launched kernels, and how long the kernels then waited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launches {
    /// Kernels whose call is known.
    pub kernels: u64,
    /// Calls; a graph launches several kernels with one.
    pub calls: u64,
    /// Time of all calls, ns.
    #[serde(deserialize_with = "time::whole")]
    pub call_total_ns: u64,
    /// Median time of a call, ns.
    pub call_median_ns: f64,
    /// Median time from the end of the call to the beginning of its kernel, ns; 0 if the kernel
    /// began before.
    pub delay_median_ns: f64,
    /// The longest such time, ns.
    #[serde(deserialize_with = "time::whole")]
    pub delay_max_ns: u64,
    /// Kernels that took less time than their call.
    pub shorter: u64,
}

/// Copies or fills of one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Copies {
    /// `host to device`, `device to host`, `device to device`, `fill` and the like.
    pub direction: String,
    /// Number of copies or fills.
    pub count: u64,
    /// Time of all, ns.
    #[serde(deserialize_with = "time::whole")]
    pub total_ns: u64,
    /// Bytes of all, if the trace has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Copies {
    /// Bytes per second while copying.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|_| self.total_ns > 0)?;
        Some(bytes as f64 / (self.total_ns as f64 / 1e9))
    }
}

/// A stream or queue of a device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Its number, as the trace has it.
    pub stream: String,
    /// Time with at least one activity on it, ns.
    #[serde(deserialize_with = "time::whole")]
    pub busy_ns: u64,
    /// Kernels that ran on it.
    #[serde(default)]
    pub kernels: u64,
    /// Copies and fills on it.
    #[serde(default)]
    pub copies: u64,
}

impl Activity {
    /// Time without any activity, ns.
    pub fn idle_ns(&self) -> u64 {
        self.span_ns.saturating_sub(self.busy_ns)
    }
}
