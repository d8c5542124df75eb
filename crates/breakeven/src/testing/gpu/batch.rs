//! A batch on a simulated GPU.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::faults::FaultKind;
use super::state::{Outcome, State};
use super::timer;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::locked;

/// `wait` sleeps until this long before the batch is done and then spins: a
/// thread of Linux wakes 50 µs late by default.
const SPIN: Duration = Duration::from_micros(60);

/// A batch on a [`SimulatedGpu`](super::SimulatedGpu): a future of its outputs. Dropping
/// it frees its memory; the device still spends its time on it.
#[derive(Debug)]
pub struct SimulatedInFlight<T> {
    pub(super) device: Arc<Mutex<State>>,
    pub(super) current_life: Arc<AtomicU64>,
    /// When its outputs are on the host; none for never.
    pub(super) ready: Option<Instant>,
    pub(super) outcome: Outcome,
    pub(super) launch: u64,
    /// The device's life that it belongs to.
    pub(super) life: u64,
    pub(super) outputs: Vec<T>,
    pub(super) memory: Option<HeldMemory>,
}

impl<T> SimulatedInFlight<T> {
    /// The outputs, once the device is done; of a batch that hangs, never.
    ///
    /// # Errors
    ///
    /// Those that are scripted.
    pub fn wait(mut self) -> Result<Vec<T>, DeviceError> {
        loop {
            if let Some(outcome) = self.look() {
                return outcome;
            }
            let Some(ready) = self.ready else {
                std::thread::park_timeout(Duration::from_millis(1));
                continue;
            };
            let left = ready.saturating_duration_since(Instant::now());
            std::thread::sleep(left.saturating_sub(SPIN).min(Duration::from_millis(1)));
        }
    }

    /// The outputs, if they are there.
    pub(super) fn look(&mut self) -> Option<Result<Vec<T>, DeviceError>> {
        let launch = self.launch;
        if self.life != self.current_life.load(Ordering::Relaxed) {
            locked(&self.device).count(FaultKind::Lost);
            self.memory = None;
            return Some(Err(DeviceError::new(
                DeviceErrorKind::DeviceLost,
                format!("simulated, launch {launch} was in flight"),
            )));
        }
        if self.ready.is_none_or(|ready| Instant::now() < ready) {
            return None;
        }
        self.memory = None;
        Some(match self.outcome {
            Outcome::Error(kind) => Err(DeviceError::new(
                kind,
                format!("simulated, in the poll of launch {launch}"),
            )),
            Outcome::Panic => panic!("simulated panic in poll, launch {launch}"),
            Outcome::Outputs | Outcome::Hang => {
                locked(&self.device).counts.finished += 1;
                Ok(std::mem::take(&mut self.outputs))
            }
        })
    }
}

impl<T: Unpin> Future for SimulatedInFlight<T> {
    type Output = Result<Vec<T>, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.look() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                if let Some(ready) = self.ready {
                    timer::wake_at(ready, context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

/// Memory of the device that a batch has until this is dropped.
#[derive(Debug)]
pub(super) struct HeldMemory {
    bytes: u64,
    held: Arc<AtomicU64>,
}

impl HeldMemory {
    pub(super) fn take(held: &Arc<AtomicU64>, bytes: u64) -> Self {
        held.fetch_add(bytes, Ordering::Relaxed);
        Self {
            bytes,
            held: Arc::clone(held),
        }
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
