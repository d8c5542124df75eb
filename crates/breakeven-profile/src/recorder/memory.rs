//! The memory that a thread holds, where an allocator counts it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// True once a counting allocator has allocated.
static COUNTED: AtomicBool = AtomicBool::new(false);

/// What a thread allocated less what it freed, and the most since the innermost
/// mark; bytes. Below zero where it frees what others allocated.
struct Held {
    now: Cell<i64>,
    most: Cell<i64>,
}

thread_local! {
    // Without a destructor: an allocator is called to the last.
    static HELD: Held = const { Held { now: Cell::new(0), most: Cell::new(0) } };
}

/// What a thread held when a call began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    now: i64,
    most: i64,
}

/// Marks the beginning of a call; `None` where nothing counts.
#[inline]
pub(super) fn mark() -> Option<Mark> {
    if !COUNTED.load(Ordering::Relaxed) {
        return None;
    }
    Some(HELD.with(|held| {
        let now = held.now.get();
        let most = held.most.replace(now);
        Mark { now, most }
    }))
}

/// The most that the thread held since the mark beyond what it held then, bytes.
pub(super) fn held_since(mark: Mark) -> u64 {
    HELD.with(|held| {
        let most = held.most.get();
        held.most.set(most.max(mark.most));
        u64::try_from(most.saturating_sub(mark.now)).unwrap_or(0)
    })
}

/// Counts an allocation of the thread.
#[inline]
pub(super) fn allocated(bytes: usize) {
    if !COUNTED.load(Ordering::Relaxed) {
        COUNTED.store(true, Ordering::Relaxed);
    }
    change(i64::try_from(bytes).unwrap_or(i64::MAX));
}

/// Counts what the thread frees.
#[inline]
pub(super) fn freed(bytes: usize) {
    change(-i64::try_from(bytes).unwrap_or(i64::MAX));
}

#[inline]
fn change(bytes: i64) {
    HELD.with(|held| {
        let now = held.now.get().saturating_add(bytes);
        held.now.set(now);
        if now > held.most.get() {
            held.most.set(now);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_knows_the_most_since_and_leaves_the_outer_one_right() {
        allocated(100);
        let outer = mark().expect("something was counted");
        allocated(50);
        freed(50);
        let inner = mark().expect("something was counted");
        allocated(20);
        freed(20);
        assert_eq!(held_since(inner), 20);
        freed(100);
        assert_eq!(held_since(outer), 50);
    }

    #[test]
    fn freeing_what_others_allocated_is_no_memory() {
        allocated(0);
        let mark = mark().expect("something was counted");
        freed(1_000);
        assert_eq!(held_since(mark), 0);
    }
}
