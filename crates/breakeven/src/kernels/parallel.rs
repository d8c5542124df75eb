//! How the CPU forms are spread over the pool and over SIMD lanes.

use std::sync::{Mutex, PoisonError};

use pulp::Arch;

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
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| take_all());
        }
        take_all();
    });
}
