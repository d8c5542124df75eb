//! The result of an execution.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

use crate::error::{DeviceError, Error};
use crate::plan::{Decision, ExecutionStrategy};

/// All outputs of a batch, and how they were computed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExecutionResult<T> {
    /// One per task, in the order of the tasks.
    pub outputs: Vec<T>,
    /// The strategy that the execution amounted to: where tasks actually ran, with the actual
    /// shares.
    pub strategy_used: ExecutionStrategy,
    /// From the call to the last output.
    pub execution_time: Duration,
    /// True if tasks fell back from a GPU to the CPU.
    pub fallback_occurred: bool,
    /// The first sixteen errors of devices.
    pub errors: Vec<DeviceError>,
    /// The CPU's share.
    pub cpu: Share,
    /// The GPUs' share together.
    pub gpu: Share,
    /// The share of each GPU; empty if none was to take part.
    pub gpus: Vec<DeviceShare>,
    /// GPUs that could not be used, and why.
    pub left_out: Vec<LeftOut>,
    /// The tasks that failed on GPUs.
    pub fallback: Fallback,
    /// Outputs of the GPU that were compared with the CPU's function.
    pub checked: usize,
    /// Tasks that the CPU took back from launches that were overdue, when all other work was done.
    /// Not a fallback: nothing failed.
    pub recalled: usize,
    /// The operation's name.
    pub operation: String,
    /// Tasks of the batch, or items of the operator.
    pub tasks: usize,
    /// The decision and its reasons.
    pub decision: Box<Decision>,
}

/// The share of one GPU, and its failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceShare {
    /// Its name.
    pub device: String,
    /// Its share.
    pub share: Share,
    /// Tasks that fell back from it to the CPU.
    pub fallback_tasks: usize,
    /// Its errors, if among the first sixteen of the batch.
    pub errors: Vec<DeviceError>,
}

/// A GPU that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub device: String,
    /// Why: for example, in quarantine and until when.
    pub why: DeviceError,
}

/// What one side ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Share {
    /// Tasks whose outputs it computed. An item of a chain that runs in groups of stages counts
    /// once for each stage.
    pub tasks: usize,
    /// Spans of a CPU worker, or launches of a GPU.
    pub spans: usize,
    /// Busy time; for a CPU, summed over its workers.
    pub busy: Duration,
}

impl Share {
    pub(super) fn add(&mut self, tasks: usize, busy: Duration) {
        self.tasks += tasks;
        self.spans += 1;
        self.busy += busy;
    }

    /// Adds two shares.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            spans: self.spans + other.spans,
            busy: self.busy + other.busy,
        }
    }
}

/// The tasks that failed on GPUs and fell back to the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Fallback {
    /// Tasks that fell back to the CPU.
    pub tasks: usize,
    /// Launches that failed, permanently or for lack of memory.
    pub failed_spans: usize,
    /// Time from the first error to the CPU's first task that fell back.
    pub delay: Option<Duration>,
    /// Tasks that fitted one launch after a larger one ran out of memory.
    pub fits: Option<usize>,
}

impl<T> ExecutionResult<T> {
    /// Returns the name of its devices in a profile: `cpu`, a GPU's name, or several joined with
    /// `+`, by where its tasks ran.
    pub fn ran_on(&self) -> String {
        let gpus = self.gpus.iter().filter(|gpu| gpu.share.tasks > 0);
        ran_on(self.cpu.tasks > 0, gpus.map(|gpu| gpu.device.as_str())).into_owned()
    }

    /// Returns the outputs, and everything else known about the execution.
    pub fn into_outputs(mut self) -> (Vec<T>, ExecutionResult<()>) {
        let outputs = std::mem::take(&mut self.outputs);
        (outputs, self.with_outputs(Vec::new()))
    }

    /// Replaces the outputs.
    pub(super) fn with_outputs<U>(self, outputs: Vec<U>) -> ExecutionResult<U> {
        ExecutionResult {
            outputs,
            strategy_used: self.strategy_used,
            execution_time: self.execution_time,
            fallback_occurred: self.fallback_occurred,
            errors: self.errors,
            cpu: self.cpu,
            gpu: self.gpu,
            gpus: self.gpus,
            left_out: self.left_out,
            fallback: self.fallback,
            checked: self.checked,
            recalled: self.recalled,
            operation: self.operation,
            tasks: self.tasks,
            decision: self.decision,
        }
    }

    /// Returns the fraction of the tasks that fell back, 0 to 1.
    pub fn fallback_part(&self) -> f64 {
        let done = self.cpu.tasks + self.gpu.tasks;
        self.fallback.tasks as f64 / done.max(1) as f64
    }
}

/// Names the devices that tasks ran on; `cpu` for none.
pub(super) fn ran_on<'g>(on_cpu: bool, gpus: impl Iterator<Item = &'g str>) -> Cow<'g, str> {
    let mut devices = on_cpu.then_some("cpu").into_iter().chain(gpus);
    let first = devices.next().unwrap_or("cpu");
    devices.fold(Cow::Borrowed(first), |all, device| {
        Cow::Owned(format!("{all}+{device}"))
    })
}

/// Why one task has no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskError<E> {
    /// Its function returned an error.
    #[error("{0}")]
    Failed(#[source] E),
    /// Its function panicked, or its output when that was dropped, with this message.
    #[error("panicked: {0}")]
    Panicked(String),
    /// Its function, which runs several tasks a call, returned too many or too few outputs.
    #[error("{found} outputs of {tasks} tasks")]
    WrongCount {
        /// Outputs that it returned.
        found: usize,
        /// Tasks that it got.
        tasks: usize,
    },
    /// It was not run.
    #[error("not run: {0}")]
    NotRun(Stop),
}

/// Why an execution ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// Its [`CancelToken`](super::CancelToken) was used.
    #[error("it was cancelled")]
    Cancelled,
    /// Its deadline passed.
    #[error("its deadline passed")]
    Deadline,
}

/// Why a batch has no outputs.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecuteError<E> {
    /// A task failed; of several, the first in the batch.
    #[error("task {index}: {error}")]
    Task {
        /// Its index in the batch.
        index: usize,
        /// How it failed.
        #[source]
        error: TaskError<E>,
    },
    /// The device failed, and the policy does not let the CPU take over (any more).
    #[error("{error}; the fallback policy does not let the CPU do {fallen} of {tasks} tasks")]
    Device {
        /// The error that exceeded the policy.
        #[source]
        error: DeviceError,
        /// Tasks that had fallen back, including those of this error.
        fallen: usize,
        /// Tasks in the batch.
        tasks: usize,
    },
    /// It was stopped. `execute_each` keeps what was done.
    #[error("stopped after {done} of {tasks} tasks: {why}")]
    Stopped {
        /// Why.
        why: Stop,
        /// Tasks that were done.
        done: usize,
        /// Tasks in the batch.
        tasks: usize,
    },
    /// The request is invalid.
    #[error("{0}")]
    Invalid(#[from] Error),
}
