//! What was measured, as plain data: a [`Profile`] of [`Operation`]s, each with
//! the raw samples of each [`Run`], the [`Environment`] they were taken in and
//! the [`Evidence`] (peaks, break-even sizes) that they are judged against.
//!
//! Nothing here computes or does I/O beyond trivial look-ups: `file` reads and
//! writes, `stats` computes. Every field but an operation's name is optional in
//! a file; `docs/profile-format.md` describes the file field by field.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::stats::{Moments, StatsError, Summary};

mod activity;
mod device;
mod energy;
mod environment;
mod evidence;
mod execution;
mod join;
mod load;
pub(crate) mod time;

pub use activity::{Activity, Copies, Launches, Stream};
pub use device::Device;

pub use energy::{CountedEnergy, Energy};
pub use environment::{Clock, Cpu, Difference, Environment, Gpu, Part, RecorderCost};
pub use evidence::{Bandwidth, BreakEven, DeviceWork, Evidence, Limit, Peak};
pub use execution::{Executions, Fallback};
pub use join::JoinError;
pub use load::{DeviceLoad, Level, LoadRecord, LoadSample};

/// A set of measurements, from one or more runs (processes) of one program on one machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// When measuring began, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The program that wrote the profile, with its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// True when measuring was cut short: what is here is sound but not all that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// True if a benchmark tool repeated the calls by its own choice: their number says
    /// nothing of a program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub benchmark: bool,
    /// The machine and the build.
    #[serde(skip_serializing_if = "Environment::is_empty")]
    pub environment: Environment,
    /// What is known of the machine's limits, measured in the same session.
    #[serde(skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The operations, in the order they were measured.
    pub operations: Vec<Operation>,
    /// Where operations called one another: one entry per call path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Stack>,
    /// Single calls in the order of time, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// What each device did over the time of a trace: busy, idle, overlapping.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub activity: Vec<Activity>,
    /// What the machine did meanwhile, one entry per recording.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<LoadRecord>,
}

/// What identifies an operation: its name, the device it ran on and the size
/// of its input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[must_use]
pub struct OperationKey {
    /// The operation's name.
    #[serde(rename = "operation")]
    pub name: String,
    /// The device's id; `cpu` where the file names none.
    pub device: String,
    /// Elements in one call's input, if the writer stated it.
    pub size: Option<u64>,
}

impl OperationKey {
    /// The key for people, with [`Device::label`] for the device.
    pub fn label(&self, software_gpu: bool) -> String {
        let device = Device::label(&self.device, software_gpu);
        let key = self.clone();
        Self { device, ..key }.to_string()
    }

