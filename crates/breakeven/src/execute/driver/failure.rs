//! What becomes of a launch that failed, and of its device.

use super::reaction::{Reaction, reaction};
use super::{Drive, Verdict, give_up};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::execute::control::Verify;
use crate::execute::engine::{Ending, Keep};
use crate::execute::executor::GpuExecutor;
use crate::execute::spans::Span;

/// Failures in a row after which a device gets nothing more.
const MOST_FAILURES: u32 = 3;

/// Single tasks in a row that a device which does others does not take.
const MOST_MISFITS: u32 = 32;

impl<I, T, E, F, K, G, V> Drive<'_, '_, I, T, E, F, K, G, V>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    /// Reacts to a launch that failed.
    pub(super) fn failed(&mut self, span: Span, error: &DeviceError) {
        let engine = self.engine;
        engine.device_failed();
        engine.tally.driver().failed(error);
        engine.schedule.gpu_failed(engine.now(), self.flights.len());
        match reaction(error.kind) {
            // Nothing is launched again on a device that was left.
            Reaction::Halve if span.len() > 1 && !self.has_ended => {
                let half = span.len().div_ceil(2);
                let before = engine.schedule.limit(half);
                let mut tally = engine.tally.driver();
                let known = tally.fallback.fits;
                tally.fallback.fits.get_or_insert(0);
                drop(tally);
                self.fitted_before.get_or_insert((before, known));
                self.halve(span, half);
            }
            Reaction::Isolate if span.len() > 1 && !self.has_ended => {
                let half = span.len().div_ceil(2);
                self.halve(span, half);
            }
            Reaction::Isolate => {
                self.fall_back(span, error);
                self.count_misfit(error);
            }
            Reaction::Halve => {
                // It was this task that was too large, not those beside it.
                if let Some((limit, known)) = self.fitted_before {
                    engine.schedule.lift_limit(limit);
                    engine.tally.driver().fallback.fits = known;
                }
                self.fall_back(span, error);
                self.count_misfit(error);
            }
            Reaction::Next => {
                self.failures_in_a_row += 1;
                self.fall_back(span, error);
                if self.failures_in_a_row >= MOST_FAILURES {
                    (self.driver.verdict)(Verdict::Quarantine(error));
                    self.leave(error);
                }
            }
            Reaction::LeaveOperation => {
                (self.driver.verdict)(Verdict::LeaveOperation(error));
                self.fall_back(span, error);
                self.leave(error);
            }
            Reaction::Quarantine => {
                (self.driver.verdict)(Verdict::Quarantine(error));
                self.fall_back(span, error);
                self.leave(error);
            }
        }
    }

    /// Counts a single task that no launch takes. After some in a row the CPU does
    /// the rest of this batch; nothing is held against the device.
    fn count_misfit(&mut self, error: &DeviceError) {
        self.misfits_in_a_row += 1;
        // Of a device that does others, a task may be what is wrong.
        let is_the_tasks = self.works && error.kind != DeviceErrorKind::OutOfMemory;
        let most = if is_the_tasks {
            MOST_MISFITS
        } else {
            MOST_FAILURES
        };
        if self.misfits_in_a_row >= most {
            self.leave(error);
        }
    }

    /// Has both halves tried next.
    fn halve(&mut self, span: Span, half: usize) {
        let (first, rest) = span.split(half);
        self.retry.extend(rest);
        self.retry.push(first);
    }

    /// Hands a span to the CPU, where the policy lets it.
    fn fall_back(&mut self, span: Span, error: &DeviceError) {
        let tasks = span.len();
        self.engine.schedule.spans().give_back(span);
        self.count_fallen(tasks, error);
    }

    /// Counts tasks that are the CPU's now, and sets it to work on them.
    fn count_fallen(&mut self, tasks: usize, error: &DeviceError) {
        let engine = self.engine;
        let mut tally = engine.tally.driver();
        tally.fallback.tasks += tasks;
        let fallen = tally.fallback.tasks;
        drop(tally);
        if !self.driver.policy.allows(fallen, engine.tasks.len()) {
            engine.end(Ending::Device(error.clone()));
            return;
        }
        (self.wake)();
    }

    /// The device gets nothing more: the CPU has what it has not begun.
    fn leave(&mut self, error: &DeviceError) {
        // What was in flight may fail later: the queue's part is counted once.
        let owed = match std::mem::replace(&mut self.has_ended, true) {
            false => self.engine.schedule.owed_to_gpu(),
            true => 0,
        };
        self.engine.schedule.gpu_is_gone();
        for span in std::mem::take(&mut self.retry) {
            self.fall_back(span, error);
        }
        // A device that is gone does not end what is in flight; another's error
        // does not stop it.
        if matches!(reaction(error.kind), Reaction::Quarantine) {
            for flight in std::mem::take(&mut self.flights) {
                let span = flight.span;
                give_up(flight.state);
                self.engine.tally.driver().fallback.failed_spans += 1;
                self.fall_back(span, error);
            }
        }
        self.count_fallen(owed, error);
    }

    /// The batch is over: what was in flight goes back undone.
    pub(super) fn give_all_back(&mut self) {
        for flight in std::mem::take(&mut self.flights) {
            self.engine.schedule.spans().give_back(flight.span);
            give_up(flight.state);
        }
        for span in std::mem::take(&mut self.retry) {
            self.engine.schedule.spans().give_back(span);
        }
    }
}
