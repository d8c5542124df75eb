//! The threads' buffers, and which thread may record into which.
//!
//! Each recording thread has its own buffer. When it ends, the next new thread gets the buffer with
//! its content, so there are never more buffers than concurrent threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use super::clock::Instant;
use super::timeline::Ring;
use super::tree::{Place, Tree};
use super::{clock, lock, switch};

#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// The recording that the content belongs to; see [`Pool::generation`].
    pub(super) generation: AtomicU32,
    pub(super) tree: Mutex<Tree>,
    pub(super) ring: Mutex<Ring>,
    /// Guards that were dropped after one around them.
    pub(super) misnested: AtomicU64,
    /// The thread that has the buffer or had it last.
    pub(super) thread: Mutex<String>,
}

/// All buffers, and the settings that they follow.
#[derive(Debug)]
pub(super) struct Pool {
    buffers: Vec<&'static Buffer>,
    /// Buffers of ended threads.
    pub(super) free: Vec<&'static Buffer>,
    /// Number of the current recording: the number of resets, from 1.
    pub(super) generation: u32,
    /// Events in a thread's timeline; 0 disables it.
    pub(super) timeline: usize,
    pub(super) began: Option<(Instant, SystemTime)>,
    pub(super) switch: switch::Wanted,
}

/// Appended to the name of a thread whose buffer other threads took over.
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
    /// The start of the recording's times.
    pub(super) fn began(&mut self) -> (Instant, SystemTime) {
        *self
            .began
            .get_or_insert_with(|| (clock().now(), SystemTime::now()))
    }

    /// Returns a buffer for this thread, preferably one from a thread of the same name. Existing
    /// content keeps its thread's name.
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

    /// The buffers with content of the current recording. None of them is cleared while the pool is
    /// locked.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &'static Buffer> {
        let generation = self.generation;
        let buffers = self.buffers.iter().copied();
        buffers.filter(move |buffer| buffer.generation.load(Ordering::Acquire) == generation)
    }
}

impl Buffer {
    /// Assigns the buffer to that recording; only its owner may call this.
    pub(super) fn follow(&self, generation: u32) {
        if self.generation.load(Ordering::Relaxed) != generation {
            self.tree().clear();
            lock(&self.ring).clear();
            self.misnested.store(0, Ordering::Relaxed);
            self.generation.store(generation, Ordering::Release);
        }
    }

    /// The call paths; locked only briefly, because the thread may wait for them.
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
        // Concurrent tests may have threads of their own.
        let more = pool().buffers.len() - before;
        assert!(more < 50, "{more} buffers more");
    }
}