    /// A name with its size, if it has one, for people: `conv2d (size 65536)`.
    pub fn sized(name: &str, size: Option<u64>) -> String {
        let size = size.map_or_else(String::new, |size| format!(" (size {size})"));
        format!("{name}{size}")
    }
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Operation {
    /// The operation's name.
    pub name: String,
    /// The device's id.
    #[serde(default = "cpu")]
    pub device: String,
    /// Elements in one call's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The workload in words, for people: `1×256×256, 3×3 Sobel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Items that one call processes (images, products, vectors): throughput counts these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Bytes that one call must at least read and write (compulsory traffic).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Floating-point operations of one call; a fused multiply-add counts as two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// Memory that one call holds at its peak, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Fraction of the GPU's units that a call keeps busy, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_use: Option<f64>,
    /// Anything else the writer knows of the operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
    /// What an executor decided and where the tasks ran, of a batch's operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<Executions>,
    /// True for a part of a batch's execution, such as a worker's span: the batch's operation
    /// counts its time too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub within_execution: bool,
    /// Why the operation has no (or not all) samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What the runs count beside time, by name: `allocations`, `cache misses`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, Counter>,
    /// The samples, separately for each run. A file may have those of a single run as `samples_ns`.
    #[serde(default, alias = "samples_ns", deserialize_with = "runs")]
    pub runs: Vec<Run>,
    /// Figures that were computed from the samples, for other readers of the JSON; a profile that
    /// is read has none.
    #[serde(skip_deserializing, skip_serializing_if = "serde_json::Value::is_null")]
    pub figures: serde_json::Value,
}

fn cpu() -> String {
    Device::CPU.to_owned()
}

/// What a figure of an operation beside time is: [`Run::counters`] has its values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// The unit, as in `B` or `1/s`; empty for a plain count.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// True if more is better, as of a rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub higher_is_better: bool,
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let better = if self.higher_is_better {
            "more"
        } else {
            "less"
        };
        write!(f, "in {:?}, {better} is better", self.unit)
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{message}", match &.kind[..] { "error" => String::new(), kind => format!("{kind}: ") })]
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
    /// Wall time of each measured call, ns, in the order measured; fractional if
    /// several short calls were timed together. Only a bounded reservoir of the
    /// calls if `moments` counts more.
    pub samples_ns: Vec<f64>,
    /// Exact count, mean, spread, minimum and maximum of *all* calls, ns; present
    /// if `samples_ns` holds only some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
    /// The very first call, ns: compilation, allocation, cold caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_call_ns: Option<f64>,
    /// Wall time of each warm-up call after the first, ns; in no statistic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warmup_ns: Vec<f64>,
    /// Times of the phases of a call, ns, measured apart from `samples_ns`:
    /// `upload`, `launch`, `kernel`, `download` for a GPU.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases_ns: BTreeMap<String, Vec<f64>>,
    /// Own time: the time of all calls minus that of the operations they called, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_ns: Option<f64>,
    /// Recorded calls, at any depth, inside this operation's own calls: each added
    /// the recorder's cost to its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_calls: Option<u64>,
    /// The most memory that a call held in this run, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The energy of calls of this run, if counters report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// The operation's counters by name: the value of one call, the mean over the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
}

impl Run {
    /// Measured calls: exact where the run kept only some of its samples.
    pub fn calls(&self) -> u64 {
        match &self.moments {
            Some(moments) => moments.count(),
            None => self.samples_ns.len() as u64,
        }
    }

    /// Time of all calls, ns: exact where the run kept only some of its samples.
    pub fn total_ns(&self) -> f64 {
        match &self.moments {
            Some(moments) => moments.total(),
            // Not `sum`, which begins at -0.0.
            None => (self.samples_ns.iter()).fold(0.0, |sum, ns| sum + ns),
        }
    }

    /// Own time, ns, if the run has it; else the time of all calls.
    pub fn own_ns(&self) -> f64 {
        self.self_ns.unwrap_or_else(|| self.total_ns())
    }
}

impl Operation {
    /// An operation without samples yet.
    pub fn new(name: impl Into<String>, device: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            device: device.into(),
            ..Self::default()
        }
    }

    /// The key that identifies this operation in its profile.
    pub fn key(&self) -> OperationKey {
        OperationKey {
            name: self.name.clone(),
            device: self.device.clone(),
            size: self.size,
        }
    }

    /// True if a call is a process from its start to its end, as of `breakeven profile -- CMD`.
    pub fn is_process(&self) -> bool {
        self.attributes.contains_key(Self::EXIT_CODES)
    }

    /// The attribute with the exit code of each process, or `signal 9`, of an operation whose calls
    /// are processes.
    pub const EXIT_CODES: &'static str = "exit_codes";

    /// The kept samples of all runs, ns.
    pub fn samples_ns(&self) -> impl Iterator<Item = f64> + '_ {
        self.runs
            .iter()
            .flat_map(|run| run.samples_ns.iter().copied())
    }

    /// The times of one phase in all runs, ns.
    pub fn phase_ns<'a>(&'a self, phase: &'a str) -> impl Iterator<Item = f64> + 'a {
        self.runs
            .iter()
            .filter_map(move |run| run.phases_ns.get(phase))
            .flatten()
            .copied()
    }
}

/// The one that is known, or what `join` makes of both.
fn both<T>(first: Option<T>, second: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (first, second) {
        (Some(first), Some(second)) => Some(join(first, second)),
        (first, second) => first.or(second),
    }
}

