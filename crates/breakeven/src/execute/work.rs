//! What is done with the tasks of a batch, without their types.

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

/// What a worker looks at before each task.
#[derive(Clone, Copy)]
pub(super) struct StopSign<'e> {
    /// The batch has ended early.
    pub(super) ended: &'e AtomicBool,
    /// Looks at the deadline and the cancellation as well, if nobody else does.
    pub(super) look: Option<&'e dyn Fn() -> bool>,
}

impl StopSign<'_> {
    /// True if nothing more is to begin.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.look.is_some_and(|look| look())
    }
}

/// What became of a span.
#[derive(Debug, PartialEq)]
pub(super) enum Ran {
    /// All tasks have their outputs.
    Done,
    /// A task failed, and the batch with it.
    Failed,
    /// The batch was stopped before these tasks.
    Stopped(Option<Span>),
}

/// What is done on the CPU.
pub(super) trait Work: Sync {
    /// Does the tasks of a span on this thread, until it is to stop.
    fn run(&self, span: Span, stop: StopSign<'_>) -> Ran;

    /// True where a span is one call of a function that takes several tasks: a call costs
    /// something whatever it holds.
    fn is_call(&self) -> bool {
        false
    }

    /// Notes that the tasks of a span were not run, where each has a result of its own.
    fn leave_out(&self, span: Span, why: Stop);

    /// True where all of a batch is best run as one span, which is shared out inside.
    fn is_whole(&self) -> bool {
        false
    }
}

/// What is done on a GPU.
pub(super) trait Lane: Sync {
    fn device(&self) -> Option<&dyn Device>;
    /// Memory that all tasks of the batch take at once.
    fn batch_bytes(&self) -> Option<u64>;
    /// Most tasks of one launch, whatever their memory.
    fn most_tasks(&self) -> Option<usize> {
        None
    }
    fn depth(&self) -> usize;
    /// True where the outputs of one launch of all tasks stay on the device.
    fn keeps_outputs(&self) -> bool {
        false
    }
    fn start<'l>(&'l self, tasks: Range<usize>) -> Result<Box<dyn Flight + 'l>, DeviceError>;
}

/// A launch under way. Dropping it gives it up.
pub(super) trait Flight {
    /// Looks whether the outputs are there; then the time that went into moving data, where
    /// the device tells. Not to be called again after that.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Duration>, DeviceError>>;

    /// Holds the output of a task of the batch against the CPU's function.
    fn check(&self, first: usize, task: usize) -> Result<(), DeviceError>;

    /// Puts the outputs into the slots of the span.
    fn keep(self: Box<Self>, span: Span);
}

/// Whether an output of a GPU is as good as the CPU's; what is asked may fail or panic.
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

/// What moving the data of a launch that ended well took; a panic in asking costs nothing.
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

/// What a panic said. What it carried may panic itself when it is dropped.
pub(super) fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let said = text.unwrap_or("no message").to_owned();
    quietly_dropped(panic);
    said
}

/// Drops a value of the user's; a panic on the way is nobody's.
pub(super) fn quietly_dropped<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // What a panic in a drop carries is not dropped: it could go on for ever.
        std::mem::forget(panic);
    }
}

/// Drops a value of the user's; what a panic on the way said.
pub(super) fn dropped<T>(value: T) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(value))).err()?;
    Some(format!("when dropped: {}", message(panic)))
}

/// Drops outputs one by one, so that a panic costs no other; the place of the first panic, and
/// what it said.
pub(super) fn each_dropped<T>(outputs: Vec<T>) -> Option<(usize, String)> {
    let outputs = outputs.into_iter().enumerate();
    let said = outputs.map(|(place, output)| Some((place, dropped(output)?)));
    said.fold(None, Option::or)
}
