//! What is counted while a batch runs.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::record::SpanRecord;
use super::result::{Fallback, Share};
use crate::error::DeviceError;

/// Device errors that are kept word by word.
const MOST_ERRORS: usize = 16;

/// Launches whose times the cost model learns from.
const MOST_LAUNCHES: usize = 8;

/// Counts of one batch. The workers' are atomic, the driver's behind a lock
/// that nobody else takes meanwhile.
#[derive(Debug, Default)]
pub(super) struct Tally {
    tasks: AtomicUsize,
    spans: AtomicUsize,
    busy_ns: AtomicU64,
    /// From the first device error to the first task after it, ns + 1.
    delay_ns: AtomicU64,
    driver: Mutex<DriverTally>,
    /// How spans are recorded.
    pub(super) record: SpanRecord,
}

/// What the driver counts.
#[derive(Debug, Default, Clone)]
pub(super) struct DriverTally {
    pub(super) share: Share,
    pub(super) fallback: Fallback,
    pub(super) errors: Vec<DeviceError>,
    pub(super) checked: usize,
    /// Tasks and time of launches that succeeded.
    pub(super) launches: Vec<(usize, Duration)>,
    /// Tasks of launches that were given to the CPU, and for how long they had run.
    pub(super) recalled: Vec<(usize, Duration)>,
}

impl Tally {
    pub(super) fn cpu_did(&self, tasks: usize, busy: Duration) {
        self.tasks.fetch_add(tasks, Ordering::Relaxed);
        self.spans.fetch_add(1, Ordering::Relaxed);
        let ns = u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// The CPU begins a span after the device failed `failed_at` ns into the batch.
    pub(super) fn fell_back_after(&self, now: Duration, failed_at: u64) {
        if self.delay_ns.load(Ordering::Relaxed) == 0 {
            let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            let delay = now.saturating_sub(failed_at) + 1;
            let order = Ordering::Relaxed;
            let _ = self.delay_ns.compare_exchange(0, delay, order, order);
        }
    }

    pub(super) fn driver(&self) -> MutexGuard<'_, DriverTally> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the CPU did.
    pub(super) fn cpu(&self) -> Share {
        Share {
            tasks: self.tasks.load(Ordering::Relaxed),
            spans: self.spans.load(Ordering::Relaxed),
            busy: Duration::from_nanos(self.busy_ns.load(Ordering::Relaxed)),
        }
    }

    /// From the first device error to the CPU's first task after it.
    pub(super) fn delay(&self) -> Option<Duration> {
        match self.delay_ns.load(Ordering::Relaxed) {
            0 => None,
            ns => Some(Duration::from_nanos(ns - 1)),
        }
    }
}

impl DriverTally {
    /// A launch was done in that time; the cost model is told where it is known.
    pub(super) fn did(&mut self, tasks: usize, busy: Duration, is_known: bool) {
        self.share.tasks += tasks;
        self.share.spans += 1;
        self.share.busy += busy;
        if is_known && self.launches.len() < MOST_LAUNCHES {
            self.launches.push((tasks, busy));
        }
    }

    /// Tasks that were taken back from the GPU because it took too long for them.
    pub(super) fn recalled_tasks(&self) -> usize {
        self.recalled.iter().map(|(tasks, _)| tasks).sum()
    }

    pub(super) fn failed(&mut self, error: &DeviceError) {
        self.fallback.failed_spans += 1;
        self.note(error);
    }

    /// Keeps an error word by word, unless there are many already.
    pub(super) fn note(&mut self, error: &DeviceError) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error.clone());
        }
    }
}
