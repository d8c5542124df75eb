//! What a worker process is asked and what it answers: one JSON value a line.
//! Drivers may write to stdout as well; lines that are no message are skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;

use breakeven::execute::recorded_size;
use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven_profile::profile::{Clock, Device, Failure, Operation, Peak, Profile};
use serde::{Deserialize, Serialize};

use crate::engine::suite::{BatchWorkload, Counted, Event, NoiseWork, Over, Workload};

/// The work of one worker, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) cells: Vec<Cell>,
    pub(crate) warmup: u32,
    pub(crate) iterations: u32,
    /// Time after which a kernel gets no further call, ms, if that is limited.
    pub(crate) limit_ms: Option<u64>,
    pub(crate) device_timeout_s: u32,
    /// Whose energy is measured beside a kernel's times, if any is.
    pub(crate) energy: Counted,
}

/// One piece of a worker's work: what a failure costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cell {
    /// Look at the machine and at its GPUs.
    Detect,
    /// See how busy it is.
    Load,
    /// Measure the clock.
    Clock,
    /// Measure a device's peaks.
    Peak { device: String },
    /// Measure a piece of work that always takes as long, for its noise.
    Noise {
        work: NoiseWork,
        for_ms: u64,
        working_set_bytes: u64,
    },
    /// Measure a kernel on a device.
    Kernel {
        kernel: String,
        scale: usize,
        device: String,
    },
    /// Measure a point of a sweep.
    Point(PointCell),
    /// Execute a kernel's batch by a strategy, again and again.
    Batch(BatchCell),
    /// Execute a batch for the cost model alone: the profile gets nothing of it.
    Lesson(BatchCell),
}

/// A kernel at one value of what is swept over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointCell {
    pub(crate) kernel: String,
    pub(crate) over: Over,
    pub(crate) value: u64,
    pub(crate) device: String,
}

/// The attribute of a point's operation that has the value.
pub(crate) const SWEEP_VALUE: &str = "sweep_value";

impl PointCell {
    pub(crate) fn workload(&self) -> Result<Workload, breakeven::Error> {
        let value = usize::try_from(self.value).unwrap_or(usize::MAX);
        Workload::at(&self.kernel, self.over, value)
    }

    /// An operation of that workload as the point's.
    pub(crate) fn mark(&self, operation: &mut Operation) {
        let value = self.value.into();
        operation.attributes.insert(SWEEP_VALUE.to_owned(), value);
    }

    fn operation(&self) -> Option<Operation> {
        let workload = self.workload().ok()?;
        let mut operation = Operation {
            size: Some(workload.size()),
            ..Operation::new(workload.name(), &self.device)
        };
        self.mark(&mut operation);
        Some(operation)
    }
}

/// A kernel's batch, and by what it is executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchCell {
    pub(crate) kernel: String,
    /// Of which workload of a sweep a task is an item; none of the kernel's own batch.
    pub(crate) item: Option<(Over, u64)>,
    pub(crate) tasks: usize,
    /// The strategy as it is printed.
    pub(crate) strategy: String,
    /// What Auto minimises, as it is printed, and the file of prices.
    pub(crate) objective: String,
    pub(crate) prices: Option<PathBuf>,
    pub(crate) gpus: BatchGpus,
}

/// The GPUs of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchGpus {
    /// Those of these ids.
    These(Vec<String>),
    /// There is none to use; what a strategy that wants one is told.
    Absent(String),
    /// None is wanted.
    Unwanted,
}

impl BatchCell {
    pub(crate) fn workload(&self) -> Result<BatchWorkload, breakeven::Error> {
        let workload = match self.item {
            None => BatchWorkload::new(&self.kernel, 1)?,
            Some((over, value)) => {
                let value = usize::try_from(value).unwrap_or(usize::MAX);
                BatchWorkload::at(&self.kernel, over, value)?
            }
        };
        Ok(workload.with_tasks(self.tasks))
    }

    /// The size that a profile has its executions under.
    pub(crate) fn size(&self) -> u64 {
        recorded_size(self.tasks)
    }

    /// The ids of its GPUs.
    pub(crate) fn gpus(&self) -> &[String] {
        match &self.gpus {
            BatchGpus::These(ids) => ids,
            BatchGpus::Absent(_) | BatchGpus::Unwanted => &[],
        }
    }

