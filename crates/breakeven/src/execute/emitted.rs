//! Reports batches as metrics of the facade `metrics` (feature `metrics`), to the exporter that the
//! program installed. Without an exporter each call ends in the facade.

use std::sync::Arc;

use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};

use super::ended::Ended;

const BATCHES: &str = "breakeven_batches_total";
const DURATION: &str = "breakeven_batch_duration_seconds";
const TASKS: &str = "breakeven_tasks_total";
const FALLBACK: &str = "breakeven_fallback_tasks_total";
const QUARANTINES: &str = "breakeven_quarantines_total";

/// Describes this library's metrics to the installed exporter, for those that print descriptions.
/// It must be called after the exporter was installed; the metrics themselves need no call.
///
/// | metric | labels | |
/// |---|---|---|
/// | `breakeven_batches_total` | `operation`, `device`, `outcome` | batches that ended: `done`, or `incomplete` (stopped or failed) |
/// | `breakeven_batch_duration_seconds` | `operation`, `device` | histogram: time of the completed batches |
/// | `breakeven_tasks_total` | `operation`, `device` | tasks by the device that ran them |
/// | `breakeven_fallback_tasks_total` | `operation` | tasks that fell back from a GPU to the CPU |
/// | `breakeven_quarantines_total` | `operation`, `device` | how often a device was quarantined after it failed in a batch |
///
/// `device` of a batch names all devices that it ran on, such as `cpu+gpu0`.
pub fn describe_metrics() {
    describe_counter!(
        BATCHES,
        "Batches that ended: done, or incomplete because they were stopped or failed."
    );
    describe_histogram!(DURATION, Unit::Seconds, "Time of the completed batches.");
    describe_counter!(TASKS, "Tasks, by the device that ran them.");
    describe_counter!(FALLBACK, "Tasks that fell back from a GPU to the CPU.");
    describe_counter!(
        QUARANTINES,
        "How often a device was quarantined after a failure."
    );
}

/// Reports a batch that ended.
pub(super) fn batch(ended: &Ended, operation: &str) {
    let operation: Arc<str> = operation.into();
    let device: Arc<str> = ended.ran_on().into();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let is_whole = ended.is_whole();
    let outcome = if is_whole { "done" } else { "incomplete" };
    counter!(
        BATCHES,
        "operation" => Arc::clone(&operation), "device" => Arc::clone(&device), "outcome" => outcome
    )
    .increment(1);
    if is_whole {
        histogram!(DURATION, "operation" => Arc::clone(&operation), "device" => device)
            .record(ended.took);
    }
    let counts = &ended.counts;
    if counts.cpu.tasks > 0 {
        counter!(TASKS, "operation" => Arc::clone(&operation), "device" => "cpu")
            .increment(count(counts.cpu.tasks));
    }
    for (gpu, name) in counts.gpus.iter().zip(&ended.names) {
        if gpu.tasks > 0 {
            counter!(TASKS, "operation" => Arc::clone(&operation), "device" => name.clone())
                .increment(count(gpu.tasks));
        }
    }
    // Also if there was none: a rate needs a series that begins at zero. In an incomplete batch no
    // device ran the tasks that would have fallen back.
    let fallen = if is_whole { counts.fallback.tasks } else { 0 };
    counter!(FALLBACK, "operation" => operation).increment(count(fallen));
}

/// Reports that a device failed in a batch of this operation and is quarantined.
pub(super) fn quarantine(device: &str, operation: &str) {
    counter!(QUARANTINES, "operation" => operation.to_owned(), "device" => device.to_owned())
        .increment(1);
}
