//! What is counted while a batch runs.

use std::time::{Duration, Instant};

use super::result::{Fallback, Share};
use crate::error::DeviceError;

/// Device errors that are kept word by word.
const MOST_ERRORS: usize = 16;

/// Launches of each device whose times the cost model learns from.
const MOST_LAUNCHES: usize = 8;

/// Counts of one batch.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) cpu: Share,
    pub(super) gpus: Vec<GpuTally>,
    pub(super) fallback: Fallback,
    pub(super) errors: Vec<DeviceError>,
    pub(super) checked: usize,
    /// When a device failed first.
    failed_at: Option<Instant>,
}

/// Counts of one GPU.
#[derive(Debug, Default, Clone)]
pub(super) struct GpuTally {
    pub(super) share: Share,
    /// Tasks and time of launches that succeeded.
    pub(super) launches: Vec<(usize, Duration)>,
    /// Tasks of launches that were given to the CPU, and for how long they had run.
    pub(super) recalled: Vec<(usize, Duration)>,
}

impl Tally {
    pub(super) fn of(gpus: usize) -> Self {
        Self {
            gpus: vec![GpuTally::default(); gpus],
            ..Self::default()
        }
    }

    /// A worker begins a span.
    pub(super) fn cpu_begins(&mut self) {
        if let Some(failed_at) = self.failed_at {
            self.fallback
                .delay
                .get_or_insert_with(|| failed_at.elapsed());
        }
    }

    /// A launch was done in that time; the cost model is told where it is known.
    pub(super) fn gpu_did(&mut self, index: usize, tasks: usize, busy: Duration, is_known: bool) {
        let gpu = &mut self.gpus[index];
        gpu.share.add(tasks, busy);
        if is_known && gpu.launches.len() < MOST_LAUNCHES {
            gpu.launches.push((tasks, busy));
        }
    }

    /// A launch failed.
    pub(super) fn gpu_failed(&mut self, error: &DeviceError) {
        self.fallback.failed_spans += 1;
        self.note(error);
    }

    /// Keeps an error word by word, unless there are many already.
    pub(super) fn note(&mut self, error: &DeviceError) {
        self.failed_at.get_or_insert_with(Instant::now);
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error.clone());
        }
    }
}
