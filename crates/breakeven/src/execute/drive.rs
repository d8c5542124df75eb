//! Drives one GPU through a batch: launches, waits, checks. The schedule decides what happens to a
//! failed launch.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rand::RngExt;

use super::check::{Check, Checks};
use super::ended::Ending;
use super::engine::Engine;
use super::work::{Flight, caught, quietly_dropped};
use crate::device::Device;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::schedule::{self, After, GpuTurn, LaunchTime, Ns, Pause, Span, Standing, Step};

/// Reports a GPU's standing: its index, the standing, when the launch that showed it began, and its
/// error.
pub(super) type NoteStanding<'d> =
    dyn Fn(usize, Standing, Instant, Option<&DeviceError>) + Sync + 'd;

/// What a driver needs in addition to the engine.
pub(super) struct Driver<'d> {
    /// Which outputs of a launch are compared with the CPU's.
    pub(super) check: Check,
    pub(super) timeout: Option<Duration>,
    /// Reports a device's standing, shown by a launch that began at that time.
    pub(super) standing: &'d NoteStanding<'d>,
    /// Wakes the workers.
    pub(super) wake: &'d (dyn Fn() + Sync),
}

/// A launch in flight.
struct Launch<'f> {
    span: Span,
    flight: Box<dyn Flight + 'f>,
}

fn duration(ns: Ns) -> Duration {
    Duration::from_nanos(crate::whole(ns) as u64)
}

/// One GPU's driver while it runs.
struct Drive<'d, 'e, 'b> {
    engine: &'e Engine<'b>,
    driver: &'d Driver<'d>,
    index: usize,
    launches: VecDeque<Launch<'e>>,
    /// The schedule's record of them, in the same order.
    known: schedule::Driver,
    checks: Checks,
    waker: Waker,
}

/// Wakes a thread that waits for a future.
pub(super) struct Unpark(pub(super) Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Driver<'_> {
    /// Drives GPU number `index` until nothing is left for it; `first` is its first turn.
    pub(super) fn run(&self, engine: &Engine<'_>, index: usize, first: GpuTurn) {
        let thread = std::thread::current();
        let _ = engine.threads[index].set(thread.clone());
        let mut drive = Drive {
            engine,
            driver: self,
            index,
            launches: VecDeque::new(),
            known: schedule::Driver::default(),
            checks: Checks::default(),
            waker: Waker::from(Arc::new(Unpark(thread))),
        };
        drive.run(first);
        drive.keep_done();
        drive.give_all_back();
    }
}

