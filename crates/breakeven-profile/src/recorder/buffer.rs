//! Where the threads record, and who may record where.
//!
//! Each thread that records has a buffer of its own. When it ends, the buffer
//! goes to the next thread that begins, with what is in it: there are never
//! more buffers than threads were alive at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use super::clock::Instant;
use super::lock::lock;
use super::timeline::Ring;
use super::tree::{Place, Tree};
use super::{clock, switch};

#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// The recording that the content is of; see [`Pool::generation`].
    pub(super) generation: AtomicU32,
    pub(super) tree: Mutex<Tree>,
    pub(super) ring: Ring,
    /// Guards that were dropped after one around them.
    pub(super) misnested: AtomicU64,
    /// The thread that has it or had it last.
    pub(super) thread: Mutex<String>,
}

/// All buffers, and what they all follow.
#[derive(Debug)]
pub(super) struct Pool {
    buffers: Vec<&'static Buffer>,
    /// Those of threads that have ended.
    pub(super) free: Vec<&'static Buffer>,
    /// Which recording is going on: the number of resets, from 1.
    pub(super) generation: u32,
    /// Events that the timeline of a thread holds; 0: there is none.
    pub(super) timeline: usize,
    pub(super) began: Option<(Instant, SystemTime)>,
    pub(super) switch: switch::Wanted,
}

/// Behind the name of a thread whose buffer threads of other names took over.
const AND_OTHERS: &str = " and others";

static POOL: Mutex<Pool> = Mutex::new(Pool {
    buffers: Vec::new(),
    free: Vec::new(),
    generation: 1,
    timeline: 0,
    began: None,
    switch: switch::Wanted::new(),
});

/// The pool, for slow paths.
pub(super) fn pool() -> MutexGuard<'static, Pool> {
    lock(&POOL)
}

impl Pool {
    /// The moment that the recording's times count from.
    pub(super) fn began(&mut self) -> (Instant, SystemTime) {
        *self
            .began
            .get_or_insert_with(|| (clock().now(), SystemTime::now()))
    }

    /// A buffer for this thread; one that a thread of the same name left, where
    /// there is one. What it holds already keeps its thread's name.
    pub(super) fn take(&mut self, thread: &str) -> &'static Buffer {
        let same = |buffer: &&'static Buffer| *lock(&buffer.thread) == thread;
        let found = match self.free.iter().rposition(same) {
            Some(at) => Some(self.free.swap_remove(at)),
            None => self.free.pop(),
        };
        let buffer = found.unwrap_or_else(|| {
            let buffer: &'static Buffer = Box::leak(Box::default());
            self.buffers.push(buffer);
            buffer
        });
        let mut name = lock(&buffer.thread);
        let holds_calls = buffer.generation.load(Ordering::Relaxed) == self.generation;
        if !holds_calls {
            thread.clone_into(&mut name);
        } else if *name != thread && !name.ends_with(AND_OTHERS) {
            name.push_str(AND_OTHERS);
        }
        drop(name);
        buffer
    }

    /// The buffers that hold something of the recording that is going on. None
    /// of them is cleared while the pool is held.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &'static Buffer> {
        let generation = self.generation;
        let buffers = self.buffers.iter().copied();
        buffers.filter(move |buffer| buffer.generation.load(Ordering::Acquire) == generation)
    }
}

impl Buffer {
    /// Makes the buffer one of that recording; its owner's to call.
    pub(super) fn follow(&self, generation: u32) {
        if self.generation.load(Ordering::Relaxed) != generation {
            self.tree().clear();
            self.ring.clear();
            self.misnested.store(0, Ordering::Relaxed);
            self.generation.store(generation, Ordering::Release);
        }
    }

    /// The call paths; held for a short while only, since the thread may wait for it.
    pub(super) fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    pub(super) fn places(&self) -> Vec<Place> {
        self.tree().places().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_leave_their_buffer_to_the_next() {
        let before = pool().buffers.len();
        for _ in 0..1_000 {
            let recorded = std::thread::spawn(|| drop(crate::scope!("one of a thousand threads")));
            recorded.join().unwrap();
        }
        // Tests beside this one may have threads of their own.
        let more = pool().buffers.len() - before;
        assert!(more < 50, "{more} buffers more");
    }
}
