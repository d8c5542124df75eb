//! How the CPU forms are spread over the pool and over SIMD lanes.

use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pulp::{Arch, Simd, WithSimd};

use super::sharing::Sharing;

/// How long a thread from outside the pool stays awake for the others, at most.
const LONGEST_WATCH: Duration = Duration::from_micros(100);

/// The f32 lanes of this CPU's vectors.
pub(crate) fn f32_lanes() -> usize {
    struct Lanes;

    impl WithSimd for Lanes {
        type Output = usize;

        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }

    Arch::new().dispatch(Lanes)
}

/// Bytes of a line of the caches.
pub(super) const LINE: usize = 64;

/// Calls `work(start, chunk)` for pieces of `out` of at most `chunk` elements, on the
/// pool where that was seen to be faster. Each call is compiled for the widest SIMD that
/// this CPU has.
pub(super) fn for_chunks<T, F>(sharing: &Sharing, out: &mut [T], chunk: usize, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let arch = Arch::new();
    for_pieces(sharing, out, chunk, |start, piece| {
        arch.dispatch(|| work(start, piece));
    });
}

/// [`for_chunks`] without its choice of SIMD, for work that makes it itself.
pub(super) fn for_pieces<T, F>(sharing: &Sharing, out: &mut [T], chunk: usize, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let pieces = out.len().div_ceil(chunk.max(1));
    sharing.run(pieces, |on_pool| pieces_on(on_pool, out, chunk, work));
}

/// The same, on the pool if so asked.
///
/// The calling thread begins at once and takes pieces as the pool's threads do:
/// a batch of a few microseconds is often done before one of them is awake. As
/// many threads work as the pool has at most, the caller among them.
pub(super) fn pieces_on<T, F>(on_pool: bool, out: &mut [T], chunk: usize, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let pieces = out.len().div_ceil(chunk.max(1));
    let threads = rayon::current_num_threads().min(pieces);
    if !on_pool || threads <= 1 {
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
                others.fetch_sub(1, Ordering::Release);
            });
        }
        let start = Instant::now();
        take_all();
        // To fall asleep and be woken would take longer than the others' last pieces do.
        // A thread of the pool does the pool's work meanwhile.
        let (limit, start) = (start.elapsed().min(LONGEST_WATCH), Instant::now());
        let is_busy = || others.load(Ordering::Acquire) > 0 && start.elapsed() < limit;
        while is_outside && is_busy() {
            hint::spin_loop();
        }
    });
}