impl Profile {
    /// The peak measured for a device.
    pub fn peak(&self, device: &str) -> Option<&Peak> {
        self.evidence
            .peaks
            .iter()
            .find(|peak| peak.device == device)
    }

    /// The GPU of that id.
    pub fn gpu(&self, device: &str) -> Option<&Gpu> {
        self.environment.gpus.iter().find(|gpu| gpu.id == device)
    }
}

// How operations are nested: over all calls as stacks, call by call as a
// timeline.

/// A call path and the time spent on it, over all runs and threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Names of operations from the outermost to the called one.
    pub frames: Vec<String>,
    /// Calls along this path.
    pub calls: u64,
    /// Their time, ns.
    #[serde(deserialize_with = "time::whole")]
    pub total_ns: u64,
    /// Own time: their time minus that of the paths that continue this one, ns.
    #[serde(deserialize_with = "time::whole")]
    pub self_ns: u64,
}

/// Single calls, in the order of time. A bounded ring keeps the latest ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Calls that the ring buffer had no room for.
    #[serde(default)]
    pub dropped: u64,
    /// Names of the threads on which the calls ran.
    #[serde(default)]
    pub threads: Vec<String>,
    /// The calls, ordered by the time at which they began.
    #[serde(default)]
    pub events: Vec<TimelineEvent>,
}

/// One call on a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// The operation's name.
    pub name: String,
    /// The device's id; absent: the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Index into [`Timeline::threads`].
    #[serde(default)]
    pub thread: u64,
    /// From the beginning of recording to the beginning of the call, ns.
    #[serde(deserialize_with = "time::whole")]
    pub start_ns: u64,
    /// Duration, ns.
    #[serde(deserialize_with = "time::whole")]
    pub duration_ns: u64,
    /// The fields that the program set for the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
}

// An operation's samples in figures.

impl Operation {
    /// All runs' samples together, ns. If a run kept only some of its samples, count, total, mean,
    /// deviation, minimum and maximum come from the exact moments, and only the quantiles from the
    /// kept samples.
    ///
    /// # Errors
    ///
    /// [`StatsError`] if there is no sample.
    pub fn summary(&self) -> Result<Summary, StatsError> {
        let samples: Vec<f64> = self.samples_ns().collect();
        let mut summary = Summary::of(&samples)?;
        if self.runs.iter().all(|run| run.moments.is_none()) {
            return Ok(summary);
        }
        let mut exact = Moments::new();
        for run in &self.runs {
            match &run.moments {
                Some(moments) => exact.merge(moments),
                None => exact.merge(&Moments::of(&run.samples_ns)?),
            }
        }
        summary.count = exact.count();
        summary.total = exact.total();
        summary.mean = exact.mean().unwrap_or(summary.mean);
        summary.deviation = exact.deviation();
        summary.min = exact.min().unwrap_or(summary.min);
        summary.max = exact.max().unwrap_or(summary.max);
        summary.cv = exact.cv();
        Ok(summary)
    }

    /// Measured calls of all runs: exact where runs kept only some of their samples.
    pub fn calls(&self) -> u64 {
        sum(self.runs.iter().map(Run::calls))
    }

    /// Peak memory of a call: in any run, else as stated for the operation.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        let most = self.runs.iter().filter_map(|run| run.memory_bytes).max();
        most.or(self.memory_bytes)
    }

    /// Time of all measured calls, ns: exact where runs kept only some of their samples.
    pub fn total_ns(&self) -> f64 {
        (self.runs.iter()).fold(0.0, |sum, run| sum + run.total_ns())
    }

    /// Time of all calls of all runs, ns; minus that of the operations inside, if the runs have it.
    pub fn own_ns(&self) -> f64 {
        (self.runs.iter()).fold(0.0, |sum, run| sum + run.own_ns())
    }

    /// True if more than half of the time was recording: the time then says little about the
    /// operation, which gets no verdict.
    pub fn is_mostly_recording(&self, cost: &RecorderCost) -> bool {
        self.recording_share(cost).is_some_and(|share| share > 0.5)
    }

    /// The fraction of this operation's time that was recording, 0 to 1: of its own calls and of
    /// the recorded calls inside them. `None` without samples.
    pub fn recording_share(&self, cost: &RecorderCost) -> Option<f64> {
        let (total, calls) = (self.total_ns(), self.calls());
        if calls == 0 {
            return None;
        }
        let nested = sum(self.runs.iter().filter_map(|run| run.nested_calls));
        let recording = cost.inside_ns * calls as f64 + cost.guard_ns * nested as f64;
        // Samples of zero length are only recording.
        Some(if total > 0.0 { recording / total } else { 1.0 }.clamp(0.0, 1.0))
    }
}

