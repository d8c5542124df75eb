//! A device's activity over the time of a trace: busy, idle, overlapping.

use serde::{Deserialize, Serialize};

use super::both;
use crate::file::times;

/// A device's time over a trace. Times are lengths of unions of intervals: two simultaneous kernels
/// count once. Over several runs they are sums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The device's id.
    pub device: String,
    /// From the beginning of the device's first activity to the end of its last, ns.
    #[serde(deserialize_with = "times::whole")]
    pub span_ns: u64,
    /// Time with at least one activity, ns. The rest of the span is idle.
    #[serde(deserialize_with = "times::whole")]
    pub busy_ns: u64,
    /// Time with at least one kernel that computes, ns.
    #[serde(default, deserialize_with = "times::whole")]
    pub compute_ns: u64,
    /// Time with at least one kernel of a communication library (NCCL, RCCL), ns.
    #[serde(default, deserialize_with = "times::whole")]
    pub communication_ns: u64,
    /// The time within `communication_ns` during which a kernel computed, ns.
    #[serde(default, deserialize_with = "times::whole")]
    pub communication_overlap_ns: u64,
    /// Time with at least one copy or fill of memory, ns.
    #[serde(default, deserialize_with = "times::whole")]
    pub copy_ns: u64,
    /// The time within `copy_ns` during which a kernel computed, ns.
    #[serde(default, deserialize_with = "times::whole")]
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
    #[serde(deserialize_with = "times::whole")]
    pub call_total_ns: u64,
    /// Median time of a call, ns.
    #[serde(with = "times")]
    pub call_median_ns: f64,
    /// Median time from the end of the call to the beginning of its kernel, ns; 0 if the kernel
    /// began before.
    #[serde(with = "times")]
    pub delay_median_ns: f64,
    /// The longest such time, ns.
    #[serde(deserialize_with = "times::whole")]
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
    #[serde(deserialize_with = "times::whole")]
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
    #[serde(deserialize_with = "times::whole")]
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

    /// Adds the activity of the same device in another trace.
    pub(super) fn append(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.span_ns, other.span_ns),
            (&mut self.busy_ns, other.busy_ns),
            (&mut self.compute_ns, other.compute_ns),
            (&mut self.communication_ns, other.communication_ns),
            (
                &mut self.communication_overlap_ns,
                other.communication_overlap_ns,
            ),
            (&mut self.copy_ns, other.copy_ns),
            (&mut self.copy_overlap_ns, other.copy_overlap_ns),
            (&mut self.kernels, other.kernels),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.launches = both(self.launches.take(), other.launches, |first, second| {
            first.and(&second)
        });
        for copies in other.copies {
            match (self.copies.iter_mut()).find(|known| known.direction == copies.direction) {
                Some(known) => {
                    known.count = known.count.saturating_add(copies.count);
                    known.total_ns = known.total_ns.saturating_add(copies.total_ns);
                    known.bytes = (known.bytes.zip(copies.bytes))
                        .map(|(first, second)| first.saturating_add(second));
                }
                None => self.copies.push(copies),
            }
        }
        for stream in other.streams {
            match (self.streams.iter_mut()).find(|known| known.stream == stream.stream) {
                Some(known) => {
                    known.busy_ns = known.busy_ns.saturating_add(stream.busy_ns);
                    known.kernels = known.kernels.saturating_add(stream.kernels);
                    known.copies = known.copies.saturating_add(stream.copies);
                }
                None => self.streams.push(stream),
            }
        }
    }
}

impl Launches {
    /// Merges two; a median becomes the mean of both, weighted by their counts.
    fn and(&self, other: &Self) -> Self {
        let mean = |first: f64, second: f64, counts: [u64; 2]| {
            let [one, more] = counts.map(|count| count as f64);
            match one + more {
                all if all > 0.0 => first * (one / all) + second * (more / all),
                _ => first,
            }
        };
        Self {
            kernels: self.kernels.saturating_add(other.kernels),
            calls: self.calls.saturating_add(other.calls),
            call_total_ns: self.call_total_ns.saturating_add(other.call_total_ns),
            call_median_ns: mean(
                self.call_median_ns,
                other.call_median_ns,
                [self.calls, other.calls],
            ),
            delay_median_ns: mean(
                self.delay_median_ns,
                other.delay_median_ns,
                [self.kernels, other.kernels],
            ),
            delay_max_ns: self.delay_max_ns.max(other.delay_max_ns),
            shorter: self.shorter.saturating_add(other.shorter),
        }
    }
}
