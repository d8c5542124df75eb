//! The memory that a thread uses, if an allocator counts it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// True once a counting allocator has allocated.
static COUNTED: AtomicBool = AtomicBool::new(false);

/// Allocated minus freed bytes of a thread, and their maximum since the innermost mark. Negative if
/// it frees other threads' memory.
struct Held {
    now: Cell<i64>,
    most: Cell<i64>,
}

thread_local! {
    // Without a destructor: an allocator is called until the end.
    static HELD: Held = const { Held { now: Cell::new(0), most: Cell::new(0) } };
}

#[inline(always)]
pub(super) fn is_counted() -> bool {
    COUNTED.load(Ordering::Relaxed)
}

/// The largest memory of a node's calls, bytes; one thread writes, one call at a time.
#[derive(Debug)]
pub(super) struct Memory {
    most: AtomicU64,
    /// The thread's memory when the open call began, and the maximum up to then since the
    /// surrounding call began.
    before: AtomicI64,
    most_before: AtomicI64,
}

/// No call is open, or counting began after it did.
const NOT_OPEN: i64 = i64::MIN;

impl Memory {
    pub(super) const fn new() -> Self {
        Self {
            most: AtomicU64::new(0),
            before: AtomicI64::new(NOT_OPEN),
            most_before: AtomicI64::new(0),
        }
    }

    pub(super) fn begin(&self) {
        HELD.with(|held| {
            let now = held.now.get();
            self.before.store(now, Ordering::Relaxed);
            self.most_before
                .store(held.most.replace(now), Ordering::Relaxed);
        });
    }

    /// Ends it, and records the thread's maximum in the meantime minus its memory before.
    pub(super) fn end(&self) {
        let before = self.before.load(Ordering::Relaxed);
        if before == NOT_OPEN {
            return;
        }
        self.before.store(NOT_OPEN, Ordering::Relaxed);
        let held = HELD.with(|held| {
            let most = held.most.get();
            held.most
                .set(most.max(self.most_before.load(Ordering::Relaxed)));
            most.saturating_sub(before)
        });
        self.note(u64::try_from(held).unwrap_or(0));
    }

    #[inline]
    pub(super) fn note(&self, bytes: u64) {
        if bytes > self.most.load(Ordering::Relaxed) {
            self.most.store(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    pub(super) fn clear(&self) {
        self.most.store(0, Ordering::Relaxed);
        self.before.store(NOT_OPEN, Ordering::Relaxed);
    }
}

#[inline]
pub(super) fn allocated(bytes: usize) {
    if !is_counted() {
        COUNTED.store(true, Ordering::Relaxed);
    }
    change(i64::try_from(bytes).unwrap_or(i64::MAX));
}

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

// An allocator that measures the memory of recorded calls.

/// Counts each thread's allocations, which another allocator makes.
///
/// If it is the program's allocator, every recorded call gets the peak of its thread's memory
/// during the call, minus the memory before it: `memory_bytes` of the operation, the maximum over
/// all calls. Memory that other threads allocate for the call counts for them. An allocation costs
/// about a nanosecond more.
///
/// ```
/// use breakeven_profile::recorder::TrackingAllocator;
/// use breakeven_profile::{get_profiler, scope};
///
/// #[global_allocator]
/// static ALLOCATOR: TrackingAllocator = TrackingAllocator::system();
///
/// {
///     let _s = scope!("fill");
///     std::hint::black_box(vec![1_u8; 1 << 20]);
/// }
/// let profile = get_profiler(true).snapshot();
/// assert_eq!(profile.operations[0].memory_bytes, Some(1 << 20));
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct TrackingAllocator<A = System> {
    inner: A,
}

impl TrackingAllocator {
    /// Counts allocations of the system's allocator.
    pub const fn system() -> Self {
        Self::new(System)
    }
}

impl<A> TrackingAllocator<A> {
    /// Counts allocations of `inner`.
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

// SAFETY: every call goes to `inner` with the arguments unchanged and its result is returned
// unchanged, so `inner` fulfils the contract. The additional work touches two integers of the
// thread and a flag: it neither allocates nor panics, and the thread-local has no destructor, so it
// is always accessible.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TrackingAllocator<A> {
    // SAFETY: the caller fulfils the contract of `GlobalAlloc::alloc`, passed on unchanged.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { self.inner.alloc(layout) };
        if !pointer.is_null() {
            allocated(layout.size());
        }
        pointer
    }

    // SAFETY: as `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { self.inner.alloc_zeroed(layout) };
        if !pointer.is_null() {
            allocated(layout.size());
        }
        pointer
    }

    // SAFETY: the caller fulfils the contract of `GlobalAlloc::realloc`, passed on unchanged.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { self.inner.realloc(pointer, layout, new_size) };
        if !moved.is_null() {
            freed(layout.size());
            allocated(new_size);
        }
        moved
    }

    // SAFETY: the caller fulfils the contract of `GlobalAlloc::dealloc`, passed on unchanged.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.inner.dealloc(pointer, layout) };
        freed(layout.size());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_knows_its_most_and_leaves_the_one_around_it_right() {
        let (outer, inner) = (Memory::new(), Memory::new());
        allocated(100);
        outer.begin();
        allocated(50);
        freed(50);
        inner.begin();
        allocated(20);
        freed(20);
        inner.end();
        freed(100);
        outer.end();
        assert_eq!((outer.most(), inner.most()), (50, 20));
    }

    #[test]
    fn freeing_what_others_allocated_is_no_memory() {
        let call = Memory::new();
        allocated(0);
        call.begin();
        freed(1_000);
        call.end();
        assert_eq!(call.most(), 0);
    }

    #[test]
    fn a_call_that_began_before_counting_is_left_out() {
        allocated(1_000);
        let call = Memory::new();
        call.end();
        assert_eq!(call.most(), 0);
    }
}
