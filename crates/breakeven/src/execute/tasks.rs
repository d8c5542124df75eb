//! The tasks of a batch with their types: the one place where a batch is generic.

use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use super::control::Verify;
use super::result::{Stop, TaskError};
use super::slots::{Parts, Slots, Writer};
use super::work::{
    Flight, Lane, Ran, StopSign, Work, agreed, each_dropped, message, moved, quietly_dropped, wrong,
};
use crate::device::{Device, GpuExecutor};
use crate::error::DeviceError;
use crate::locked;
use crate::schedule::Span;

/// What happens to a task's result.
pub(super) trait Keep<T, E>: Sync {
    /// The final content of a task's slot.
    type Kept: Send;

    /// Returns what to keep; an error ends the batch.
    fn keep(result: Result<T, TaskError<E>>) -> Result<Self::Kept, TaskError<E>>;
}

/// The first error ends the batch.
pub(super) struct FailFast;

impl<T: Send, E> Keep<T, E> for FailFast {
    type Kept = T;

    fn keep(result: Result<T, TaskError<E>>) -> Result<T, TaskError<E>> {
        result
    }
}

/// Every task has its own result.
pub(super) struct EachTask;

impl<T: Send, E: Send> Keep<T, E> for EachTask {
    type Kept = Result<T, TaskError<E>>;

    fn keep(result: Result<T, TaskError<E>>) -> Result<Self::Kept, TaskError<E>> {
        Ok(result)
    }
}

/// Runs tasks on the CPU.
pub(super) trait Function<I, T, E>: Sync {
    /// It takes several tasks a call.
    const IS_CALL: bool;

    /// Runs tasks and writes their results, in order, until one ends the batch or the batch is
    /// stopped; then returns false.
    fn run<K: Keep<T, E>>(
        &self,
        tasks: &[I],
        stop: StopSign<'_>,
        writer: &mut Writer<'_, K::Kept>,
    ) -> Result<bool, TaskError<E>>;

    /// Runs one task.
    fn one(&self, task: &I) -> Result<T, TaskError<E>>;
}

/// One task a call.
impl<I, T, E, F: Fn(&I) -> Result<T, E> + Sync> Function<I, T, E> for F {
    const IS_CALL: bool = false;

    fn run<K: Keep<T, E>>(
        &self,
        tasks: &[I],
        stop: StopSign<'_>,
        writer: &mut Writer<'_, K::Kept>,
    ) -> Result<bool, TaskError<E>> {
        writer.fill(tasks, |task| {
            if stop.is_set() {
                return Ok(None);
            }
            K::keep(self(task).map_err(TaskError::Failed)).map(Some)
        })
    }

    fn one(&self, task: &I) -> Result<T, TaskError<E>> {
        self(task).map_err(TaskError::Failed)
    }
}

/// Several tasks a call.
pub(super) struct Batched<F>(pub(super) F);

impl<I, T, E, F: Fn(&[I]) -> Result<Vec<T>, E> + Sync> Function<I, T, E> for Batched<F> {
    const IS_CALL: bool = true;

    fn run<K: Keep<T, E>>(
        &self,
        tasks: &[I],
        stop: StopSign<'_>,
        writer: &mut Writer<'_, K::Kept>,
    ) -> Result<bool, TaskError<E>> {
        if stop.is_set() {
            return Ok(false);
        }
        let outputs = (self.0)(tasks).map_err(TaskError::Failed)?;
        let (found, tasks) = (outputs.len(), tasks.len());
        if found != tasks {
            each_dropped(outputs);
            return Err(TaskError::WrongCount { found, tasks });
        }
        for output in outputs {
            writer.push(K::keep(Ok(output))?);
        }
        Ok(true)
    }

    fn one(&self, task: &I) -> Result<T, TaskError<E>> {
        let mut outputs = (self.0)(std::slice::from_ref(task)).map_err(TaskError::Failed)?;
        let found = outputs.len();
        let output = outputs.pop().filter(|_| found == 1);
        output.ok_or(TaskError::WrongCount { found, tasks: 1 })
    }
}

/// The tasks of a batch, their function, and where their outputs go.
pub(super) struct Tasks<'b, I, T, E, F, K: Keep<T, E>> {
    pub(super) tasks: &'b [I],
    pub(super) function: &'b F,
    pub(super) slots: Slots<K::Kept>,
    /// The first task of the batch, among those observed, that failed.
    failed: Mutex<Option<(usize, TaskError<E>)>>,
    output: PhantomData<fn() -> T>,
}

impl<'b, I, T, E, F, K: Keep<T, E>> Tasks<'b, I, T, E, F, K> {
    pub(super) fn new(tasks: &'b [I], function: &'b F, slots: Slots<K::Kept>) -> Self {
        Self {
            tasks,
            function,
            slots,
            failed: Mutex::new(None),
            output: PhantomData,
        }
    }

    pub(super) fn into_parts(self) -> Parts<K::Kept, E> {
        (locked(&self.failed).take(), self.slots.into_outputs())
    }
}

