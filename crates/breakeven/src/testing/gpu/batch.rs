//! A batch on a simulated GPU.

use std::future::Future;
use std::pin::Pin;
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
    /// When its outputs are on the host; none for never.
    pub(super) ready: Option<Instant>,
    pub(super) outcome: Outcome,
    pub(super) launch: u64,
    /// The life of the device that it belongs to.
    pub(super) life: u64,
    pub(super) outputs: Vec<T>,
    /// Its transfer time.
    pub(super) transfer: Duration,
    /// Device memory that it occupies.
    pub(super) bytes: u64,
}

impl<T> SimulatedInFlight<T> {
    /// Returns the outputs, once the device is done; for a batch that hangs, never.
    ///
    /// # Errors
    ///
    /// The scripted errors.
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

    /// Returns the outputs, if they are available.
    pub(super) fn look(&mut self) -> Option<Result<Vec<T>, DeviceError>> {
        let launch = self.launch;
        let mut device = locked(&self.device);
        let is_lost = self.life != device.life;
        if !is_lost && self.ready.is_none_or(|ready| Instant::now() < ready) {
            return None;
        }
        device.held -= std::mem::take(&mut self.bytes);
        if is_lost {
            device.count(FaultKind::Lost);
            return Some(Err(DeviceError::new(
                DeviceErrorKind::DeviceLost,
                format!("simulated, launch {launch} was in flight"),
            )));
        }
        Some(match self.outcome {
            Outcome::Error(kind) => Err(DeviceError::new(
                kind,
                format!("simulated, in the poll of launch {launch}"),
            )),
            Outcome::Panic => {
                drop(device);
                panic!("simulated panic in poll, launch {launch}")
            }
            Outcome::Outputs | Outcome::Hang => {
                device.counts.finished += 1;
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

impl<T> Drop for SimulatedInFlight<T> {
    fn drop(&mut self) {
        locked(&self.device).held -= self.bytes;
    }
}
