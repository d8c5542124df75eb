//! Launches that the CPU takes back.
//!
//! Of a first launch nobody knows how long it takes: it may compile for a second
//! what the CPU does in a millisecond. When all else is done and such a launch has
//! taken as long as the workers would take for its tasks, they do them
//! (`Schedule::recall_at`), so that trying a device costs about the time of the batch
//! at the most, and not the device's.

use std::time::Instant;

use super::{Drive, give_up};
use crate::execute::control::Verify;
use crate::execute::engine::Keep;
use crate::execute::executor::GpuExecutor;

impl<I, T, E, F, K, G, V> Drive<'_, '_, I, T, E, F, K, G, V>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    /// True where all else is done, and what is in flight, begun at `since`, should
    /// have ended long ago.
    pub(super) fn is_overdue(&self, since: Instant) -> bool {
        let engine = self.engine;
        let tasks: usize = self.flights.iter().map(|flight| flight.span.len()).sum();
        if engine.done() + tasks < engine.tasks.len() {
            return false;
        }
        let began = since.saturating_duration_since(engine.started);
        let at = engine.schedule.recall_at(tasks, began.as_nanos() as f64);
        at.is_some_and(|at| engine.now() >= at)
    }

    /// Gives what is in flight to the workers. The device gets nothing more of this
    /// batch; nothing is held against it.
    pub(super) fn recall(&mut self, since: Instant) {
        let engine = self.engine;
        self.has_ended = true;
        engine.schedule.gpu_is_gone();
        let flights = std::mem::take(&mut self.flights);
        let mut states = Vec::with_capacity(flights.len());
        let mut tally = engine.tally.driver();
        for flight in flights {
            let waited = flight.submitted.max(since).elapsed();
            tally.recalled.push((flight.span.len(), waited));
            engine.schedule.spans().give_back(flight.span);
            states.push(flight.state);
        }
        drop(tally);
        (self.wake)();
        states.into_iter().for_each(give_up);
    }
}
