//! Measures how many workers a Python function keeps busy, on the function's own work.
//!
//! A function that holds the GIL runs on one worker at a time, and further workers only interfere.
//! So one worker begins with a new function, and a separate thread requests the lock every fifth of
//! a millisecond: the fraction of requests that had to wait is the fraction of the time in which
//! the function held it. Below [`ONE_WORKER_FROM`] all workers start, else one continues.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::locked;

/// Fraction of the time with the GIL from which a function gets one worker. Half: even infinitely
/// many workers could not make it twice as fast (Amdahl's law).
const ONE_WORKER_FROM: f64 = 0.5;

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

/// The measurement of an operation's function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Held {
    /// Fraction of the time in which it held the GIL, 0 to 1.
    pub(super) part: f64,
    /// Duration of the measurement.
    pub(super) watched: Duration,
}

impl Held {
    pub(super) fn takes_one_worker(self) -> bool {
        self.part >= ONE_WORKER_FROM
    }
}

/// Number of batches after which a function is measured again.
const AGAIN: u32 = 64;

/// Most functions that are kept.
const MOST: usize = 4096;

/// Per operation: the measurement of its function, and batches since then.
static SEEN: LazyLock<Mutex<HashMap<String, (Held, u32)>>> = LazyLock::new(Mutex::default);

/// The measurement of that operation's function; none if it must be measured again.
pub(super) fn known(operation: &str) -> Option<Held> {
    let mut seen = locked(&SEEN);
    let (held, batches) = seen.get_mut(operation)?;
    *batches += 1;
    (*batches < AGAIN).then_some(*held)
}

/// Removes an operation, or all.
pub(super) fn forget(operation: Option<&str>) {
    locked(&SEEN).retain(|name, _| operation.is_some_and(|operation| operation != name));
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Admits workers of a batch: one while the function is measured, then as many as it keeps busy.
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Most workers inside; none for all.
    most: Option<usize>,
    inside: usize,
    /// The batch is over.
    ended: bool,
    held: Option<Held>,
}

impl Gate {
    /// Open for all.
    pub(super) fn open() -> Arc<Self> {
        Self::with(None)
    }

    fn with(most: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                most,
                inside: 0,
                ended: false,
                held: None,
            }),
            changed: Condvar::new(),
        })
    }

    /// A gate that measures how many workers that operation's function keeps busy.
    pub(super) fn watching(operation: &str) -> Arc<Self> {
        let gate = Self::with(Some(1));
        let (watched, operation) = (Arc::clone(&gate), operation.to_owned());
        // Without a thread to measure with, all workers are admitted.
        let spawned = thread::Builder::new()
            .name("breakeven-gil".to_owned())
            .spawn(move || watched.watch(operation));
        if spawned.is_err() {
            locked(&gate.state).most = None;
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
        while state.most.is_some_and(|most| state.inside >= most) {
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

    /// The measurement of the function in this batch.
    pub(super) fn held(&self) -> Option<Held> {
        locked(&self.state).held
    }

    /// The batch has ended, and with it the measurement.
    pub(super) fn end(&self) {
        let mut state = locked(&self.state);
        state.ended = true;
        drop(state);
        self.changed.notify_all();
    }

    fn watch(&self, operation: String) {
        if let Some(held) = self.measure() {
            let mut seen = locked(&SEEN);
            if seen.len() >= MOST {
                seen.clear();
            }
            seen.insert(operation, (held, 0));
            drop(seen);
            let mut state = locked(&self.state);
            state.held = Some(held);
            state.most = held.takes_one_worker().then_some(1);
        } else {
            locked(&self.state).most = None;
        }
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
        let waited_for = state.most.is_some();
        drop(state);
        if waited_for {
            self.0.changed.notify_one();
        }
    }
}