    /// The devices that a profile may have its executions under: the CPU, GPUs, or both.
    pub(crate) fn devices(&self) -> Vec<String> {
        let all = std::iter::once(Device::CPU).chain(self.gpus().iter().map(String::as_str));
        all.fold(Vec::new(), |some: Vec<String>, device| {
            let beside = some.iter().map(|some| format!("{some}+{device}"));
            let with = std::iter::once(device.to_owned()).chain(beside);
            some.iter().cloned().chain(with).collect()
        })
    }
}

impl Cell {
    /// True where a driver is at work, which can hang.
    pub(crate) fn touches_a_driver(&self) -> bool {
        match self {
            Self::Detect | Self::Load => true,
            Self::Batch(batch) | Self::Lesson(batch) => !batch.gpus().is_empty(),
            _ => self.gpu().is_some(),
        }
    }

    /// The operations that it may measure, as far as they are known beforehand:
    /// more than one where it is decided meanwhile on which device it runs.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let Self::Batch(batch) = self else {
            return self.operation().into_iter().collect();
        };
        let devices = batch.devices().into_iter();
        let operations = devices.map(|device| Operation {
            size: Some(batch.size()),
            ..Operation::new(&batch.kernel, device)
        });
        operations.collect()
    }

    /// The operation that a kernel's measurement fills.
    pub(crate) fn operation(&self) -> Option<Operation> {
        let (kernel, scale, device) = match self {
            Self::Point(point) => return point.operation(),
            Self::Noise { work, .. } => return Some(Operation::new(work.name(), Device::CPU)),
            Self::Kernel {
                kernel,
                scale,
                device,
            } => (kernel, scale, device),
            _ => return None,
        };
        Some(Operation {
            size: (Workload::new(kernel, *scale).ok()).map(|workload| workload.size()),
            ..Operation::new(kernel, device)
        })
    }

    /// The GPU that it measures.
    pub(crate) fn gpu(&self) -> Option<&str> {
        match self {
            Self::Peak { device } | Self::Kernel { device, .. } if device != Device::CPU => {
                Some(device)
            }
            Self::Point(PointCell { device, .. }) if device != Device::CPU => Some(device),
            _ => None,
        }
    }
}

/// What a worker tells, as it happens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The cell of that index has begun.
    Begin(usize),
    Hardware(Box<HardwareCapabilities>),
    Load(Box<SystemLoad>),
    Clock(Clock),
    Peak(Box<Peak>),
    /// An operation that is about to be measured, without samples.
    Operation(Box<Operation>),
    /// Where kernel times of the cell's device come from.
    KernelClock(String),
    Event(Event),
    /// A batch was executed.
    Execution(Box<Execution>),
    /// What the recorder has of the measured executions of the cell's batch until now.
    Recorded(Box<Profile>),
    /// What a person should know, and which makes nothing fail.
    Warning(String),
    /// Whether what was learned outlives the process.
    Learned {
        kept: bool,
    },
    /// The cell failed; the worker ends, so that the next cell has a fresh process.
    Failed(Failure),
    /// The cell is done.
    End,
}

impl Message {
    pub(crate) fn failed(kind: impl ToString, message: impl Into<String>) -> Self {
        Self::Failed(Failure {
            kind: kind.to_string(),
            message: message.into(),
        })
    }
}

/// An execution of a batch, in short.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Execution {
    /// Its time is in no statistic.
    pub(crate) warm_up: bool,
    /// Where it ran, as a profile names it.
    pub(crate) device: String,
    pub(crate) ns: u64,
    /// By what it was decided, in a word.
    pub(crate) decided_by: String,
    /// What was decided.
    pub(crate) strategy: String,
    pub(crate) predicted_ns: Option<f64>,
    /// Why, in a sentence.
    pub(crate) why: String,
    /// Tasks that GPUs did.
    pub(crate) gpu_tasks: u64,
    /// Tasks by the device that did them, where there are several GPUs.
    pub(crate) device_tasks: BTreeMap<String, u64>,
    /// What GPUs failed at, or why they were left out.
    pub(crate) failures: Vec<GpuFailure>,
}

/// A GPU that failed in an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GpuFailure {
    /// Its id; none where there was none to use.
    pub(crate) device: Option<String>,
    /// What it reported first.
    pub(crate) error: Failure,
    /// Tasks that the CPU did in its place.
    pub(crate) tasks: u64,
}
