//! The queue of a batch: one range of tasks with two ends.
//!
//! A batch of `n` tasks is the range `0..n`. The GPU takes spans from the front,
//! the CPU's workers from the back, and what failed goes back in. One atomic
//! word holds both ends (32 bits each), so that taking is one compare-and-swap
//! and no task can be handed out twice:
//!
//! ```text
//!  0        front                     back          n
//!  |--GPU----|········ nobody's ········|----CPU----|
//!            └── one word: back << 32 | front ──┘
//! ```
//!
//! Why a [`Span`] is unique. A span is made in three places: from the word, by a
//! successful compare-and-swap that moves an end past it, so that no later one
//! sees its tasks again; by splitting, which consumes the span; and from the
//! list of those that were given back, which consumed them. It can be neither
//! copied nor cloned. So at any time every task is in exactly one place: in the
//! word's range, in the list, or in one span that somebody holds (or held and
//! finished). `slots.rs` builds its safety on this.
//!
//! Why `closed` cannot lose a span. Closing empties the word's range by the same
//! compare-and-swap; whoever holds a span may still give it back, and it will
//! lie in the list unasked for. Nothing waits for it: a closed batch has failed.
//!
//! Orderings. The word carries no data but itself: the inputs were there before
//! the threads, and outputs are handed over when a span's end is noted under the
//! ledger's lock (`slots.rs`). The list's length is only a hint that saves the
//! lock; whoever finds nothing in the word looks under the lock itself. So
//! `Relaxed` would do for the word; `AcqRel` costs nothing where it is used once
//! a span, and spares the argument on weak machines.
//!
//! `spans_loom.rs` has loom try every interleaving of takers, givers and a closer.

use std::ops::Range;

use super::sync::{AtomicU64, AtomicUsize, Mutex, Ordering};

/// Tasks that one batch may have: the ends are 32 bits each.
pub(crate) const MOST_TASKS: usize = u32::MAX as usize;

/// A part of a batch that belongs to whoever holds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Tasks in it, never zero.
    pub(crate) fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Its tasks.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Its first `count` tasks and the rest; the whole where `count` leaves no rest.
    pub(crate) fn split(self, count: usize) -> (Span, Option<Span>) {
        let count = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let middle = self.start.saturating_add(count);
        if middle >= self.end {
            return (self, None);
        }
        let (start, end) = (self.start, self.end);
        let rest = Span { start: middle, end };
        (Span { start, end: middle }, Some(rest))
    }
}

/// The tasks of a batch that nobody has taken yet.
#[derive(Debug)]
pub(crate) struct Spans {
    ends: AtomicU64,
    returned: Mutex<Vec<Span>>,
    /// Length of `returned`: looking at it saves the lock.
    waiting: AtomicUsize,
}

fn pack(front: u32, back: u32) -> u64 {
    u64::from(back) << 32 | u64::from(front)
}

fn unpack(ends: u64) -> (u32, u32) {
    let low = u32::try_from(ends & u64::from(u32::MAX)).expect("32 bits");
    let high = u32::try_from(ends >> 32).expect("32 bits");
    (low, high)
}

impl Spans {
    /// The queue of a batch of `tasks`, at most [`MOST_TASKS`].
    pub(crate) fn new(tasks: usize) -> Self {
        let tasks = u32::try_from(tasks).expect("the batch was checked to be countable");
        Self {
            ends: AtomicU64::new(pack(0, tasks)),
            returned: Mutex::new(Vec::new()),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Tasks between the two ends: without those that were given back.
    pub(crate) fn left(&self) -> usize {
        let (front, back) = unpack(self.ends.load(Ordering::Acquire));
        (back - front) as usize
    }

    /// Tasks left of the first `tasks` of the batch.
    pub(crate) fn front_before(&self, tasks: usize) -> usize {
        let (front, back) = unpack(self.ends.load(Ordering::Acquire));
        tasks.min(back as usize).saturating_sub(front as usize)
    }

    /// True where spans were given back and not taken again.
    pub(crate) fn has_returned(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Takes up to `size(what is left)` tasks from the front; none where that is
    /// 0 or nothing is left.
    pub(crate) fn take_front(&self, size: impl Fn(Range<usize>) -> usize) -> Option<Span> {
        self.take(size, |front, back, count| {
            let middle = front + count;
            let span = Span {
                start: front,
                end: middle,
            };
            (pack(middle, back), span)
        })
    }

    /// Takes up to `size(what is left)` tasks from the back; none where that is
    /// 0 or nothing is left.
    pub(crate) fn take_back(&self, size: impl Fn(Range<usize>) -> usize) -> Option<Span> {
        self.take(size, |front, back, count| {
            let middle = back - count;
            let span = Span {
                start: middle,
                end: back,
            };
            (pack(front, middle), span)
        })
    }

    fn take(
        &self,
        size: impl Fn(Range<usize>) -> usize,
        cut: impl Fn(u32, u32, u32) -> (u64, Span),
    ) -> Option<Span> {
        let mut ends = self.ends.load(Ordering::Acquire);
        loop {
            let (front, back) = unpack(ends);
            if front == back {
                return None;
            }
            let left = front as usize..back as usize;
            let count = left.len().min(size(left));
            let count = u32::try_from(count).expect("no more than are left");
            if count == 0 {
                return None;
            }
            let (after, span) = cut(front, back, count);
            let swapped =
                self.ends
                    .compare_exchange_weak(ends, after, Ordering::AcqRel, Ordering::Acquire);
            match swapped {
                Ok(_) => return Some(span),
                Err(now) => ends = now,
            }
        }
    }

    /// Gives back a span that was not done.
    pub(crate) fn give_back(&self, span: Span) {
        let mut returned = self.returned.lock().expect("nobody panics under this lock");
        returned.push(span);
        self.waiting.store(returned.len(), Ordering::Release);
    }

    /// Takes up to `size(tasks of it)` tasks of a span that was given back.
    pub(crate) fn take_returned(&self, size: impl Fn(usize) -> usize) -> Option<Span> {
        if !self.has_returned() {
            return None;
        }
        let mut returned = self.returned.lock().expect("nobody panics under this lock");
        let span = returned.pop()?;
        let (span, rest) = match size(span.len()) {
            0 => {
                returned.push(span);
                return None;
            }
            size => span.split(size),
        };
        returned.extend(rest);
        self.waiting.store(returned.len(), Ordering::Release);
        Some(span)
    }

    /// Takes away all that is left: nobody gets a span any more.
    pub(crate) fn close(&self) {
        while self.take_front(|left| left.len()).is_some() {}
        let mut returned = self.returned.lock().expect("nobody panics under this lock");
        returned.clear();
        self.waiting.store(0, Ordering::Release);
    }
}
