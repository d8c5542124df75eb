//! What is counted while a batch runs.

use std::collections::BTreeMap;
use std::time::Instant;

use super::result::{Fallback, Share};
use crate::error::DeviceError;

/// What a device reported.
#[derive(Debug)]
pub(super) struct Reported {
    /// The GPU's place among those that may be used; none where it was none of them.
    pub(super) gpu: Option<usize>,
    pub(super) error: DeviceError,
}

/// Device errors that are kept word by word.
const MOST_ERRORS: usize = 16;

/// Counts of one batch.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) cpu: Share,
    pub(super) gpus: Vec<Share>,
    pub(super) fallback: Fallback,
    /// Tasks that the CPU did in each GPU's place.
    pub(super) fell: Vec<usize>,
    /// The first of the devices' errors …
    pub(super) errors: Vec<Reported>,
    /// … and how many there were of each kind.
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) checked: usize,
    /// When a device failed first.
    pub(super) failed_at: Option<Instant>,
}

impl Counts {
    /// A worker begins a span.
    pub(super) fn cpu_begins(&mut self) {
        if let Some(failed_at) = self.failed_at {
            let delay = &mut self.fallback.delay;
            delay.get_or_insert_with(|| failed_at.elapsed());
        }
    }

    /// A launch of that GPU failed.
    pub(super) fn gpu_failed(&mut self, gpu: usize, error: &DeviceError) {
        self.fallback.failed_spans += 1;
        self.note(Some(gpu), error);
    }

    /// Counts an error, and keeps it word by word unless there are many already.
    pub(super) fn note(&mut self, gpu: Option<usize>, error: &DeviceError) {
        self.failed_at.get_or_insert_with(Instant::now);
        *self.kinds.entry(error.kind.to_string()).or_default() += 1;
        if self.errors.len() < MOST_ERRORS {
            let error = error.clone();
            self.errors.push(Reported { gpu, error });
        }
    }

    /// The first error of any device.
    pub(super) fn first_error(&self) -> Option<&DeviceError> {
        self.errors.first().map(|reported| &reported.error)
    }
}
