//! The state of a simulated GPU while it runs.

use std::time::{Duration, Instant};

use super::SimulatedCounts;
use super::faults::{Fault, FaultKind, FaultScript};
use super::timeline::{Timeline, ns};
use crate::error::{DeviceError, DeviceErrorKind};

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Outputs,
    Error(DeviceErrorKind),
    Panic,
    Hang,
}

/// The device between two calls.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The first submission.
    began: Option<Instant>,
    timeline: Timeline,
    /// Number of its present life. It grows when the device is lost, together with the batches of
    /// the previous life.
    pub(super) life: u64,
    /// Bytes of the batches in flight.
    pub(super) held: u64,
    /// The launch with which a lost device is back.
    back_at: u64,
    /// Most tasks that fit memory.
    memory_for: Option<usize>,
    /// Slow-down of a task compared with the spec, if changed.
    factor: Option<f64>,
    pub(super) counts: SimulatedCounts,
}

/// A call of `submit` that the script does not refuse, and the outcome of its batch.
pub(super) struct Scripted {
    /// There is no batch: the call panics.
    pub(super) panics: bool,
    pub(super) launch: u64,
    pub(super) life: u64,
    pub(super) factor: f64,
    pub(super) outcome: Outcome,
    /// The faults that change its outputs.
    pub(super) faults: Vec<Fault>,
}

impl State {
    pub(super) fn count(&mut self, kind: FaultKind) {
        *self.counts.faults.entry(kind).or_default() += 1;
    }

    /// Handles the next call of `submit`, with that many tasks.
    pub(super) fn admit(
        &mut self,
        script: &FaultScript,
        tasks: usize,
    ) -> Result<Scripted, DeviceError> {
        let launch = self.counts.submits;
        self.counts.submits += 1;
        for fault in script.of(launch) {
            self.change(launch, fault);
        }
        if launch < self.back_at {
            self.count(FaultKind::Lost);
            return Err(refused(DeviceErrorKind::DeviceLost, launch));
        }
        if self.memory_for.is_some_and(|most| tasks > most) {
            self.count(FaultKind::OutOfMemoryAbove);
            return Err(refused(DeviceErrorKind::OutOfMemory, launch));
        }
        let mut batch = Scripted {
            panics: false,
            launch,
            life: self.life,
            factor: self.factor.unwrap_or(1.0),
            outcome: Outcome::Outputs,
            faults: Vec::new(),
        };
        for fault in script.of(launch) {
            match *fault {
                Fault::SubmitError(kind) => {
                    self.count(FaultKind::SubmitError);
                    return Err(refused(kind, launch));
                }
                Fault::SubmitPanic => {
                    self.count(FaultKind::SubmitPanic);
                    batch.panics = true;
                    return Ok(batch);
                }
                Fault::PollError(kind) => batch.outcome = Outcome::Error(kind),
                Fault::PollPanic => batch.outcome = Outcome::Panic,
                Fault::Hang => batch.outcome = Outcome::Hang,
                Fault::Wrong { .. } | Fault::TooFew { .. } | Fault::TooMany { .. } => {
                    batch.faults.push(*fault);
                }
                Fault::Lost { .. } | Fault::OutOfMemoryAbove { .. } | Fault::SlowDown { .. } => {
                    continue;
                }
            }
            self.count(fault.kind());
        }
        Ok(batch)
    }

    /// Applies a permanent fault.
    fn change(&mut self, launch: u64, fault: &Fault) {
        match *fault {
            Fault::Lost { recovers_after } => {
                self.life += 1;
                let calls = recovers_after.unwrap_or(u64::MAX);
                self.back_at = (launch + 1).saturating_add(calls);
            }
            Fault::OutOfMemoryAbove { tasks } => self.memory_for = Some(tasks),
            Fault::SlowDown { factor } => {
                self.factor = Some(factor);
                self.count(FaultKind::SlowDown);
            }
            _ => {}
        }
    }

    /// Counts a batch that starts.
    pub(super) fn start(&mut self, called: Instant, tasks: usize) {
        self.began.get_or_insert(called);
        self.counts.launches += 1;
        self.counts.tasks += tasks as u64;
    }

    /// Returns when the batch is done; none if that exceeds the clock's range.
    pub(super) fn schedule(&mut self, called: Instant, stages_ns: [u64; 3]) -> Option<Instant> {
        let began = *self.began.get_or_insert(called);
        let now_ns = ns(called.saturating_duration_since(began));
        let ready_ns = self.timeline.admit(now_ns, stages_ns);
        began.checked_add(Duration::from_nanos(ready_ns))
    }
}

fn refused(kind: DeviceErrorKind, launch: u64) -> DeviceError {
    let message = format!("simulated, in the submit of launch {launch}");
    DeviceError::new(kind, message)
}
