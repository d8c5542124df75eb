//! Runs one batch: threads around a schedule. It contains no types of tasks (`work.rs` has them),
//! so it is compiled once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::control::CancelToken;
use super::counts::Counts;
use super::ended::Ending;
use super::record::SpanRecord;
use super::result::{Share, Stop};
use super::work::{Lane, Ran, StopSign, Work, message};
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::locked;
use crate::schedule::{After, GpuTurn, Ns, Schedule, Span, until_look};

/// How often a worker interrupts its span, ns, to check whether the batch was stopped and whether a
/// device is idle.
const LOOK: Ns = 100_000.0;

/// Time between two checks of the deadline and the cancellation by the caller.
const LONGEST_LOOK: Duration = Duration::from_millis(1);

/// When a batch ends early, and who observes its progress.
#[derive(Clone, Copy, Default)]
pub(super) struct Watch<'w> {
    /// Either cancels: the caller's, and that of a future that may be dropped.
    pub(super) cancel: [Option<&'w CancelToken>; 2],
    pub(super) deadline: Option<Instant>,
    pub(super) progress: Option<&'w (dyn Fn(usize, usize) + Sync)>,
}

impl Watch<'_> {
    pub(super) fn is_set(&self) -> bool {
        self.may_stop() || self.progress.is_some()
    }

    /// Returns true if the progress is observed, so that the batch must run in pieces. Dropping a
    /// future does not observe it.
    pub(super) fn sees_parts(&self) -> bool {
        self.cancel[0].is_some() || self.deadline.is_some() || self.progress.is_some()
    }

    /// Returns true if there is a deadline or a cancel token.
    pub(super) fn may_stop(&self) -> bool {
        self.cancel.iter().any(Option::is_some) || self.deadline.is_some()
    }
}

/// Whether a worker found something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// It did a span; there may be more.
    Busy,
    /// It gave work back: all workers must look again.
    More,
    /// There is nothing now.
    Idle,
}

/// What the threads of a batch share under one lock.
pub(super) struct Running {
    pub(super) schedule: Schedule,
    pub(super) counts: Counts,
    ending: Option<Ending>,
}

impl Running {
    pub(super) fn new(schedule: Schedule, gpus: usize) -> Mutex<Self> {
        Mutex::new(Self {
            schedule,
            counts: Counts {
                gpus: vec![Share::default(); gpus],
                ..Counts::default()
            },
            ending: None,
        })
    }

    /// Ends the batch if too many tasks fell back: under the same lock, so that no worker takes
    /// them.
    pub(super) fn end_if_denied(&mut self, after: &After, error: &DeviceError) {
        if after.is_denied {
            self.ending
                .get_or_insert_with(|| Ending::Device(error.clone()));
        }
    }
}

/// A running batch.
pub(super) struct Engine<'b> {
    work: &'b dyn Work,
    /// The usable GPUs, in the schedule's order.
    pub(super) lanes: &'b [&'b dyn Lane],
    pub(super) tasks: usize,
    shared: &'b Mutex<Running>,
    pub(super) watch: Watch<'b>,
    pub(super) record: Option<SpanRecord>,
    pub(super) started: Instant,
    /// The batch ended early: no more work is taken.
    stop: AtomicBool,
    /// A device found nothing to do while another has much.
    hungry: AtomicBool,
    /// The caller checks the deadline and the cancellation, so that workers need not.
    is_kept: AtomicBool,
    done: AtomicUsize,
    /// The threads that drive the GPUs, and that of the caller who looks at the deadline.
    pub(super) threads: Vec<OnceLock<Thread>>,
}

