//! How the CPU forms are spread over the pool and over SIMD lanes.

use std::cell::Cell;
use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pulp::Arch;

/// How long a thread from outside the pool stays awake for the others, at most, and
/// they for it.
const LONGEST_WATCH: Duration = Duration::from_micros(100);

/// Calls `work(start, chunk)` for pieces of `out` of at most `chunk` elements,
/// on the pool where there is more than one piece. Waking a thread takes ten
/// microseconds and more, so a piece is some tens of them. Each call is compiled for
/// the widest SIMD that this CPU has.
pub(super) fn for_chunks<T, F>(out: &mut [T], chunk: usize, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let arch = Arch::new();
    for_pieces(out, chunk, |start, piece| {
        arch.dispatch(|| work(start, piece));
    });
}

/// [`for_chunks`] without its choice of SIMD, for work that makes it itself.
///
/// The calling thread begins at once and takes pieces as the pool's threads do:
/// a batch of a few microseconds is often done before one of them is awake. As
/// many threads work as the pool has at most, the caller among them.
pub(super) fn for_pieces<T, F>(out: &mut [T], chunk: usize, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let pieces = out.len().div_ceil(chunk.max(1));
    let threads = rayon::current_num_threads().min(pieces);
    if threads <= 1 {
        let pieces = out.chunks_mut(chunk.max(1)).enumerate();
        pieces.for_each(|(index, piece)| work(index * chunk, piece));
        return;
    }
    let left = Mutex::new(out.chunks_mut(chunk).enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_all = || {
        while let Some((index, piece)) = next() {
            work(index * chunk, piece);
        }
    };
    let others = AtomicUsize::new(threads - 1);
    let is_outside = rayon::current_thread_index().is_none();
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| {
                take_all();
                if is_outside {
                    rayon::spawn(linger);
                }
                others.fetch_sub(1, Ordering::Release);
            });
        }
        let start = Instant::now();
        take_all();
        if is_outside {
            watch(&others, start.elapsed().min(LONGEST_WATCH));
        }
    });
}

thread_local! {
    /// Until when a thread of the pool stays awake, where it does.
    static AWAKE_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Keeps a thread of the pool awake for the next call, which often follows at once:
/// one that has to be woken comes late, and may be woken on the caller's own core. It
/// does whatever work the pool gets meanwhile.
fn linger() {
    let until = Some(Instant::now() + LONGEST_WATCH);
    if AWAKE_UNTIL.replace(until).is_some() {
        // Work that this thread did while it was awake: it stays so for longer.
        return;
    }
    while AWAKE_UNTIL
        .get()
        .is_some_and(|until| Instant::now() < until)
    {
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            hint::spin_loop();
        }
    }
    AWAKE_UNTIL.set(None);
}

/// Stays awake until the others are done with their last pieces, for so long at
/// most: to fall asleep and be woken would take longer than they do. Only for a
/// thread that is not of the pool; one that is does the pool's work meanwhile.
fn watch(others: &AtomicUsize, limit: Duration) {
    let start = Instant::now();
    while others.load(Ordering::Acquire) > 0 && start.elapsed() < limit {
        hint::spin_loop();
    }
}
