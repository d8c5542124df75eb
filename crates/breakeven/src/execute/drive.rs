//! Drives one GPU through a batch: launches, waits, checks. What becomes of a launch that
//! fails is the schedule's to say.

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
use crate::error::{DeviceError, DeviceErrorKind};
use crate::schedule::{After, GpuTurn, LaunchTime, Ns, Span, Standing};

/// Shortest and longest time between two looks at a launch.
const SHORTEST_WAIT: Duration = Duration::from_micros(20);
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// For how long a launch is looked at without sleeping.
const SPIN: Duration = Duration::from_micros(30);

/// Called with a GPU's number, what it was seen to be worth, when the launch began that
/// showed it, and the error that did.
pub(super) type NoteStanding<'d> =
    dyn Fn(usize, Standing, Instant, Option<&DeviceError>) + Sync + 'd;

/// What a driver needs beside the engine.
pub(super) struct Driver<'d> {
    /// Part of a launch's outputs that is held against the CPU's.
    pub(super) check: Check,
    pub(super) timeout: Option<Duration>,
    /// Tells others what a device was seen to be worth, by a launch that began then.
    pub(super) standing: &'d NoteStanding<'d>,
    /// Sets the workers to work.
    pub(super) wake: &'d (dyn Fn() + Sync),
}

/// A launch that has not ended.
struct Launch<'f> {
    span: Span,
    flight: Box<dyn Flight + 'f>,
    submitted: Instant,
}

/// One GPU's driver at work.
struct Drive<'d, 'e, 'b> {
    engine: &'e Engine<'b>,
    driver: &'d Driver<'d>,
    index: usize,
    launches: VecDeque<Launch<'e>>,
    /// When outputs were last checked: a launch from before that is done at the
    /// next look may have been for long.
    looked_away: Option<Instant>,
    /// When the last launch ended: the next one's time begins then at the earliest.
    last_end: Option<Instant>,
    /// The oldest launch was seen under way since then.
    was_seen: bool,
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
            looked_away: None,
            last_end: None,
            was_seen: false,
            checks: Checks::default(),
            waker: Waker::from(Arc::new(Unpark(thread))),
        };
        drive.run(first);
        drive.give_all_back();
    }
}

