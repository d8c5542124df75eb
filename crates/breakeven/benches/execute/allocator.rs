//! Counts what the whole process holds while it is asked to, and has the
//! system's allocator do the work.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static NOW: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

/// What a call held beyond what was held before, bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// The most at any time, on all threads together.
    pub(crate) most: i64,
    /// What it left behind.
    pub(crate) left: i64,
}

/// Runs `call` and counts what all threads allocate and free meanwhile.
pub(crate) fn held_by(call: impl FnOnce()) -> Held {
    NOW.store(0, Ordering::SeqCst);
    MOST.store(0, Ordering::SeqCst);
    IS_COUNTING.store(true, Ordering::SeqCst);
    call();
    IS_COUNTING.store(false, Ordering::SeqCst);
    Held {
        most: MOST.load(Ordering::SeqCst),
        left: NOW.load(Ordering::SeqCst),
    }
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[inline]
fn change(allocated: usize, freed: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        let signed = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
        let change = signed(allocated) - signed(freed);
        let now = NOW.fetch_add(change, Ordering::Relaxed) + change;
        MOST.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator with the arguments unchanged
// and its answer comes back unchanged. What is done beside it changes two
// integers: it neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, passed on as it is.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        change(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`, passed on as it is.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        change(new_size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`, passed on as it is.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        change(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
