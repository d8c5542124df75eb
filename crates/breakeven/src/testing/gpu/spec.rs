//! The properties of a simulated GPU, as data.

use std::time::Duration;

use crate::hardware::Fact;
use crate::plan::{GpuSpec, Power};
use crate::testing::ScenarioGpu;

/// The properties of a [`SimulatedGpu`](super::SimulatedGpu). The default is a discrete GPU without
/// limits on which nothing takes time.
///
/// A batch of `n` tasks takes the upload of `n` tasks, then `launch` + `n` ×
/// `task_time`, then the download.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedSpec {
    /// Its name in a cost model or a profile.
    pub name: String,
    /// Time of a launch before its first task, on the device.
    pub launch: Duration,
    /// Time of one task on the complete device: 1 / rate.
    pub task_time: Duration,
    /// Rate of transfers in either direction, bytes per second; infinite if transfers take no time.
    pub transfer_bytes_per_s: f64,
    /// Bytes that go to the device per task.
    pub upload_bytes_per_task: u64,
    /// Bytes that come back per task.
    pub download_bytes_per_task: u64,
    /// Its memory, bytes; unknown for no limit. A batch occupies its uploaded and downloaded bytes
    /// from submission until its outputs are returned or it is dropped.
    pub memory_bytes: Fact<u64>,
    /// Memory in use by other processes, bytes.
    pub memory_used_bytes: u64,
    /// Fraction of the time that it reports as busy, 0 to 1.
    pub gpu_use: Fact<f64>,
    /// Batches that may be in flight at once.
    pub depth: usize,
    /// The limit that it reports for tasks in one launch.
    pub most_tasks: Option<usize>,
    /// Uploads, kernels and downloads of different batches overlap, each on an engine of its own;
    /// otherwise everything goes through one queue.
    pub overlaps: bool,
    /// The power that it reports.
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
    /// Creates a GPU of that launch cost and time per task, without limits.
    pub fn new(launch: Duration, task_time: Duration) -> Self {
        Self {
            launch,
            task_time,
            ..Self::default()
        }
    }

    /// Creates the device of [`ScenarioGpu::h200_cuda`], with its transfers in one queue: the host's
    /// part in them costs no core here.
    pub fn h200_cuda(task_time: Duration, bytes: [u64; 2]) -> Self {
        let gpu = ScenarioGpu::h200_cuda(task_time.as_nanos() as f64, bytes);
        let [up, down] = bytes;
        let transfer_s = gpu.host_ns.iter().sum::<f64>() / 1e9;
        Self {
            overlaps: false,
            ..Self::new(Duration::from_secs_f64(gpu.launch_ns / 1e9), task_time)
        }
        .with_transfer(up.saturating_add(down) as f64 / transfer_s, up, down)
    }

    /// Sets transfers: `upload` and `download` bytes per task at `bytes_per_s`.
    #[must_use]
    pub fn with_transfer(self, bytes_per_s: f64, upload: u64, download: u64) -> Self {
        Self {
            transfer_bytes_per_s: bytes_per_s,
            upload_bytes_per_task: upload,
            download_bytes_per_task: download,
            ..self
        }
    }

    /// Sets the memory, of which other processes use `used` bytes.
    #[must_use]
    pub fn with_memory(self, bytes: u64, used: u64) -> Self {
        Self {
            memory_bytes: Fact::Known(bytes),
            memory_used_bytes: used,
            ..self
        }
    }

    /// Returns the memory of a batch, bytes; saturates.
    pub fn batch_bytes(&self, tasks: usize) -> u64 {
        let (up, down) = (self.upload_bytes_per_task, self.download_bytes_per_task);
        up.saturating_add(down).saturating_mul(tasks as u64)
    }

    /// Returns what a real device reports about itself: not its launch cost and rates, which must
    /// be measured.
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
