//! The thread that drives the GPU: launches, waits, checks, and reacts to what
//! goes wrong.
//!
//! | error | reaction |
//! |---|---|
//! | out of memory, never fits | half the span, down to one task, which the CPU does; the size that worked is remembered; where memory does not suffice for three single tasks in a row, the CPU does the rest |
//! | refused input | half the span, down to the task that is refused, which the CPU does |
//! | launch, other | the CPU does the span; after three in a row the CPU does the rest, and nobody tries this device for a while |
//! | compile, unsupported | the CPU does the rest; the operation does not try this device for a while |
//! | lost, timeout, panic, wrong result, unavailable | the CPU does the rest; nobody tries this device for a while |

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::control::{FallbackPolicy, Verify};
use super::engine::{Engine, Keep, message};
use super::executor::GpuExecutor;
use super::schedule::GpuTurn;
use super::spans::Span;
use crate::error::{DeviceError, DeviceErrorKind};

mod check;
mod failure;
mod reaction;
mod recall;

use check::Checks;

/// Shortest and longest time between two looks at a launch.
const SHORTEST_WAIT: Duration = Duration::from_micros(20);
const LONGEST_WAIT: Duration = Duration::from_millis(2);

/// For how long a launch is looked at without sleeping.
const SPIN: Duration = Duration::from_micros(30);

/// What the driver needs beside the engine.
pub(super) struct Driver<'d, G, V> {
    pub(super) gpu: &'d G,
    pub(super) verify: &'d V,
    pub(super) policy: FallbackPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) depth: usize,
    /// Tells others of a device that failed or works again.
    pub(super) verdict: &'d (dyn Fn(Verdict<'_>) + Sync),
}

/// What an execution found out about its device.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict<'e> {
    /// It did a launch.
    Works,
    /// The operation is to leave it alone.
    LeaveOperation(&'e DeviceError),
    /// Everybody is.
    Quarantine(&'e DeviceError),
}

/// A launch that has not ended.
struct Flight<X> {
    span: Span,
    state: X,
    submitted: Instant,
}

/// One batch's driver at work.
struct Drive<'r, 'b, I, T, E, F, K: Keep<T, E>, G: GpuExecutor<I, T>, V> {
    engine: &'r Engine<'b, I, T, E, F, K>,
    driver: &'r Driver<'r, G, V>,
    wake: &'r dyn Fn(),
    flights: VecDeque<Flight<G::InFlight>>,
    /// Halves of spans that did not fit or were refused.
    retry: Vec<Span>,
    failures_in_a_row: u32,
    /// Single tasks in a row that the device did not take.
    misfits_in_a_row: u32,
    /// Tasks that a launch could have before spans were halved, and what was
    /// known to fit, until the halves have ended.
    fitted_before: Option<(usize, Option<usize>)>,
    /// When outputs were last checked: a launch from before that is done at the
    /// next look may have been for long.
    looked_away: Option<Instant>,
    works: bool,
    has_ended: bool,
    /// When the last launch ended: the next one's time begins then at the earliest.
    last_end: Option<Instant>,
    checks: Checks,
}

impl<G, V> Driver<'_, G, V> {
    /// Drives the GPU until nothing is left for it.
    pub(super) fn run<I, T, E, F, K>(&self, engine: &Engine<'_, I, T, E, F, K>, wake: &dyn Fn())
    where
        I: Sync,
        E: Send,
        F: Fn(&I) -> Result<T, E> + Sync,
        K: Keep<T, E>,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        let _ = engine.driver.set(std::thread::current());
        Drive {
            engine,
            driver: self,
            wake,
            flights: VecDeque::with_capacity(self.depth),
            retry: Vec::new(),
            failures_in_a_row: 0,
            misfits_in_a_row: 0,
            fitted_before: None,
            looked_away: None,
            works: false,
            has_ended: false,
            last_end: None,
            checks: Checks::default(),
        }
        .run();
    }
}

