//! Counters of a running batch.

use std::collections::BTreeMap;
use std::time::Instant;

use super::result::{Fallback, Share};
use crate::error::DeviceError;

/// An error that a device reported.
#[derive(Debug)]
pub(super) struct Reported {
    /// The index of the GPU among the usable ones; none if it was not one of them.
    pub(super) gpu: Option<usize>,
    pub(super) error: DeviceError,
}

/// Most device errors kept with their text.
pub(super) const MOST_ERRORS: usize = 16;

/// Counts of one batch.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) cpu: Share,
    pub(super) gpus: Vec<Share>,
    pub(super) fallback: Fallback,
    /// Tasks of each GPU that fell back to the CPU.
    pub(super) fell: Vec<usize>,
    /// The first errors of the devices …
    pub(super) errors: Vec<Reported>,
    /// … and the number of errors of each kind.
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) checked: usize,
    /// When a device first failed.
    pub(super) failed_at: Option<Instant>,
}

impl Counts {
    /// Records that a worker begins a span.
    pub(super) fn cpu_begins(&mut self) {
        if let Some(failed_at) = self.failed_at {
            let delay = &mut self.fallback.delay;
            delay.get_or_insert_with(|| failed_at.elapsed());
        }
    }

    /// Records that a launch of that GPU failed.
    pub(super) fn gpu_failed(&mut self, gpu: usize, error: &DeviceError) {
        self.fallback.failed_spans += 1;
        self.note(Some(gpu), error);
    }

    /// Counts an error, and keeps its text unless there are too many.
    pub(super) fn note(&mut self, gpu: Option<usize>, error: &DeviceError) {
        self.failed_at.get_or_insert_with(Instant::now);
        *self.kinds.entry(error.kind.to_string()).or_default() += 1;
        if self.errors.len() < MOST_ERRORS {
            let error = error.clone();
            self.errors.push(Reported { gpu, error });
        }
    }

    /// Returns the first error of any device.
    pub(super) fn first_error(&self) -> Option<&DeviceError> {
        self.errors.first().map(|reported| &reported.error)
    }
}
