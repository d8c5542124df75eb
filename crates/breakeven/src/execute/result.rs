//! What came of an execution.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

use crate::error::{DeviceError, Error};
use crate::plan::{Decision, ExecutionStrategy};

/// All outputs of a batch, and how they came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExecutionResult<T> {
    /// One per task, in the order of the tasks.
    pub outputs: Vec<T>,
    /// What it amounted to: where tasks really ran, with the shares that the
    /// devices really did.
    pub strategy_used: ExecutionStrategy,
    /// From the call to the last output.
    pub execution_time: Duration,
    /// True where the CPU did tasks that the GPU was to do and failed at.
    pub fallback_occurred: bool,
    /// What the device reported, the first sixteen.
    pub errors: Vec<DeviceError>,
    /// What the CPU did.
    pub cpu: Share,
    /// What the GPUs did together.
    pub gpu: Share,
    /// What each GPU did; none of them where none was to take part.
    pub gpus: Vec<DeviceShare>,
    /// GPUs that could not be used, and why.
    pub left_out: Vec<LeftOut>,
    /// What the GPUs failed at.
    pub fallback: Fallback,
    /// Outputs of the GPU that were held against the CPU's function.
    pub checked: usize,
    /// Tasks that the CPU took back from launches which had taken longer than it
    /// needed for them, when all else was done. No fallback: nothing failed.
    pub recalled: usize,
    /// The operation's name.
    pub operation: String,
    /// Tasks of the batch, or items of the operator's.
    pub tasks: usize,
    /// What was decided before, and why.
    pub decision: Box<Decision>,
}

/// What one GPU did, and what it failed at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceShare {
    /// Its name.
    pub device: String,
    /// What it did.
    pub share: Share,
    /// Tasks that the CPU did in its place.
    pub fallback_tasks: usize,
    /// What it reported, as far as that is among the first sixteen of the batch.
    pub errors: Vec<DeviceError>,
}

/// A GPU that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub device: String,
    /// Why: it is in quarantine, say, and until when.
    pub why: DeviceError,
}

/// What one side did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Share {
    /// Tasks whose outputs are its. An item of a chain that runs in parts counts once for
    /// each of its stages.
    pub tasks: usize,
    /// Spans: pieces of work of a CPU worker, launches of a GPU.
    pub spans: usize,
    /// Time at work: summed over the workers of a CPU.
    pub busy: Duration,
}

impl Share {
    pub(super) fn add(&mut self, tasks: usize, busy: Duration) {
        self.tasks += tasks;
        self.spans += 1;
        self.busy += busy;
    }

    /// What two sides, or one twice, did together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            spans: self.spans + other.spans,
            busy: self.busy + other.busy,
        }
    }
}

/// What the GPUs failed at and the CPU did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Fallback {
    /// Tasks that the CPU did in the GPU's place.
    pub tasks: usize,
    /// Launches that failed: for good, or for lack of memory.
    pub failed_spans: usize,
    /// From the first error to the CPU's first task in the GPU's place.
    pub delay: Option<Duration>,
    /// Tasks that fitted one launch, after memory had not sufficed for more.
    pub fits: Option<usize>,
}

impl<T> ExecutionResult<T> {
    /// Where a profile has this execution: `cpu`, a GPU's name, or several with `+`
    /// between them, by where its tasks ran.
    pub fn ran_on(&self) -> String {
        let gpus = self.gpus.iter().filter(|gpu| gpu.share.tasks > 0);
        ran_on(self.cpu.tasks > 0, gpus.map(|gpu| gpu.device.as_str())).into_owned()
    }

    /// The outputs, and all else that is known of the execution.
    pub fn into_outputs(mut self) -> (Vec<T>, ExecutionResult<()>) {
        let outputs = std::mem::take(&mut self.outputs);
        (outputs, self.with_outputs(Vec::new()))
    }

    /// The same of other outputs.
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

    /// Part of the tasks that fell back, 0 to 1.
    pub fn fallback_part(&self) -> f64 {
        let done = self.cpu.tasks + self.gpu.tasks;
        self.fallback.tasks as f64 / done.max(1) as f64
    }
}

/// The devices that tasks ran on, in a word; `cpu` for none.
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
    /// Its function, which does several tasks a call, gave too many or too few outputs.
    #[error("{found} outputs of {tasks} tasks")]
    WrongCount {
        /// Outputs that it gave.
        found: usize,
        /// Tasks that it was given.
        tasks: usize,
    },
    /// It was not run any more.
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
    /// A task failed; of those that did, the first in the batch.
    #[error("task {index}: {error}")]
    Task {
        /// Its place in the batch.
        index: usize,
        /// How it failed.
        #[source]
        error: TaskError<E>,
    },
    /// The device failed, and the policy does not let the CPU take over (any more).
    #[error("{error}; the fallback policy does not let the CPU do {fallen} of {tasks} tasks")]
    Device {
        /// The error that was one too many.
        #[source]
        error: DeviceError,
        /// Tasks that had fallen back, with those of this error.
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
    /// What was asked for cannot be done.
    #[error("{0}")]
    Invalid(#[from] Error),
}