impl Drive<'_, '_, '_> {
    fn run(&mut self, first: GpuTurn) {
        let engine = self.engine;
        let mut turn = first;
        while !engine.should_stop() {
            match turn {
                GpuTurn::Run(span) => self.start(span),
                GpuTurn::Recall => self.recall(),
                GpuTurn::Wait(until) => self.wait(until),
                GpuTurn::Done if self.launches.is_empty() => return,
                GpuTurn::Done => self.wait(Ns::INFINITY),
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
        let submitted = Instant::now();
        let lane = self.engine.lanes[self.index];
        match caught(|| lane.start(span.range())) {
            Ok(flight) => self.launches.push_back(Launch {
                span,
                flight,
                submitted,
            }),
            Err(error) => self.failed(span, submitted, &error),
        }
    }

    /// Looks at the oldest launch, and waits a little where it is not done.
    fn wait(&mut self, until: Ns) {
        let engine = self.engine;
        let left = Duration::from_nanos(crate::whole(until - engine.now()) as u64);
        let Some(launch) = self.launches.front_mut() else {
            std::thread::park_timeout(left.clamp(SHORTEST_WAIT, LONGEST_WAIT));
            return;
        };
        let tasks = launch.span.len();
        let mut context = Context::from_waker(&self.waker);
        let polled = caught(|| Ok(launch.flight.poll(&mut context)));
        let outcome = match polled {
            Ok(Poll::Ready(outcome)) => outcome,
            Err(error) => Err(error),
            Ok(Poll::Pending) => {
                (self.looked_away, self.was_seen) = (None, true);
                let waited = self.waited();
                match self.driver.timeout {
                    Some(timeout) if waited >= timeout => Err(DeviceError::new(
                        DeviceErrorKind::Timeout,
                        format!("a launch of {tasks} tasks was not done after {timeout:?}"),
                    )),
                    _ if waited < SPIN => return std::hint::spin_loop(),
                    timeout => {
                        // A look now and then costs a small part of the wait.
                        let pause = (waited / 16).clamp(SHORTEST_WAIT, LONGEST_WAIT);
                        let limit = timeout.map_or(pause, |timeout| timeout - waited);
                        std::thread::park_timeout(pause.min(limit).min(left.max(SHORTEST_WAIT)));
                        return;
                    }
                }
            }
        };
        self.ended(outcome);
    }

    /// For how long the device has been at the oldest launch, which it began when the one
    /// before had ended.
    fn waited(&self) -> Duration {
        let Some(launch) = self.launches.front() else {
            return Duration::ZERO;
        };
        let submitted = launch.submitted;
        let last_end = self.last_end.unwrap_or(submitted);
        submitted.max(last_end).elapsed()
    }

    /// The oldest launch has ended.
    fn ended(&mut self, outcome: Result<Option<Duration>, DeviceError>) {
        let time = self.waited();
        let Some(launch) = self.launches.pop_front() else {
            return;
        };
        let last_end = self.last_end.replace(Instant::now());
        let looked_away = self.looked_away.take();
        let is_from_before = |then: Option<Instant>| then.is_some_and(|t| launch.submitted < t);
        let is_known = !is_from_before(looked_away);
        let is_joint = !std::mem::take(&mut self.was_seen) && is_from_before(last_end);
        let ns = |time: Duration| time.as_nanos() as f64;
        let checked = outcome.and_then(|moved| {
            self.check(&*launch.flight, &launch.span)?;
            Ok(moved)
        });
        match checked {
            Ok(moved) => {
                let took = LaunchTime {
                    ns: is_known.then_some(ns(time)),
                    is_joint,
                    moved: moved.map(ns),
                };
                self.succeeded(launch, time, took);
            }
            Err(error) => {
                quietly_dropped(launch.flight);
                self.failed(launch.span, launch.submitted, &error);
            }
        }
    }

    fn succeeded(&mut self, launch: Launch<'_>, time: Duration, took: LaunchTime) {
        let engine = self.engine;
        let (start, tasks) = (launch.span.range().start, launch.span.len());
        launch.flight.keep(launch.span);
        if let Some(record) = engine.record.as_ref().filter(|_| took.ns.is_some()) {
            let lane = engine.lanes[self.index];
            let in_use = || caught(|| Ok(lane.gpu_use())).ok()?.get();
            record.gpu(self.index, tasks, time, in_use);
        }
        let mut shared = engine.shared();
        shared.counts.gpus[self.index].add(tasks, time);
        let (schedule, now) = (&mut shared.schedule, engine.now());
        let after = schedule.gpu_succeeded(self.index, start, tasks, took, now);
        drop(shared);
        self.follow(after, launch.submitted, None);
        engine.count(tasks);
    }

    fn failed(&mut self, span: Span, submitted: Instant, error: &DeviceError) {
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

    /// Does what follows from the end of a launch.
    fn follow(&self, after: After, began: Instant, error: Option<&DeviceError>) {
        if let Some(standing) = after.standing {
            (self.driver.standing)(self.index, standing, began, error);
        }
        match error {
            Some(error) if after.is_denied => self.engine.end(Ending::Device(error.clone())),
            _ if after.wakes => (self.driver.wake)(),
            _ => {}
        }
    }

    /// Gives the launch that was made last to the workers.
    fn recall(&mut self) {
        let Some(launch) = self.launches.pop_back() else {
            return;
        };
        let mut shared = self.engine.shared();
        let (schedule, now) = (&mut shared.schedule, self.engine.now());
        schedule.gpu_recalled(self.index, launch.span, now);
        drop(shared);
        (self.driver.wake)();
        quietly_dropped(launch.flight);
    }

    /// The batch is over: what was in flight goes back undone.
    fn give_all_back(&mut self) {
        for launch in std::mem::take(&mut self.launches) {
            self.engine.shared().schedule.give_back(launch.span);
            quietly_dropped(launch.flight);
        }
    }

    /// Holds outputs against the CPU's function, as far as was asked for.
    fn check(&mut self, flight: &dyn Flight, span: &Span) -> Result<(), DeviceError> {
        let Check { fraction, cost_cap } = self.driver.check;
        if fraction.is_nan() || fraction <= 0.0 {
            return Ok(());
        }
        let range = span.range();
        // One at any rate; what it takes says how many more may be looked at.
        let first = self.checks.random.random_range(range.clone());
        self.check_one(flight, range.start, first)?;
        let seconds = self.engine.started.elapsed().as_secs_f64();
        let fraction = fraction.min(self.checks.affordable(cost_cap, seconds, range.len()));
        for task in range.clone() {
            if task != first && self.checks.random.random::<f64>() < fraction {
                self.check_one(flight, range.start, task)?;
            }
        }
        self.looked_away = Some(Instant::now());
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