/// Sums counts; saturates, because a file may have any.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Reads `runs`, or as `samples_ns` the times of the only run.
fn runs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Run>, D::Error> {
    let mut only = Run::default();
    let mut runs = Vec::new();
    for entry in Vec::<Entry>::deserialize(deserializer)? {
        match entry {
            Entry::Run(run) => runs.push(*run),
            Entry::Time(ns) => only.samples_ns.push(ns),
        }
    }
    if !only.samples_ns.is_empty() {
        runs.push(only);
    }
    Ok(runs)
}

enum Entry {
    Run(Box<Run>),
    Time(f64),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time or a run")
            }

            fn visit_i64<E: Error>(self, ns: i64) -> Result<Entry, E> {
                Ok(Entry::Time(ns as f64))
            }

            fn visit_u64<E: Error>(self, ns: u64) -> Result<Entry, E> {
                Ok(Entry::Time(ns as f64))
            }

            fn visit_f64<E: Error>(self, ns: f64) -> Result<Entry, E> {
                Ok(Entry::Time(ns))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let run = Run::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Entry::Run(Box::new(run)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod summary_tests {
    use super::*;

    #[test]
    fn exact_moments_go_before_what_a_reservoir_kept() {
        let all: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let mut operation = Operation::new("f", "cpu");
        operation.runs.push(Run {
            samples_ns: vec![400.0, 500.0, 600.0],
            moments: Some(Moments::of(&all).expect("finite")),
            ..Run::default()
        });
        operation.runs.push(Run {
            samples_ns: vec![2_000.0],
            ..Run::default()
        });
        let summary = operation.summary().expect("there are samples");
        assert_eq!(summary.count, 1_001);
        assert_eq!(summary.total, 502_500.0);
        assert_eq!((summary.min, summary.max), (1.0, 2_000.0));
        assert_eq!(summary.median, 550.0);
        assert_eq!(operation.calls(), 1_001);
        assert_eq!(operation.total_ns(), 502_500.0);
    }

    #[test]
    fn recording_is_a_part_of_the_time() {
        let cost = RecorderCost {
            guard_ns: 30.0,
            inside_ns: 10.0,
        };
        let mut operation = Operation::new("f", "cpu");
        assert_eq!(operation.recording_share(&cost), None);
        operation.runs.push(Run {
            samples_ns: vec![200.0, 200.0],
            nested_calls: Some(6),
            ..Run::default()
        });
        // Two of its own, six inside: 20 + 180 of 400.
        assert_eq!(operation.recording_share(&cost), Some(0.5));
    }

    #[test]
    fn more_calls_than_can_be_counted_are_as_many_as_can() {
        let mut operation = Operation::new("f", "cpu");
        for _ in 0..2 {
            operation.runs.push(Run {
                moments: Moments::of_parts(u64::MAX, 1.0, 0.0, 1.0, 1.0).ok(),
                nested_calls: Some(u64::MAX),
                ..Run::default()
            });
        }
        assert_eq!(operation.calls(), u64::MAX);
        let cost = RecorderCost::default();
        assert_eq!(operation.recording_share(&cost), Some(0.0));
    }

    #[test]
    fn no_sample_is_no_summary() {
        assert!(Operation::new("f", "cpu").summary().is_err());
    }
}
