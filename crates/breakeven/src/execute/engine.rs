//! Runs one batch: threads around a schedule, a queue and slots.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::control::CancelToken;
use super::executor::{CpuExecutor, Leaf};
use super::portion::{Portion, RunSpan};
use super::result::{Stop, TaskError};
use super::schedule::{Ns, Schedule};
use super::slots::Slots;
use super::spans::Span;
use super::tally::Tally;
use crate::error::{DeviceError, Error};

/// What becomes of a task's result.
pub(super) trait Keep<T, E>: Sync {
    /// What is in a task's slot in the end.
    type Kept: Send;

    /// What to keep; an error ends the batch.
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

/// Every task has a result of its own.
pub(super) struct EachTask;

impl<T: Send, E: Send> Keep<T, E> for EachTask {
    type Kept = Result<T, TaskError<E>>;

    fn keep(result: Result<T, TaskError<E>>) -> Result<Self::Kept, TaskError<E>> {
        Ok(result)
    }
}

/// When a batch is to end before it is done, and who wants to know how far it is.
#[derive(Clone, Copy, Default)]
pub(super) struct Watch<'w> {
    pub(super) cancel: Option<&'w CancelToken>,
    pub(super) deadline: Option<Instant>,
    pub(super) progress: Option<&'w (dyn Fn(usize, usize) + Sync)>,
}

impl Watch<'_> {
    pub(super) fn is_set(&self) -> bool {
        self.cancel.is_some() || self.deadline.is_some() || self.progress.is_some()
    }
}

/// Why a batch ended before it was done.
#[derive(Debug)]
pub(super) enum Ending<E> {
    /// A task failed.
    Task(usize, TaskError<E>),
    /// Somebody stopped it.
    Stopped(Stop),
    /// The device failed, and the CPU may not take over.
    Device(DeviceError),
    /// Something that cannot be, such as a progress function that panics.
    Invalid(Error),
}

/// How a batch ended.
pub(super) struct Outcome<T, E> {
    pub(super) outputs: Result<Vec<T>, Ending<E>>,
    pub(super) tally: Tally,
    /// Tasks that have their output.
    pub(super) done: usize,
}

/// One batch while it runs.
pub(super) struct Engine<'b, I, T, E, F, K: Keep<T, E>> {
    pub(super) tasks: &'b [I],
    pub(super) function: &'b F,
    pub(super) schedule: Schedule,
    pub(super) slots: Slots<K::Kept>,
    pub(super) watch: Watch<'b>,
    pub(super) tally: Tally,
    pub(super) started: Instant,
    /// The batch has ended early: nobody takes anything any more.
    is_over: AtomicBool,
    ending: Mutex<Option<Ending<E>>>,
    done: AtomicUsize,
    /// When the device failed first, ns since the start; 0 where it did not.
    pub(super) failed_at: AtomicU64,
    /// The driver's thread, to be woken when nothing is left.
    pub(super) driver: OnceLock<Thread>,
    output: PhantomData<fn() -> T>,
}

impl<'b, I, T, E, F, K> Engine<'b, I, T, E, F, K>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
{
    pub(super) fn new(
        tasks: &'b [I],
        function: &'b F,
        schedule: Schedule,
        slots: Slots<K::Kept>,
        watch: Watch<'b>,
        started: Instant,
    ) -> Self {
        Self {
            tasks,
            function,
            schedule,
            slots,
            watch,
            tally: Tally::default(),
            started,
            is_over: AtomicBool::new(false),
            ending: Mutex::new(None),
            done: AtomicUsize::new(0),
            failed_at: AtomicU64::new(0),
            driver: OnceLock::new(),
            output: PhantomData,
        }
    }

    /// Time since the batch began.
    pub(super) fn now(&self) -> Ns {
        self.started.elapsed().as_nanos() as f64
    }

    /// Tasks that have their output.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// All of it on the workers, without a look at a clock or a queue between.
    pub(super) fn run_straight(&self, cpu: &impl CpuExecutor) {
        if let Some(all) = self.schedule.spans().take_back(|left| left.len()) {
            cpu.all(Portion::new(all, self));
        }
        self.finish(cpu);
    }

    /// What is left when all have stopped: spans that were given back at the
    /// very end, or that an executor lost.
    pub(super) fn finish(&self, cpu: &impl CpuExecutor) {
        self.schedule.gpu_is_gone();
        while !self.is_over() && !self.schedule.is_empty() {
            let before = self.done();
            cpu.run(&|| self.leaf(), &mut |wake| wake());
            if self.done() == before {
                while self.leaf() == Leaf::Busy {}
            }
        }
    }

    /// A worker's turn: one span.
    pub(super) fn leaf(&self) -> Leaf {
        if self.should_stop() {
            return Leaf::Idle;
        }
        let Some(span) = self.schedule.take_cpu(self.now()) else {
            // Nothing is left, or what is left is better done by the GPU.
            self.wake_driver();
            return Leaf::Idle;
        };
        let tasks = span.len();
        if let Some(busy) = self.work_off(span) {
            self.schedule.cpu_did(tasks, busy.as_nanos() as f64);
        }
        if self.schedule.is_empty() {
            self.wake_driver();
        }
        Leaf::Busy
    }