impl<I, T, E, F, K, G, V> Drive<'_, '_, I, T, E, F, K, G, V>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    fn run(&mut self) {
        while !self.engine.should_stop() {
            let wait = self.top_up();
            if !self.flights.is_empty() {
                self.look();
            } else if let Some(until) = wait {
                let ns = (until - self.engine.now()).clamp(1_000.0, 1e9);
                std::thread::park_timeout(Duration::from_secs_f64(ns / 1e9));
            } else {
                break;
            }
        }
        // The batch may have ended early at any place above.
        self.give_all_back();
    }

    /// Launches until enough is in flight; until when there is nothing to do.
    fn top_up(&mut self) -> Option<f64> {
        while !self.has_ended && !self.engine.is_over() && self.flights.len() < self.driver.depth {
            if let Some(span) = self.retry.pop() {
                self.submit(span);
                continue;
            }
            if self.flights.is_empty() {
                // No half of a span that was too large is left.
                self.fitted_before = None;
            }
            let now = self.engine.now();
            let turn = self.engine.schedule.take_gpu(now, self.flights.len());
            // Before the launch, which may block: workers have left it its part.
            if self.engine.schedule.end_reserve() {
                (self.wake)();
            }
            match turn {
                GpuTurn::Run(span) => self.submit(span),
                GpuTurn::Wait(until) => return Some(until),
                GpuTurn::Done => return None,
            }
        }
        None
    }

    fn submit(&mut self, span: Span) {
        let submitted = Instant::now();
        let tasks = &self.engine.tasks[span.range()];
        let gpu = self.driver.gpu;
        let now = self.engine.now();
        self.engine.schedule.gpu_launched(span.len(), now);
        match caught(|| gpu.submit(tasks)) {
            Ok(state) => self.flights.push_back(Flight {
                span,
                state,
                submitted,
            }),
            Err(error) => self.failed(span, &error),
        }
    }

    /// Looks at the oldest launch, and waits a little where it is not done.
    fn look(&mut self) {
        let Some(flight) = self.flights.front_mut() else {
            return;
        };
        let gpu = self.driver.gpu;
        let polled = caught(|| Ok(gpu.poll(&mut flight.state)));
        let outcome = match polled {
            Ok(Poll::Ready(outcome)) => outcome,
            Err(error) => Err(error),
            Ok(Poll::Pending) => match self.wait() {
                Ok(()) => return,
                Err(error) => Err(error),
            },
        };
        let Some(flight) = self.flights.pop_front() else {
            return;
        };
        let end = Instant::now();
        let began = self.began(flight.submitted);
        self.last_end = Some(end);
        let took = end.duration_since(began);
        let looked_away = self.looked_away.take();
        let is_known = looked_away.is_none_or(|until| flight.submitted >= until);
        let span = flight.span;
        give_up(flight.state);
        match outcome.and_then(|outputs| self.checked(&span, outputs)) {
            Ok(outputs) => self.succeeded(span, outputs, took, is_known),
            Err(error) => self.failed(span, &error),
        }
    }

    /// When the device began a launch that was submitted then: not before the last
    /// one ended.
    fn began(&self, submitted: Instant) -> Instant {
        self.last_end.map_or(submitted, |last| last.max(submitted))
    }

    /// Waits a little for the oldest launch, or gives it up.
    fn wait(&mut self) -> Result<(), DeviceError> {
        self.looked_away = None;
        let Some(flight) = self.flights.front() else {
            return Ok(());
        };
        let since = self.began(flight.submitted);
        if self.is_overdue(since) {
            self.recall(since);
            return Ok(());
        }
        let waited = since.elapsed();
        let left = match self.driver.timeout {
            None => LONGEST_WAIT,
            Some(timeout) if waited < timeout => timeout - waited,
            Some(timeout) => {
                let tasks = flight.span.len();
                return Err(DeviceError::new(
                    DeviceErrorKind::Timeout,
                    format!("a launch of {tasks} tasks was not done after {timeout:?}"),
                ));
            }
        };
        if waited < SPIN {
            std::hint::spin_loop();
            return Ok(());
        }
        // A look now and then costs a small part of the wait.
        let wait = (waited / 16).clamp(SHORTEST_WAIT, LONGEST_WAIT).min(left);
        let gpu = self.driver.gpu;
        let Some(flight) = self.flights.front_mut() else {
            return Ok(());
        };
        caught(|| {
            gpu.wait(&mut flight.state, wait);
            Ok(())
        })
    }

    /// Keeps the outputs of a launch that `took` so long, if that is known.
    fn succeeded(&mut self, span: Span, outputs: Vec<T>, took: Duration, is_known: bool) {
        let engine = self.engine;
        let tasks = span.len();
        let mut writer = engine.slots.writer(span);
        for output in outputs {
            // A result that is there is kept, whatever `keep` does with errors.
            if let Ok(kept) = K::keep(Ok(output)) {
                writer.push(kept);
            }
        }
        writer.finish();
        self.failures_in_a_row = 0;
        self.misfits_in_a_row = 0;
        // One that was left meanwhile is not called good by a launch from before.
        if !self.works && !self.has_ended {
            self.works = true;
            (self.driver.verdict)(Verdict::Works);
        }
        let mut tally = engine.tally.driver();
        tally.did(tasks, took, is_known);
        if tally.fallback.fits.is_some_and(|fits| tasks > fits) {
            tally.fallback.fits = Some(tasks);
        }
        drop(tally);
        engine.tell_progress(tasks);
        if is_known {
            engine.tally.record.gpu(tasks, took);
        }
        let ns = is_known.then_some(took.as_nanos() as f64);
        let (now, in_flight) = (engine.now(), self.flights.len());
        if engine.schedule.gpu_did(tasks, ns, now, in_flight) {
            (self.wake)();
        }
    }
}

/// Runs device code: a panic in it becomes an error.
pub(super) fn caught<R>(call: impl FnOnce() -> Result<R, DeviceError>) -> Result<R, DeviceError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(DeviceError::new(DeviceErrorKind::Panic, message(&*panic))))
}

/// Drops a launch, which may go through the same driver that failed.
fn give_up<X>(state: X) {
    let _ = caught(|| {
        drop(state);
        Ok(())
    });
}