impl Drive<'_, '_, '_> {
    fn run(&mut self, first: GpuTurn) {
        let engine = self.engine;
        let mut turn = first;
        while !engine.should_stop() {
            match self.known.step(turn, engine.now()) {
                Step::Start(span) => self.start(span),
                Step::Recall => self.recall(),
                Step::Look(until) => self.look(until),
                Step::Sleep(ns) => std::thread::park_timeout(duration(ns)),
                Step::Return => return,
            }
            if engine.done() >= engine.tasks {
                return;
            }
            let mut shared = engine.shared();
            turn = shared.schedule.gpu_turn(self.index, engine.now());
            let wakes = shared.schedule.take_wakes();
            drop(shared);
            if wakes {
                (self.driver.wake)();
            }
        }
        if let GpuTurn::Run(span) = turn {
            engine.shared().schedule.give_back(span);
        }
    }

    fn start(&mut self, span: Span) {
        let submitted = self.engine.now();
        let lane = self.engine.lanes[self.index];
        match caught(|| lane.start(span.range())) {
            Ok(flight) => {
                self.known.submitted(submitted);
                self.launches.push_back(Launch { span, flight });
            }
            Err(error) => self.failed(span, submitted, &error),
        }
    }

    /// Polls the oldest launch; none while it is not done.
    fn poll(&mut self) -> Option<Result<Option<Duration>, DeviceError>> {
        let launch = self.launches.front_mut()?;
        let mut context = Context::from_waker(&self.waker);
        match caught(|| Ok(launch.flight.poll(&mut context))) {
            Ok(Poll::Ready(outcome)) => Some(outcome),
            Ok(Poll::Pending) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Keeps the outputs of launches that were done when the batch was stopped.
    fn keep_done(&mut self) {
        while self.engine.is_stopped()
            && let Some(outcome) = self.poll()
        {
            self.ended(outcome);
        }
    }

    /// Polls the oldest launch, and waits a little if it is not done.
    fn look(&mut self, until: Ns) {
        let Some(tasks) = self.launches.front().map(|launch| launch.span.len()) else {
            return;
        };
        let outcome = match self.poll() {
            Some(outcome) => outcome,
            None => {
                let timeout = self.driver.timeout;
                let ns = timeout.map(|timeout| timeout.as_nanos() as f64);
                match self.known.pause(self.engine.now(), until, ns) {
                    Pause::Spin => return std::hint::spin_loop(),
                    Pause::Sleep(ns) => return std::thread::park_timeout(duration(ns)),
                    Pause::TimedOut => Err(DeviceError::new(
                        DeviceErrorKind::Timeout,
                        format!(
                            "a launch of {tasks} tasks was not done after {:?}",
                            timeout.unwrap_or_default()
                        ),
                    )),
                }
            }
        };
        self.ended(outcome);
    }

    /// Handles the end of the oldest launch.
    fn ended(&mut self, outcome: Result<Option<Duration>, DeviceError>) {
        let Some(launch) = self.launches.pop_front() else {
            return;
        };
        let (submitted, waited, took) = self.known.ended(self.engine.now());
        let checked = outcome.and_then(|moved| {
            self.check(&*launch.flight, &launch.span)?;
            Ok(moved)
        });
        match checked {
            Ok(moved) => {
                let moved = moved.map(|moved| moved.as_nanos() as f64);
                self.succeeded(
                    launch,
                    submitted,
                    duration(waited),
                    LaunchTime { moved, ..took },
                );
            }
            Err(error) => {
                quietly_dropped(launch.flight);
                self.failed(launch.span, submitted, &error);
            }
        }
    }

    fn succeeded(&mut self, launch: Launch<'_>, began: Ns, time: Duration, took: LaunchTime) {
        let engine = self.engine;
        let (start, tasks) = (launch.span.range().start, launch.span.len());
        launch.flight.keep(launch.span);
        if let Some(record) = engine.record.as_ref().filter(|_| took.ns.is_some()) {
            let lane = engine.lanes[self.index];
            let in_use = || {
                caught(|| Ok(lane.device().map(Device::gpu_use)))
                    .ok()??
                    .get()
            };
            record.gpu(self.index, tasks, time, in_use);
        }
        let mut shared = engine.shared();
        shared.counts.gpus[self.index].add(tasks, time);
        let (schedule, now) = (&mut shared.schedule, engine.now());
        let after = schedule.gpu_succeeded(self.index, start, tasks, took, now);
        drop(shared);
        self.follow(after, began, None);
        engine.count(tasks);
    }

    fn failed(&mut self, span: Span, submitted: Ns, error: &DeviceError) {
        let engine = self.engine;
        let mut shared = engine.shared();
        shared.counts.gpu_failed(self.index, error);
        let (schedule, now) = (&mut shared.schedule, engine.now());
        let after = schedule.gpu_failed(self.index, span, error.kind, now);
        shared.end_if_denied(&after, error);
        drop(shared);
        self.follow(after, submitted, Some(error));
        if !after.drops_flights {
            return;
        }
        for launch in std::mem::take(&mut self.launches) {
            self.known.gave_up();
            quietly_dropped(launch.flight);
            let mut shared = engine.shared();
            shared.counts.fallback.failed_spans += 1;
            let (schedule, now) = (&mut shared.schedule, engine.now());
            let after = schedule.gpu_dropped(self.index, launch.span, now);
            shared.end_if_denied(&after, error);
            drop(shared);
            self.follow(after, submitted, Some(error));
        }
    }

    /// Executes what the schedule decided after a launch.
    fn follow(&self, after: After, began: Ns, error: Option<&DeviceError>) {
        if let Some(standing) = after.standing {
            let began = self.engine.started + duration(began);
            (self.driver.standing)(self.index, standing, began, error);
        }
        match error {
            Some(error) if after.is_denied => self.engine.end(Ending::Device(error.clone())),
            _ if after.wakes => (self.driver.wake)(),
            _ => {}
        }
    }

    /// Returns the newest launch to the workers.
    fn recall(&mut self) {
        let Some(launch) = self.launches.pop_back() else {
            return;
        };
        self.known.gave_up();
        let mut shared = self.engine.shared();
        let (schedule, now) = (&mut shared.schedule, self.engine.now());
        schedule.gpu_recalled(self.index, launch.span, now);
        drop(shared);
        (self.driver.wake)();
        quietly_dropped(launch.flight);
    }

    /// Returns everything in flight undone, because the batch is over.
    fn give_all_back(&mut self) {
        for launch in std::mem::take(&mut self.launches) {
            self.engine.shared().schedule.give_back(launch.span);
            quietly_dropped(launch.flight);
        }
    }

    /// Compares outputs with the CPU's function, as far as requested.
    fn check(&mut self, flight: &dyn Flight, span: &Span) -> Result<(), DeviceError> {
        let Check { fraction, cost_cap } = self.driver.check;
        if fraction.is_nan() || fraction <= 0.0 {
            return Ok(());
        }
        let range = span.range();
        // Checks at least one; its time determines how many more may be checked.
        let first = self.checks.random.random_range(range.clone());
        self.check_one(flight, range.start, first)?;
        let seconds = self.engine.started.elapsed().as_secs_f64();
        let fraction = fraction.min(self.checks.affordable(cost_cap, seconds, range.len()));
        for task in range.clone() {
            if task != first && self.checks.random.random::<f64>() < fraction {
                self.check_one(flight, range.start, task)?;
            }
        }
        self.known.looked_away(self.engine.now());
        Ok(())
    }

    fn check_one(
        &mut self,
        flight: &dyn Flight,
        first: usize,
        task: usize,
    ) -> Result<(), DeviceError> {
        let begun = Instant::now();
        let checked = flight.check(first, task);
        self.checks.time += begun.elapsed();
        self.checks.outputs += 1;
        self.engine.shared().counts.checked += 1;
        checked
    }
}
