//! The measured cost model: for each operation, task size and device, the cost of a batch, learned
//! from earlier batches. Plain data; `store` shares it among threads and processes.
//!
//! | file | content |
//! |---|---|
//! | `cost` | the result of a lookup: a fixed cost and one per task |
//! | `line` | the robust line through a window of observations |
//! | `window` | 16 observations of an operation on a device: the newest, and an older one if it alone shows the launch cost |
//! | `recent` | a value observed batch by batch: a device's power, a call's cost |
//! | `overlap` | how far pieces of a batch overlapped on a GPU |
//! | `group` | one operation at one task size: its devices, what fits, how they hinder each other |
//! | `part` | how long a device was left out |
//! | `shape` | where the work of a batch lies |
//! | `ways` | times of complete batches by strategy, for objectives |
//! | `notes` | what the model records about a batch in addition to costs |
//! | `counter` | counts that several processes add to |
//! | `model` | all operations, bounded; merging with the file |

#[cfg(test)]
mod another_size_tests;
mod cost;
#[cfg(test)]
mod costs_tests;
mod counter;
mod group;
#[cfg(test)]
mod hindrance_tests;
mod line;
#[cfg(test)]
mod line_tests;
mod model;
mod notes;
mod overlap;
mod part;
mod recent;
mod shape;
mod ways;
mod window;
#[cfg(test)]
mod window_tests;

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use cost::{Absence, Cost, Evidence, GpuCosts, OperationCosts};
pub use group::Group;
pub use model::Model;
pub use overlap::Added;
pub use shape::Shape;
pub(crate) use shape::{PLACES, PlaceWork};
pub use ways::Ways;
pub use ways::{Took, Way};

/// The time of a batch, or of some of its tasks, on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// When it ended.
    pub at: SystemTime,
    /// Its tasks.
    pub tasks: u64,
    /// Wall-clock time, ns.
    pub ns: u64,
    /// Transfers to the device and back within it, ns; none if not known separately.
    pub transfer_ns: Option<u64>,
    /// CPU workers that ran it; ignored for a GPU.
    pub workers: usize,
    /// Another kind of device worked for half of the batch or longer: the CPU, or a GPU if this is
    /// the CPU's.
    pub shared: bool,
}

/// A batch from which the cost model learns.
#[derive(Debug)]
pub struct Learned<'l> {
    /// The model.
    pub model: &'l mut Model,
    /// The operation's name.
    pub operation: &'l str,
    /// Memory of a task, bytes.
    pub memory_per_task: usize,
    /// When it ended.
    pub at: SystemTime,
    /// CPU workers available.
    pub workers: usize,
    /// Which way it ran and its times, if an objective chose it.
    pub way: Option<(Way, Took)>,
}

impl Learned<'_> {
    /// Records the time of tasks on a device, and the transfer time within it.
    pub fn observe(
        &mut self,
        on: RanOn<'_>,
        tasks: u64,
        ns: u64,
        transfer_ns: Option<u64>,
        shared: bool,
    ) {
        let seen = self.seen(tasks, ns, transfer_ns, shared);
        self.model
            .observe(self.operation, self.memory_per_task, on, &seen);
    }

    /// Records a launch that was taken back, with a lower bound of its time.
    pub fn recalled(&mut self, gpu: &str, tasks: u64, ns: u64, shared: bool) {
        let seen = self.seen(tasks, ns, None, shared);
        let (operation, memory_per_task) = (self.operation, self.memory_per_task);
        self.model
            .observe_or_recall(operation, memory_per_task, RanOn::Gpu(gpu), &seen, true);
    }

    fn seen(&self, tasks: u64, ns: u64, transfer_ns: Option<u64>, shared: bool) -> Observation {
        Observation {
            at: self.at,
            tasks,
            ns,
            transfer_ns,
            workers: self.workers,
            shared,
        }
    }
}

/// Where a batch ran. A GPU is identified by its [`GpuSpec::name`](crate::plan::GpuSpec).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RanOn<'a> {
    /// On the CPU's workers.
    Cpu,
    /// On that GPU.
    Gpu(&'a str),
}

/// An operation that was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Forgotten {
    /// Its name.
    pub operation: String,
    /// When, µs since 1970.
    pub at_us: u64,
}

/// The model at one moment, for the file.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Each operation at each size of task.
    pub operations: Vec<Group>,
    /// Forgotten operations, and since when.
    pub forgotten: Vec<Forgotten>,
    /// Changes that no file has.
    pub unsaved: u64,
}

/// Converts to µs since 1970; 0 before.
pub fn micros(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
