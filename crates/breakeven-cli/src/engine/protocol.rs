//! Messages to and from a worker process: one JSON value per line. Drivers may write to stdout too;
//! lines that are no message are skipped.

use std::path::PathBuf;

use breakeven::execute::recorded_size;
use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven_profile::profile::{Device, Failure, Operation, Profile};
use serde::{Deserialize, Serialize};

use crate::engine::suite::{BatchWorkload, Counted, NoiseWork, Over, Workload};

/// The work of one worker, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) cells: Vec<Cell>,
    pub(crate) warmup: u32,
    pub(crate) iterations: u32,
    /// Time limit after which a kernel gets no further call, or a batch no further execution, ms.
    pub(crate) limit_ms: Option<u64>,
    pub(crate) device_timeout_s: u32,
    /// Devices whose energy is measured in addition to a kernel's times.
    pub(crate) energy: Counted,
}

/// A unit of a worker's work; a failure costs one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cell {
    /// Detect the machine and its GPUs, and how busy it is.
    Detect,
    /// Measure the clock.
    Clock,
    /// Measure a device's peaks.
    Peak { device: String },
    /// Measure a benchmark of constant work, for its noise.
    Noise { work: NoiseWork, for_ms: u64 },
    /// Measure a kernel on a device.
    Kernel {
        kernel: String,
        scale: usize,
        device: String,
    },
    /// Measure a point of a sweep.
    Point(PointCell),
    /// Execute a kernel's batch by a strategy, repeatedly.
    Batch(BatchCell),
}

/// A kernel at one value of the swept quantity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointCell {
    pub(crate) kernel: String,
    pub(crate) over: Over,
    pub(crate) value: u64,
    pub(crate) device: String,
}

/// The attribute of a point's operation that has its value.
pub(crate) const SWEEP_VALUE: &str = "sweep_value";

impl PointCell {
    pub(crate) fn workload(&self) -> Result<Workload, breakeven::Error> {
        let value = usize::try_from(self.value).unwrap_or(usize::MAX);
        Workload::at(&self.kernel, self.over, value)
    }

    /// Marks an operation of that workload as the point's.
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

/// A kernel's batch, and the strategy that executes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchCell {
    pub(crate) kernel: String,
    /// The value of a sweep whose items are the tasks, for the cost model alone; none for the
    /// kernel's default batch.
    pub(crate) item: Option<(Over, u64)>,
    pub(crate) tasks: usize,
    /// The strategy as text.
    pub(crate) strategy: String,
    /// Auto's objective as text, and the file of prices.
    pub(crate) objective: String,
    pub(crate) prices: Option<PathBuf>,
    pub(crate) gpus: BatchGpus,
}

/// The GPUs of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchGpus {
    /// The GPUs with these ids.
    These(Vec<String>),
    /// No GPU is usable; a strategy that needs one gets this text.
    Absent(String),
    /// No GPU is requested.
    Unwanted,
}

impl BatchCell {
    pub(crate) fn workload(&self) -> Result<BatchWorkload, breakeven::Error> {
        let workload = match self.item {
            None => BatchWorkload::new(&self.kernel, 1)?,
            Some((over, value)) => BatchWorkload::at(&self.kernel, over, value)?,
        };
        Ok(workload.with_tasks(self.tasks))
    }

    /// The operation of its executions on `device`.
    pub(crate) fn operation(&self, device: &str) -> Operation {
        Operation {
            size: Some(recorded_size(self.tasks)),
            workload: self.workload().ok().map(|workload| workload.text()),
            ..Operation::new(&self.kernel, device)
        }
    }

    /// The ids of its GPUs.
    pub(crate) fn gpus(&self) -> &[String] {
        match &self.gpus {
            BatchGpus::These(ids) => ids,
            BatchGpus::Absent(_) | BatchGpus::Unwanted => &[],
        }
    }

    /// The devices under which a profile may have its executions: the CPU, GPUs, or both.
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
    /// True if a driver is used, which can hang.
    pub(crate) fn touches_a_driver(&self) -> bool {
        match self {
            Self::Detect => true,
            Self::Batch(batch) => !batch.gpus().is_empty(),
            _ => self.gpu().is_some(),
        }
    }

    /// The operations that it may measure, if known beforehand: several if the device is decided at
    /// run time.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let Self::Batch(batch) = self else {
            return self.operation().into_iter().collect();
        };
        let devices = batch.devices().into_iter();
        devices.map(|device| batch.operation(&device)).collect()
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

    /// The kernel that it measures, and the device on which.
    pub(crate) fn kernel(&self) -> Option<(&str, &str)> {
        match self {
            Self::Kernel { kernel, device, .. } => Some((kernel, device)),
            Self::Point(point) => Some((&point.kernel, &point.device)),
            _ => None,
        }
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

/// The machine, and how busy it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) hardware: HardwareCapabilities,
    pub(crate) load: SystemLoad,
}

/// A worker's messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The cell with this index has begun.
    Begin(usize),
    Machine(Box<Machine>),
    /// All that the cell has measured so far; replaces what it sent before.
    Measured(Box<Profile>),
    /// A note for the user that is no failure.
    Warning(String),
    /// The cost model has learned, and its data outlives the process.
    Learned,
    /// The cell's device lacks what the cell's kernel needs; says what.
    Unsupported(String),
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
