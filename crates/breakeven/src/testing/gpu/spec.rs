//! What a simulated GPU is like: data, made by hand.

use std::time::Duration;

use crate::hardware::Fact;
use crate::plan::{GpuSpec, Power};

/// What a [`SimulatedGpu`](super::SimulatedGpu) is like. The default is a
/// discrete GPU without limits on which nothing takes time.
///
/// A batch of `n` tasks takes the upload of `n` tasks, then `launch` + `n` ×
/// `task_time`, then the download.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedSpec {
    /// Its name, as a cost model or a profile has it.
    pub name: String,
    /// What a launch takes before its first task, on the device.
    pub launch: Duration,
    /// What one task takes, with the whole device at it: 1 / rate.
    pub task_time: Duration,
    /// Rate of transfers in either direction, bytes per second; infinite for
    /// transfers that take no time.
    pub transfer_bytes_per_s: f64,
    /// Bytes that go to the device per task.
    pub upload_bytes_per_task: u64,
    /// Bytes that come back per task.
    pub download_bytes_per_task: u64,
    /// Its memory, bytes; unknown for one without a limit. A batch takes its
    /// uploaded and its downloaded bytes from submission until its outputs were
    /// handed over or it was dropped.
    pub memory_bytes: Fact<u64>,
    /// Of it, in use by other processes, bytes.
    pub memory_used_bytes: u64,
    /// Part of the time in which it says that it was at work, 0 to 1.
    pub gpu_use: Fact<f64>,
    /// Batches that may be in flight at once.
    pub depth: usize,
    /// Most tasks that it says it takes in one launch.
    pub most_tasks: Option<usize>,
    /// Uploads, kernels and downloads of different batches overlap, each on an engine of its
    /// own; else everything goes through one queue.
    pub overlaps: bool,
    /// What it says that it draws.
    pub power: Fact<Power>,
}

impl Default for SimulatedSpec {
    fn default() -> Self {
        Self {
            name: "simulated".to_owned(),
            launch: Duration::ZERO,
            task_time: Duration::ZERO,
            transfer_bytes_per_s: f64::INFINITY,
            upload_bytes_per_task: 0,
            download_bytes_per_task: 0,
            memory_bytes: Fact::Unknown,
            memory_used_bytes: 0,
            gpu_use: Fact::Unknown,
            depth: 3,
            most_tasks: None,
            overlaps: true,
            power: Fact::Unknown,
        }
    }
}

impl SimulatedSpec {
    /// A GPU of that launch cost and that time per task, without limits.
    pub fn new(launch: Duration, task_time: Duration) -> Self {
        Self {
            launch,
            task_time,
            ..Self::default()
        }
    }

    /// The same with transfers: `upload` and `download` bytes per task at
    /// `bytes_per_s`.
    #[must_use]
    pub fn with_transfer(self, bytes_per_s: f64, upload: u64, download: u64) -> Self {
        Self {
            transfer_bytes_per_s: bytes_per_s,
            upload_bytes_per_task: upload,
            download_bytes_per_task: download,
            ..self
        }
    }

    /// The same with that much memory, of which other processes use `used` bytes.
    #[must_use]
    pub fn with_memory(self, bytes: u64, used: u64) -> Self {
        Self {
            memory_bytes: Fact::Known(bytes),
            memory_used_bytes: used,
            ..self
        }
    }

    /// Memory that a batch of so many tasks takes, bytes; saturates.
    pub fn batch_bytes(&self, tasks: usize) -> u64 {
        let (up, down) = (self.upload_bytes_per_task, self.download_bytes_per_task);
        up.saturating_add(down).saturating_mul(tasks as u64)
    }

    /// What a real device tells of itself. Launch cost and rates are not among
    /// it: they have to be measured.
    pub(super) fn device(&self) -> GpuSpec {
        GpuSpec {
            memory_bytes: self.memory_bytes,
            memory_used_bytes: Fact::Known(self.memory_used_bytes),
            driver: Fact::Known("simulated 1".to_owned()),
            power: self.power,
            ..GpuSpec::named(self.name.clone())
        }
    }
}
