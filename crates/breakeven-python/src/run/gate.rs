//! Measures how many workers a Python function keeps busy, on the function's own work.
//!
//! A function that holds the GIL runs on one worker at a time, and further workers only interfere.
//! So one worker begins with a new function, and a separate thread requests the lock every fifth of
//! a millisecond: the fraction of requests that had to wait is the fraction of the time in which
//! the function held it. Below one half all workers start, else one continues.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::ways::{self, AGAIN, Held};
use crate::locked;

/// Time between two requests of the lock.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// A request that took longer had to wait: several times the cost of a free lock.
const WAITED: Duration = Duration::from_micros(20);

/// The measurement ends after this time, or after this many requests: an interpreter releases its
/// lock every 5 ms on request (`sys.getswitchinterval`).
const LONGEST: Duration = Duration::from_millis(30);
const LOOKS: u32 = 25;

/// Fewest requests for a result: on a busy machine one request may take [`LONGEST`], and the
/// measurement continues until it has these.
const FEWEST_LOOKS: u32 = 3;

/// The measurement of that operation's function; none if it must be measured again.
pub(super) fn known(operation: &str) -> Option<Held> {
    ways::with_seen(operation, None, |seen| {
        seen.batches += 1;
        seen.held.filter(|_| seen.batches < AGAIN)
    })
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Admits workers of a batch: one while the function is measured, then as many as it keeps busy.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All workers are admitted.
    is_open: bool,
    inside: usize,
    /// The batch is over.
    ended: bool,
    held: Option<Held>,
}

impl Gate {
    /// A gate that measures how many workers that operation's function keeps busy.
    pub(super) fn watching(operation: &str) -> Arc<Self> {
        let gate = Arc::new(Self::default());
        let (watched, operation) = (Arc::clone(&gate), operation.to_owned());
        // Without a thread to measure with, all workers are admitted.
        let spawned = thread::Builder::new()
            .name("breakeven-gil".to_owned())
            .spawn(move || watched.watch(&operation));
        if spawned.is_err() {
            locked(&gate.state).is_open = true;
        }
        gate
    }

    /// Runs `call` when a worker is admitted. A thread that is inside a gate already does not wait
    /// at another: others may wait for it.
    pub(super) fn pass<R>(&self, call: impl FnOnce() -> R) -> R {
        if IS_INSIDE.replace(true) {
            return call();
        }
        let mut state = locked(&self.state);
        while !state.is_open && state.inside > 0 {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.inside += 1;
        drop(state);
        self.changed.notify_all();
        let _leaves = Leaves(self);
        call()
    }

    /// The batch has ended, and with it the measurement, which it returns.
    pub(super) fn end(&self) -> Option<Held> {
        let mut state = locked(&self.state);
        state.ended = true;
        self.changed.notify_all();
        state.held
    }

    fn watch(&self, operation: &str) {
        let held = self.measure();
        if held.is_some() {
            ways::with_seen(operation, None, |seen| {
                (seen.held, seen.batches) = (held, 0)
            });
        }
        let mut state = locked(&self.state);
        state.held = held;
        state.is_open = !held.is_some_and(Held::takes_one_worker);
        self.changed.notify_all();
    }

    /// None if the batch ended before there was a result.
    fn measure(&self) -> Option<Held> {
        // A thread's first request is slower than later ones.
        Python::try_attach(|_| ())?;
        let (mut looks, mut waits) = (0_u32, 0_u32);
        let mut watched = Duration::ZERO;
        while looks < FEWEST_LOOKS || (watched < LONGEST && looks < LOOKS) {
            let mut state = locked(&self.state);
            while state.inside == 0 && !state.ended {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.ended {
                break;
            }
            drop(state);
            let began = Instant::now();
            Python::try_attach(|_| ())?;
            let took = began.elapsed();
            // Between two calls the worker does not hold the lock.
            looks += 1;
            waits += u32::from(took > WAITED);
            thread::sleep(LOOK_EVERY);
            watched += began.elapsed();
        }
        let part = f64::from(waits) / f64::from(looks.max(1));
        (looks >= FEWEST_LOOKS).then_some(Held { part, watched })
    }
}

/// A worker that leaves, also after a panic of the call.
struct Leaves<'g>(&'g Gate);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
        let mut state = locked(&self.0.state);
        state.inside -= 1;
        if !state.is_open {
            self.0.changed.notify_one();
        }
    }
}
