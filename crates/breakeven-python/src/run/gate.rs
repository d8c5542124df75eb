//! How many workers a Python function keeps busy: measured on the function's own work.
//!
//! A function that holds the interpreter's lock runs on one worker at a time, however many
//! there are, and they only get into each other's way. So of a function that was not seen
//! yet one worker begins, and a thread of ours asks for the lock every fifth of a
//! millisecond: the part of the looks that had to wait is the part of the time in which the
//! function held it. Below [`ONE_WORKER_FROM`] all workers go on, else one does.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::locked;

/// From this part of the time on in which it holds the lock, a function has one worker. Half:
/// even endless workers could not make it twice as fast (Amdahl's law).
const ONE_WORKER_FROM: f64 = 0.5;

/// Time between two looks at the lock.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// A look that took longer had to wait: some times what taking a free lock takes.
const WAITED: Duration = Duration::from_micros(20);

/// The measurement ends after that time, or as soon as it has so many looks: an interpreter
/// gives its lock away every 5 ms where it is asked to (`sys.getswitchinterval`).
const LONGEST: Duration = Duration::from_millis(30);
const LOOKS: u32 = 25;

/// Looks below which nothing can be told: on a busy machine one look may take
/// [`LONGEST`], and the measurement goes on until it has these.
const FEWEST_LOOKS: u32 = 3;

/// What was seen of an operation's function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Held {
    /// Part of the time in which it held the interpreter's lock, 0 to 1.
    pub(super) part: f64,
    /// For how long it was watched.
    pub(super) watched: Duration,
}

impl Held {
    pub(super) fn takes_one_worker(self) -> bool {
        self.part >= ONE_WORKER_FROM
    }
}

/// After so many batches, a function is watched again.
const AGAIN: u32 = 64;

/// Functions that are kept.
const MOST: usize = 4096;

/// Of each operation's function what was seen, and batches since then.
static SEEN: LazyLock<Mutex<HashMap<String, (Held, u32)>>> = LazyLock::new(Mutex::default);

/// What is known of that operation's function; nothing where it is to be watched again.
pub(super) fn known(operation: &str) -> Option<Held> {
    let mut seen = locked(&SEEN);
    let (held, batches) = seen.get_mut(operation)?;
    *batches += 1;
    (*batches < AGAIN).then_some(*held)
}

/// Forgets an operation, or all.
pub(super) fn forget(operation: Option<&str>) {
    locked(&SEEN).retain(|name, _| operation.is_some_and(|operation| operation != name));
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Lets workers of a batch through: one while the function is being watched, then as many
/// as it keeps busy.
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Workers that may be inside; none for all.
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

    /// A gate that finds out how many workers that operation's function keeps busy.
    pub(super) fn watching(operation: &str) -> Arc<Self> {
        let gate = Self::with(Some(1));
        let (watched, operation) = (Arc::clone(&gate), operation.to_owned());
        // Without a thread to measure with, all workers go on.
        let spawned = thread::Builder::new()
            .name("breakeven-gil".to_owned())
            .spawn(move || watched.watch(operation));
        if spawned.is_err() {
            locked(&gate.state).most = None;
        }
        gate
    }

    /// Runs `call` when a worker may. A thread that is inside a gate already waits at none:
    /// others may wait for what it does.
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

    /// What was seen of the function in this batch.
    pub(super) fn held(&self) -> Option<Held> {
        locked(&self.state).held
    }

    /// The batch is over: nothing more is to be seen.
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

    /// None where the batch ended before anything could be told.
    fn measure(&self) -> Option<Held> {
        // A thread's first look is dearer than the others.
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
            // Between two calls the worker is not at it.
            looks += 1;
            waits += u32::from(took > WAITED);
            thread::sleep(LOOK_EVERY);
            watched += began.elapsed();
        }
        let part = f64::from(waits) / f64::from(looks.max(1));
        (looks >= FEWEST_LOOKS).then_some(Held { part, watched })
    }
}

/// A worker that leaves, also where the call panicked.
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