impl<'b> Engine<'b> {
    pub(super) fn new(
        work: &'b dyn Work,
        lanes: &'b [&'b dyn Lane],
        tasks: usize,
        shared: &'b Mutex<Running>,
        watch: Watch<'b>,
        started: Instant,
    ) -> Self {
        Self {
            work,
            lanes,
            tasks,
            shared,
            watch,
            record: None,
            started,
            stop: AtomicBool::new(false),
            hungry: AtomicBool::new(false),
            is_kept: AtomicBool::new(false),
            done: AtomicUsize::new(0),
            threads: (0..=lanes.len()).map(|_| OnceLock::new()).collect(),
        }
    }

    pub(super) fn shared(&self) -> MutexGuard<'_, Running> {
        locked(self.shared)
    }

    /// Time since the batch began.
    pub(super) fn now(&self) -> Ns {
        self.started.elapsed().as_nanos() as f64
    }

    /// Returns the number of tasks that have their output.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Runs a worker's turn: one span.
    pub(super) fn leaf(&self) -> Leaf {
        if self.should_stop() {
            return Leaf::Idle;
        }
        let mut shared = self.shared();
        if shared.ending.is_some() {
            return Leaf::Idle;
        }
        let Some(span) = shared.schedule.cpu_turn(self.now()) else {
            // Work of another worker may be shared; or a GPU should run it.
            let hungry = shared.schedule.is_hungry();
            drop(shared);
            self.hungry.store(hungry, Ordering::Relaxed);
            self.wake_drivers();
            return Leaf::Idle;
        };
        shared.counts.cpu_begins();
        let patience = shared.schedule.cpu_patience(span.range().start);
        drop(shared);
        self.work_off(span, patience)
    }

    /// Wakes the workers, and checks the deadline and the cancellation for them while they work: a
    /// tiny task is shorter than a reading of the clock.
    pub(super) fn keep_time(&self, wake: &(dyn Fn() + Sync)) {
        let _ = self.threads[self.lanes.len()].set(std::thread::current());
        self.is_kept.store(true, Ordering::Relaxed);
        wake();
        let began = Instant::now();
        while !self.should_stop() && self.done() < self.tasks {
            // Some executors have no worker before their caller returns.
            if began.elapsed() > LONGEST_LOOK && !self.shared().schedule.is_at_work() {
                break;
            }
            std::thread::park_timeout(LONGEST_LOOK);
        }
        self.is_kept.store(false, Ordering::Relaxed);
    }

    /// Runs a span, chunk by chunk, with checks between them; what has not begun after `patience`
    /// is given back.
    fn work_off(&self, span: Span, patience: Ns) -> Leaf {
        let start = span.range().start;
        let recording = self.record.as_ref().map(SpanRecord::cpu);
        let began = Instant::now();
        let (mut left, mut done) = (Some(span), 0);
        let mut chunk = if self.work.is_call() { usize::MAX } else { 1 };
        let mut gives = false;
        let mut took = Duration::ZERO;
        while let Some(span) = left.take_if(|_| !gives) {
            let (next, mut rest) = span.split(chunk);
            let ran = self.run_chunk(next, &mut rest);
            done += ran;
            left = rest;
            took = began.elapsed();
            let each = took.as_nanos() as f64 / done.max(1) as f64;
            chunk = until_look(chunk, LOOK, each);
            if left.is_none() {
                // The schedule first: the thread that counts the last task may end the batch.
                self.did(start, done, took, None);
                if let Some(call) = &recording {
                    call.items(done);
                }
                self.count(ran);
                return Leaf::Busy;
            }
            self.count(ran);
            let is_overdue = took.as_nanos() as f64 > patience;
            gives = self.should_stop() || is_overdue || self.gives_tail(&left);
        }
        if let Some(call) = &recording {
            call.items(done);
        }
        self.did(start, done, took, left);
        self.wake_drivers();
        Leaf::More
    }

    /// Runs some tasks of a span and returns how many. If the batch ends meanwhile, what was not
    /// done goes back into `rest`, or to the schedule.
    fn run_chunk(&self, chunk: Span, rest: &mut Option<Span>) -> usize {
        let count = chunk.len();
        let look = || self.should_stop();
        let stop = StopSign {
            ended: &self.stop,
            look: (self.watch.may_stop() && !self.is_kept.load(Ordering::Relaxed)).then_some(&look),
        };
        match self.work.run(chunk, stop) {
            Ran::Done => count,
            Ran::Failed => {
                self.end(Ending::Task);
                0
            }
            Ran::Stopped(undone) => {
                let undone_count = undone.as_ref().map_or(0, Span::len);
                let mut shared = self.shared();
                let spans = undone.into_iter().chain(rest.take());
                spans.for_each(|span| shared.schedule.give_back(span));
                count - undone_count
            }
        }
    }

    /// Records that a worker did the first tasks of its span, and gives the rest back.
    fn did(&self, start: usize, done: usize, took: Duration, left: Option<Span>) {
        let mut shared = self.shared();
        shared.counts.cpu.add(done, took);
        let ns = took.as_nanos() as f64;
        shared.schedule.cpu_did(start..start + done, ns);
        if let Some(left) = left {
            shared.schedule.give_back(left);
        }
    }

    /// Returns true if the rest of a span must be given to idle workers.
    fn gives_tail(&self, left: &Option<Span>) -> bool {
        if !self.hungry.load(Ordering::Relaxed) {
            return false;
        }
        let left = left.as_ref().map_or(0, Span::len);
        let mut shared = self.shared();
        let gives = shared.schedule.cpu_look(left);
        let is_hungry = shared.schedule.is_hungry();
        self.hungry.store(is_hungry, Ordering::Relaxed);
        gives
    }

    /// Counts tasks that now have their outputs, and reports the progress.
    pub(super) fn count(&self, tasks: usize) {
        let done = self.done.fetch_add(tasks, Ordering::Relaxed) + tasks;
        if done >= self.tasks {
            self.wake_drivers();
        }
        let Some(progress) = self.watch.progress else {
            return;
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| progress(done, self.tasks)));
        if let Err(panic) = outcome {
            let message = format!("the progress function panicked: {}", message(panic));
            self.end(Ending::Invalid(Error::invalid(message)));
        }
    }

    /// Returns true if no more work may be taken.
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// As [`is_over`](Self::is_over), after a check of the deadline and the cancellation.
    pub(super) fn should_stop(&self) -> bool {
        if self.is_over() {
            return true;
        }
        let mut cancels = self.watch.cancel.into_iter().flatten();
        if cancels.any(CancelToken::is_cancelled) {
            self.end(Ending::Stopped(Stop::Cancelled));
        } else if self.watch.deadline.is_some_and(|end| Instant::now() >= end) {
            self.end(Ending::Stopped(Stop::Deadline));
        }
        self.is_over()
    }

    /// Returns true if a deadline or a cancellation ended it.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.shared().ending, Some(Ending::Stopped(_)))
    }

    /// Ends the batch early; the first ending counts.
    pub(super) fn end(&self, ending: Ending) {
        self.shared().ending.get_or_insert(ending);
        self.stop.store(true, Ordering::Relaxed);
        self.wake_drivers();
    }

    fn wake_drivers(&self) {
        for thread in self.threads.iter().filter_map(OnceLock::get) {
            thread.unpark();
        }
    }

    /// Marks what was not run after a stop, so that the results so far can be kept. Returns why it
    /// was stopped, none if it was not.
    pub(super) fn leave_out_undone(&self) -> Option<Stop> {
        let mut shared = self.ended();
        let Some(Ending::Stopped(why)) = shared.ending else {
            return None;
        };
        shared.ending = None;
        shared.schedule.forget_unrun();
        while let Some(span) = shared.schedule.take_any() {
            self.work.leave_out(span, why);
        }
        Some(why)
    }

    /// What the threads shared. A deadline that passed during the last tasks stopped nothing.
    fn ended(&self) -> MutexGuard<'_, Running> {
        let mut shared = self.shared();
        if self.done() >= self.tasks {
            (shared.ending).take_if(|end| matches!(end, Ending::Stopped(Stop::Deadline)));
        }
        shared
    }

    /// Returns how it ended, and the counters.
    pub(super) fn outcome(&self) -> (Option<Ending>, Counts) {
        let mut shared = self.ended();
        if matches!(shared.ending, Some(Ending::Stopped(_))) {
            shared.schedule.forget_unrun();
        }
        (shared.ending.take(), std::mem::take(&mut shared.counts))
    }

    /// Runs the tasks of a span, one after the other.
    pub(super) fn run(&self, span: Span) {
        let recording = self.record.as_ref().map(SpanRecord::cpu);
        let began = Instant::now();
        let done = self.run_chunk(span, &mut None);
        if let Some(call) = &recording {
            call.items(done);
        }
        drop(recording);
        self.shared().counts.cpu.add(done, began.elapsed());
        self.count(done);
    }

    /// Moves a GPU's first work to the CPU, because there is no thread to drive it.
    pub(super) fn has_no_driver(&self, index: usize, first: Option<GpuTurn>) {
        let why = "there is no thread to drive the device";
        let error = DeviceError::new(DeviceErrorKind::Other, why);
        let mut shared = self.shared();
        shared.counts.gpu_failed(index, &error);
        let Some(GpuTurn::Run(span)) = first else {
            return;
        };
        let (schedule, now) = (&mut shared.schedule, self.now());
        // As if it were lost, but without a quarantine.
        let after = schedule.gpu_failed(index, span, DeviceErrorKind::DeviceLost, now);
        shared.end_if_denied(&after, &error);
        drop(shared);
        if after.is_denied {
            self.end(Ending::Device(error));
        }
    }

    /// Takes back a span that was not run.
    pub(super) fn give_back(&self, span: Span) {
        self.shared().schedule.give_back(span);
    }
}
