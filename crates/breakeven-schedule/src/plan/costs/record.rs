//! The model as plain data: what goes into the file and comes out of it.

use serde::{Deserialize, Serialize};

/// One operation at one size of task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// Its name.
    pub operation: String,
    /// Bits of the memory per task in bytes: class 11 is 1024 to 2047 bytes.
    pub size_class: u8,
    /// Time that was ever spent running it, ns.
    #[serde(default)]
    pub spent_ns: u64,
    /// Of it, since the CPU last had a part, ns.
    #[serde(default)]
    pub since_cpu_ns: u64,
    /// The same since a batch last was to show how far the devices hinder each other, ns.
    #[serde(default)]
    pub since_hindrance_ns: u64,
    /// How many times as long the CPU took beside GPUs then; none where it took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindrance: Option<f64>,
    #[serde(default)]
    /// What was observed on the CPU.
    pub cpu: WindowRecord,
    /// What the CPU drew above idle with all workers at it, W, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_watts: Vec<f64>,
    /// What a call of a function that takes several tasks costs whatever it holds, ns, newest
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub call_ns: Vec<f64>,
    #[serde(default)]
    /// What was observed on each GPU.
    pub gpus: Vec<GpuRecord>,
}

/// An operation that was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Forgotten {
    /// Its name.
    pub operation: String,
    /// When, µs since 1970.
    pub at_us: u64,
}

/// One operation at one size of task, on one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuRecord {
    pub device: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Time spent running the operation since this GPU last had a part, ns.
    #[serde(default)]
    pub since_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<FitRecord>,
    /// Its launches.
    #[serde(default, rename = "alone")]
    pub launches: WindowRecord,
    /// Part of a piece's work that each further piece of a batch added, in the last batches
    /// that were cut, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bottlenecks: Vec<f64>,
    /// What a further piece costs, ns, where pieces of two sizes told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_ns: Option<f64>,
    /// What it drew above idle while it was at it, W, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watts: Vec<f64>,
}

/// The batch that the GPU's memory took after it had refused a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FitRecord {
    /// When it refused, µs since 1970.
    pub at_us: u64,
    /// Runs on the GPU since.
    pub runs: u64,
    /// Tasks that it took.
    pub tasks: u64,
}

/// The newest observations of an operation on a device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WindowRecord {
    /// Observations that were ever made.
    pub observed: u64,
    /// The newest of them, oldest first.
    pub observations: Vec<ObservationRecord>,
}

/// One observation. Time, writer and number tell it from every other one; in
/// this order they are also the order of age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObservationRecord {
    /// When the run ended, µs since 1970.
    pub at_us: u64,
    /// The process that made it: a random number.
    pub writer: u32,
    /// Its number among those of the process.
    pub number: u32,
    pub tasks: u64,
    pub ns: u64,
    /// CPU workers that ran it.
    pub workers: u32,
    /// Part of the time that went into transfers, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_ns: Option<u64>,
    /// Other devices worked at the same batch at the same time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared: bool,
    /// The launch was taken back: it would have taken that at the least.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recalled: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl ObservationRecord {
    /// True for what a run can have taken: some tasks, at least one worker, and
    /// less time than 2^53 ns (three months), with less tasks than that and no
    /// more than 65 536 workers. Ratios of those fit single precision.
    pub(super) fn is_plausible(&self) -> bool {
        const MOST: u64 = 1 << 53;
        let workers = (1..=1 << 16).contains(&self.workers);
        (1..MOST).contains(&self.tasks) && self.ns < MOST && workers
    }

    /// What tells it from every other one.
    pub(super) fn id(&self) -> (u64, u32, u32) {
        (self.at_us, self.writer, self.number)
    }
}
