//! An allocator that measures the memory of recorded calls.

use std::alloc::{GlobalAlloc, Layout, System};

use super::memory;

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
            memory::allocated(layout.size());
        }
        pointer
    }

    // SAFETY: as `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { self.inner.alloc_zeroed(layout) };
        if !pointer.is_null() {
            memory::allocated(layout.size());
        }
        pointer
    }

    // SAFETY: the caller fulfils the contract of `GlobalAlloc::realloc`, passed on unchanged.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { self.inner.realloc(pointer, layout, new_size) };
        if !moved.is_null() {
            memory::freed(layout.size());
            memory::allocated(new_size);
        }
        moved
    }

    // SAFETY: the caller fulfils the contract of `GlobalAlloc::dealloc`, passed on unchanged.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.inner.dealloc(pointer, layout) };
        memory::freed(layout.size());
    }
}