    /// Runs the tasks of a span on this thread; how long they took.
    fn work_off(&self, span: Span) -> Option<Duration> {
        let started = Instant::now();
        let failed_at = self.failed_at.load(Ordering::Relaxed);
        if failed_at > 0 {
            let since_start = started.duration_since(self.started);
            self.tally.fell_back_after(since_start, failed_at);
        }
        let tasks = span.len();
        let recording = self.tally.record.cpu(tasks);
        let outcome = self.fill(span);
        drop(recording);
        match outcome {
            Ok(()) => {
                let busy = started.elapsed();
                self.tally.cpu_did(tasks, busy);
                self.tell_progress(tasks);
                Some(busy)
            }
            Err((index, error)) => {
                self.end(Ending::Task(index, error));
                None
            }
        }
    }

    /// Writes the outputs of a span; the first task that ends the batch, if one does.
    fn fill(&self, span: Span) -> Result<(), (usize, TaskError<E>)> {
        let range = span.range();
        let mut writer = self.slots.writer(span);
        loop {
            let from = range.start + writer.written();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                for task in &self.tasks[from..range.end] {
                    let result = (self.function)(task).map_err(TaskError::Failed);
                    writer.push(K::keep(result)?);
                }
                Ok(())
            }));
            let index = range.start + writer.written();
            match outcome {
                Ok(Ok(())) => {
                    writer.finish();
                    return Ok(());
                }
                Ok(Err(error)) => return Err((index, error)),
                Err(panic) => match K::keep(Err(TaskError::Panicked(message(&*panic)))) {
                    Ok(kept) => writer.push(kept),
                    Err(error) => return Err((index, error)),
                },
            }
        }
    }

    /// Counts tasks that have their outputs now, and tells whoever wants to know.
    pub(super) fn tell_progress(&self, tasks: usize) {
        let done = self.done.fetch_add(tasks, Ordering::Relaxed) + tasks;
        let Some(progress) = self.watch.progress else {
            return;
        };
        let told = catch_unwind(AssertUnwindSafe(|| progress(done, self.tasks.len())));
        if let Err(panic) = told {
            let message = message(&*panic);
            self.end(Ending::Invalid(Error::invalid(format!(
                "the progress function panicked: {message}"
            ))));
        }
    }

    /// True where nobody is to take anything any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// The same, after a look at the deadline and at the cancellation.
    pub(super) fn should_stop(&self) -> bool {
        if self.is_over() {
            return true;
        }
        if self.watch.cancel.is_some_and(CancelToken::is_cancelled) {
            self.end(Ending::Stopped(Stop::Cancelled));
        } else if self.watch.deadline.is_some_and(|end| Instant::now() >= end) {
            self.end(Ending::Stopped(Stop::Deadline));
        }
        self.is_over()
    }

    /// Ends the batch early. Of tasks that failed, the first in the batch counts;
    /// else the first ending.
    pub(super) fn end(&self, ending: Ending<E>) {
        let mut kept = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = match (&*kept, &ending) {
            (None, _) => true,
            (Some(Ending::Task(kept, _)), Ending::Task(index, _)) => index < kept,
            _ => false,
        };
        if counts {
            *kept = Some(ending);
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.wake_driver();
    }

    fn wake_driver(&self) {
        if let Some(driver) = self.driver.get() {
            driver.unpark();
        }
    }

    /// How it ended, and the outputs where it ended well.
    pub(super) fn into_outcome(self) -> Outcome<K::Kept, E> {
        let done = self.done();
        let ending = self
            .ending
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let outcome = match ending {
            Some(ending) => Err(ending),
            None => self
                .slots
                .into_outputs()
                .ok_or_else(|| Ending::Invalid(Error::invalid("the executor left tasks undone"))),
        };
        Outcome {
            outputs: outcome,
            tally: self.tally,
            done,
        }
    }

    /// Fills what was not run after a stop, so that what was done can be kept.
    pub(super) fn fill_undone(&self, fill: impl Fn() -> K::Kept) {
        let spans = self.schedule.spans();
        loop {
            let span = spans.take_returned(|all| all);
            let Some(span) = span.or_else(|| spans.take_front(|left| left.len())) else {
                return;
            };
            let tasks = span.len();
            let mut writer = self.slots.writer(span);
            (0..tasks).for_each(|_| writer.push(fill()));
            writer.finish();
        }
    }

    /// Forgets that it was stopped; why it was.
    pub(super) fn take_stop(&self) -> Option<Stop> {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        match *ending {
            Some(Ending::Stopped(why)) => {
                *ending = None;
                Some(why)
            }
            _ => None,
        }
    }

    /// Notes when the device failed first.
    pub(super) fn device_failed(&self) {
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let first = now.max(1);
        let _ = self
            .failed_at
            .compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Time since the batch began.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl<I, T, E, F, K> RunSpan for Engine<'_, I, T, E, F, K>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
{
    fn run(&self, span: Span) {
        if !self.is_over() {
            self.work_off(span);
        }
    }

    fn give_back(&self, span: Span) {
        self.schedule.spans().give_back(span);
    }
}

/// What a panic said.
pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no message".to_owned())
}