/// Keeps the error of the first task of the batch, among those observed, that failed.
pub(super) fn first_of<E>(
    failed: &Mutex<Option<(usize, TaskError<E>)>>,
    index: usize,
    error: TaskError<E>,
) {
    let mut failed = locked(failed);
    match &*failed {
        Some((before, _)) if *before <= index => quietly_dropped(error),
        _ => quietly_dropped(failed.replace((index, error))),
    }
}

impl<I, T, E, F, K> Work for Tasks<'_, I, T, E, F, K>
where
    I: Sync,
    E: Send,
    F: Function<I, T, E>,
    K: Keep<T, E>,
{
    fn run(&self, span: Span, stop: StopSign<'_>) -> Ran {
        let end = span.range().end;
        let mut writer = self.slots.writer(span);
        loop {
            let tasks = &self.tasks[writer.next()..end];
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                self.function.run::<K>(tasks, stop, &mut writer)
            }));
            let error = match outcome {
                Ok(Ok(true)) => {
                    writer.finish();
                    return Ran::Done;
                }
                Ok(Ok(false)) => return Ran::Stopped(writer.finish()),
                Ok(Err(error)) => error,
                Err(panic) => match K::keep(Err(TaskError::Panicked(message(panic)))) {
                    Ok(kept) => {
                        writer.push(kept);
                        continue;
                    }
                    Err(error) => error,
                },
            };
            first_of(&self.failed, writer.next(), error);
            return Ran::Failed;
        }
    }

    fn is_call(&self) -> bool {
        F::IS_CALL
    }

    fn leave_out(&self, span: Span, why: Stop) {
        let tasks = span.len();
        let mut writer = self.slots.writer(span);
        for _ in 0..tasks {
            match K::keep(Err(TaskError::NotRun(why))) {
                Ok(kept) => writer.push(kept),
                Err(_) => return,
            }
        }
        writer.finish();
    }
}

/// A GPU and the tasks that it may get.
pub(super) struct GpuLane<'b, I, T, E, F, K: Keep<T, E>, G, V> {
    pub(super) work: &'b Tasks<'b, I, T, E, F, K>,
    pub(super) gpu: &'b G,
    pub(super) verify: &'b V,
}

impl<I, T, E, F, K, G, V> Lane for GpuLane<'_, I, T, E, F, K, G, V>
where
    I: Sync,
    E: Send,
    F: Function<I, T, E>,
    K: Keep<T, E>,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    fn device(&self) -> Option<&dyn Device> {
        self.gpu.device()
    }

    fn batch_bytes(&self) -> Option<u64> {
        self.gpu.batch_bytes(self.work.tasks)
    }

    fn most_tasks(&self) -> Option<usize> {
        self.gpu.most_tasks()
    }

    fn depth(&self) -> usize {
        self.gpu.depth()
    }

    fn start<'l>(&'l self, tasks: Range<usize>) -> Result<Box<dyn Flight + 'l>, DeviceError> {
        let future = self.gpu.start(&self.work.tasks[tasks.clone()])?;
        Ok(Box::new(TypedFlight {
            lane: self,
            tasks: tasks.len(),
            future: Some(Box::pin(future)),
            outputs: Vec::new(),
        }))
    }
}

struct TypedFlight<'l, 'b, I, T, E, F, K: Keep<T, E>, G: GpuExecutor<I, T>, V> {
    lane: &'l GpuLane<'b, I, T, E, F, K, G, V>,
    tasks: usize,
    /// None once the outputs are available.
    future: Option<Pin<Box<G::Flight>>>,
    outputs: Vec<T>,
}

impl<I, T, E, F, K: Keep<T, E>, G: GpuExecutor<I, T>, V> Drop
    for TypedFlight<'_, '_, I, T, E, F, K, G, V>
{
    fn drop(&mut self) {
        each_dropped(std::mem::take(&mut self.outputs));
    }
}

impl<I, T, E, F, K, G, V> Flight for TypedFlight<'_, '_, I, T, E, F, K, G, V>
where
    I: Sync,
    E: Send,
    F: Function<I, T, E>,
    K: Keep<T, E>,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Duration>, DeviceError>> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(Ok(None));
        };
        let outcome = std::task::ready!(future.as_mut().poll(context));
        let moved = moved(&outcome, || self.lane.gpu.transfer_time(future));
        self.future = None;
        self.outputs = outcome?;
        let (found, tasks) = (self.outputs.len(), self.tasks);
        Poll::Ready(match found == tasks {
            true => Ok(moved),
            false => Err(wrong(format!("{found} outputs of {tasks} tasks"))),
        })
    }

    fn check(&self, first: usize, task: usize) -> Result<(), DeviceError> {
        let work = self.lane.work;
        agreed(task, || {
            let expected = work.function.one(&work.tasks[task])?;
            let agrees = self
                .lane
                .verify
                .agree(&self.outputs[task - first], &expected);
            quietly_dropped(expected);
            Ok::<_, TaskError<E>>(agrees)
        })
    }

    fn keep(mut self: Box<Self>, span: Span) {
        let mut writer = self.lane.work.slots.writer(span);
        for output in std::mem::take(&mut self.outputs) {
            // A result that is available is kept, whatever `keep` does with errors.
            if let Ok(kept) = K::keep(Ok(output)) {
                writer.push(kept);
            }
        }
        writer.finish();
    }
}
