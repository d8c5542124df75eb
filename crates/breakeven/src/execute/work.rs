//! The work on the tasks of a batch, without their types.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use super::result::Stop;
use crate::device::Device;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::schedule::Span;

/// What a worker checks before each task.
#[derive(Clone, Copy)]
pub(super) struct StopSign<'e> {
    /// The batch has ended early.
    pub(super) ended: &'e AtomicBool,
    /// Checks the deadline and the cancellation as well, if no other thread does.
    pub(super) look: Option<&'e dyn Fn() -> bool>,
}

impl StopSign<'_> {
    /// Returns true if nothing more may begin.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.look.is_some_and(|look| look())
    }
}

/// The outcome of a span.
#[derive(Debug, PartialEq)]
pub(super) enum Ran {
    /// All tasks have their outputs.
    Done,
    /// A task failed, and so the batch.
    Failed,
    /// The batch was stopped before these tasks.
    Stopped(Option<Span>),
}

/// Work on the CPU.
pub(super) trait Work: Sync {
    /// Runs the tasks of a span on this thread, until it must stop.
    fn run(&self, span: Span, stop: StopSign<'_>) -> Ran;

    /// Returns true if a span is one call of a function that takes several tasks and has a fixed
    /// cost.
    fn is_call(&self) -> bool {
        false
    }

    /// Records that the tasks of a span were not run, if each has its own result.
    fn leave_out(&self, span: Span, why: Stop);

    /// Returns true if a batch is best run as one span, which is divided internally.
    fn is_whole(&self) -> bool {
        false
    }
}

/// Work on a GPU.
pub(super) trait Lane: Sync {
    fn device(&self) -> Option<&dyn Device>;
    /// Returns the memory of all tasks of the batch together.
    fn batch_bytes(&self) -> Option<u64>;
    /// Returns the most tasks of one launch, whatever their memory.
    fn most_tasks(&self) -> Option<usize> {
        None
    }
    fn depth(&self) -> usize;
    /// Returns true if the outputs of one launch of all tasks stay on the device.
    fn keeps_outputs(&self) -> bool {
        false
    }
    fn start<'l>(&'l self, tasks: Range<usize>) -> Result<Box<dyn Flight + 'l>, DeviceError>;
}

/// A launch in flight. Dropping it abandons it.
pub(super) trait Flight {
    /// Polls for the outputs. When they are available, returns the transfer time, if the device
    /// reports it; it must not be called again after that.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Duration>, DeviceError>>;

    /// Compares the output of a task of the batch with the CPU's function.
    fn check(&self, first: usize, task: usize) -> Result<(), DeviceError>;

    /// Puts the outputs into the slots of the span.
    fn keep(self: Box<Self>, span: Span);
}

/// Returns whether an output of a GPU is as good as the CPU's; the user's check may fail or panic.
pub(super) fn agreed<E>(
    task: usize,
    agrees: impl FnOnce() -> Result<bool, E>,
) -> Result<(), DeviceError> {
    match catch_unwind(AssertUnwindSafe(agrees)) {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(wrong(format!("the output of task {task} is not the CPU's"))),
        failed => {
            match failed {
                Ok(error) => quietly_dropped(error),
                Err(panic) => _ = message(panic),
            }
            let what = format!("an output of task {task}, which fails on the CPU");
            Err(wrong(what))
        }
    }
}

/// Runs device code: a panic in it becomes an error.
pub(super) fn caught<R>(call: impl FnOnce() -> Result<R, DeviceError>) -> Result<R, DeviceError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(DeviceError::new(DeviceErrorKind::Panic, message(panic))))
}

/// Returns the transfer time of a successful launch; a panic in the call is ignored.
pub(super) fn moved<T>(
    outcome: &Result<T, DeviceError>,
    transfer_time: impl FnOnce() -> Option<Duration>,
) -> Option<Duration> {
    outcome.as_ref().ok()?;
    caught(|| Ok(transfer_time())).ok()?
}

pub(super) fn wrong(message: String) -> DeviceError {
    DeviceError::new(DeviceErrorKind::WrongResult, message)
}

/// Returns the message of a panic. Its payload may itself panic when it is dropped.
pub(super) fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let said = text.unwrap_or("no message").to_owned();
    quietly_dropped(panic);
    said
}

/// Drops a value of the user's; ignores a panic.
pub(super) fn quietly_dropped<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The payload of a panic in a drop is not dropped: it could panic endlessly.
        std::mem::forget(panic);
    }
}

/// Drops a value of the user's; returns the message of a panic.
pub(super) fn dropped<T>(value: T) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(value))).err()?;
    Some(format!("when dropped: {}", message(panic)))
}

/// Drops outputs one by one, so that a panic does not affect the remaining ones; returns the index
/// of the first panic, and its message.
pub(super) fn each_dropped<T>(outputs: Vec<T>) -> Option<(usize, String)> {
    let outputs = outputs.into_iter().enumerate();
    let said = outputs.map(|(place, output)| Some((place, dropped(output)?)));
    said.fold(None, Option::or)
}
