//! A program whose allocator records; its allocator is the process's, so it is a
//! binary of its own.

use std::alloc::{GlobalAlloc, Layout, System};

use breakeven_profile::{get_profiler, scope};

struct Recording;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Recording {
    // SAFETY: the caller keeps the contract, passed on as it is.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _s = scope!("allocate");
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as `alloc`.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Recording = Recording;

#[test]
fn an_allocator_that_records_does_not_wait_for_itself() {
    for size in 0..2_000_usize {
        let _s = scope!("work", bytes = size, codec = "png");
        std::hint::black_box(vec![1_u8; 100 + size]);
    }
    for _ in 0..20 {
        let thread = std::thread::spawn(|| drop(scope!("in a thread")));
        thread.join().expect("it does not panic");
        get_profiler(true).reset();
        std::hint::black_box(vec![1_u8; 100]);
    }
    let profile = get_profiler(true).snapshot();
    let calls = |name| {
        let of = profile.operations.iter().find(|of| of.name == name);
        of.map_or(0, |of| of.calls())
    };
    assert!(calls("allocate") >= 1);
}
