//! A batch on a simulated GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::error::DeviceErrorKind;

/// A batch on a [`SimulatedGpu`](super::SimulatedGpu). Dropping it frees its
/// memory; the device still spends its time on it.
#[derive(Debug)]
pub struct SimulatedInFlight<T> {
    /// When its outputs are on the host; none for never.
    pub(super) ready: Option<Instant>,
    pub(super) outcome: Outcome,
    pub(super) launch: u64,
    /// The device's life that it belongs to.
    pub(super) life: u64,
    pub(super) outputs: Vec<T>,
    pub(super) memory: Option<HeldMemory>,
}

/// What becomes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Outputs,
    Error(DeviceErrorKind),
    Panic,
    Hang,
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
