//! The job slots of the CPU, as workers of the engine: a thread per concurrent job, at most one per
//! input of a window. An idle thread sleeps or ends. Windows overlap and share the slots.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Scope;

use breakeven::execute::{CpuExecutor, Leaf, Portion};

use super::running::lock;

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(1) };
}

/// The number of the calling thread's slot, from 1.
pub(super) fn slot() -> usize {
    SLOT.get()
}

/// The job slots of the CPU.
#[derive(Debug)]
pub(super) struct Workers {
    slots: usize,
    /// The numbers of the free slots, the first one last.
    free: Mutex<Vec<usize>>,
    freed: Condvar,
}

impl Workers {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            free: Mutex::new((1..=slots).rev().collect()),
            freed: Condvar::new(),
        }
    }

    /// Calls `body` in a slot, as soon as one is free.
    fn in_slot<R>(&self, body: impl FnOnce() -> R) -> R {
        let free = self
            .freed
            .wait_while(lock(&self.free), |free| free.is_empty());
        let mut free = free.unwrap_or_else(PoisonError::into_inner);
        let slot = free.pop().unwrap_or_default();
        drop(free);
        SLOT.set(slot);
        let result = body();
        lock(&self.free).push(slot);
        self.freed.notify_one();
        result
    }
}

/// The threads of one batch.
struct Threads<'b> {
    workers: &'b Workers,
    leaf: &'b (dyn Fn() -> Leaf + Sync),
    most: usize,
    live: AtomicUsize,
}

impl<'b> Threads<'b> {
    /// Starts each thread that does not run, once: one that finds no work ends at once, perhaps
    /// before the next is started.
    fn wake<'s>(&'s self, scope: &'s Scope<'s, 'b>) {
        let more = |live| (live < self.most).then_some(live + 1);
        let order = Ordering::SeqCst;
        for _ in 0..self.most {
            if self.live.fetch_update(order, order, more).is_err() {
                return;
            }
            let thread = std::thread::Builder::new();
            let started = thread.spawn_scoped(scope, move || self.run(scope));
            if started.is_err() {
                // The system has no more threads: the existing ones do all work.
                self.live.fetch_sub(1, order);
                return;
            }
        }
    }

    fn run<'s>(&'s self, scope: &'s Scope<'s, 'b>) {
        while self.turn(scope) {}
        self.live.fetch_sub(1, Ordering::SeqCst);
        // This thread must finish the earlier tasks itself.
        while self.turn(scope) {}
    }

    /// Does a task; false if there is none.
    fn turn<'s>(&'s self, scope: &'s Scope<'s, 'b>) -> bool {
        let did = self.workers.in_slot(self.leaf);
        if did == Leaf::More {
            self.wake(scope);
        }
        did != Leaf::Idle
    }
}

impl CpuExecutor for Workers {
    fn workers(&self) -> usize {
        self.slots
    }

    fn most_tasks(&self) -> usize {
        1
    }

    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    ) {
        let threads = Threads {
            workers: self,
            leaf,
            most: self.slots.min(tasks),
            live: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| body(&|| threads.wake(scope)));
    }

    /// A batch that cannot be stopped, which a run never has.
    fn all(&self, portion: Portion<'_>) {
        self.in_slot(|| portion.run());
    }
}
