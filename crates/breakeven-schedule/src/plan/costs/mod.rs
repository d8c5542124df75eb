//! The measured cost model: per operation, size of task and device, what a
//! batch costs, learned from the batches that ran. Plain data; `store` shares it among
//! threads and processes.
//!
//! | file | what |
//! |---|---|
//! | `cost` | what a lookup gives: a fixed cost and one per task |
//! | `line` | the robust line through a window of observations |
//! | `window` | 16 observations of an operation on a device: the newest, and an older one that alone tells a launch's cost |
//! | `recent` | a value that batches tell: what a device draws, what a call costs |
//! | `overlap` | how far pieces of a batch overlapped on a GPU |
//! | `group` | one operation at one size of task: its devices, what fits, how they hinder each other |
//! | `part` | for how long a device was left out |
//! | `shape` | where the work of a batch lies |
//! | `ways` | what batches took in each way, for objectives |
//! | `notes` | what the model notes of a batch beside the costs |
//! | `counter` | counts that several processes add to |
//! | `model` | all of them, bounded; joining with what the file knows |

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

/// What a batch, or a part of it, took on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// When it ended.
    pub at: SystemTime,
    /// Its tasks.
    pub tasks: u64,
    /// Wall-clock time, ns.
    pub ns: u64,
    /// Of it, moving data to the device and back, ns; none where it is not known apart.
    pub transfer_ns: Option<u64>,
    /// CPU workers at it; of no meaning on a GPU.
    pub workers: usize,
    /// The CPU worked for half of the batch or longer, or a GPU did where this is the CPU's.
    pub shared: bool,
}

/// A batch of which the cost model learns.
#[derive(Debug)]
pub struct Learned<'l> {
    /// What learns of it.
    pub model: &'l mut Model,
    /// The operation's name.
    pub operation: &'l str,
    /// Memory of a task, bytes.
    pub memory_per_task: usize,
    /// When it ended.
    pub at: SystemTime,
    /// CPU workers that there were.
    pub workers: usize,
    /// In which way it ran and what it took, where an objective chose it.
    pub way: Option<(Way, Took)>,
}

impl Learned<'_> {
    /// What so many tasks took there, and of it what moving their data took.
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

    /// A launch of so many tasks was taken back, and would have taken that at the least.
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

/// Where a batch ran. A GPU goes by its [`GpuSpec::name`](crate::plan::GpuSpec).
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
    /// Operations that are forgotten, and since when.
    pub forgotten: Vec<Forgotten>,
    /// Changes that no file has.
    pub unsaved: u64,
}

/// µs since 1970; 0 before.
pub fn micros(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
