//! How the CPU forms are spread over the pool and over SIMD lanes.

use std::sync::{Mutex, OnceLock};

use pulp::{Arch, Simd, WithSimd};

use super::sharing::Sharing;
use super::team;
use crate::locked;

/// How many times its part a thread may have to do, and how many times as many pieces there
/// may be for that.
const UNEVEN: f64 = 1.05;
const MOST_CUT: usize = 3;

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

/// How many of so many rows are in a piece: a multiple of `unit`, about `most` or fewer, by
/// which no thread has more to do than [`UNEVEN`] times its part. What one thread waits for
/// another is lost, and who waits too long has to be woken for the next call.
pub(super) fn even(rows: usize, most: usize, unit: usize) -> usize {
    let threads = rayon::current_num_threads();
    let of_pieces = |pieces: usize| rows.div_ceil(pieces).next_multiple_of(unit);
    let fewest = rows.div_ceil(most.max(1));
    if fewest <= 1 || threads <= 1 {
        return most;
    }
    let slowest = |piece: &usize| rows.div_ceil(*piece).div_ceil(threads) * piece;
    let most_each = UNEVEN * of_pieces(threads) as f64;
    let pieces = (fewest..=MOST_CUT * fewest).map(of_pieces);
    let is_even = |piece: &usize| slowest(piece) as f64 <= most_each;
    pieces
        .clone()
        .find(is_even)
        .or(pieces.min_by_key(slowest))
        .unwrap_or(most)
}

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

/// Calls `work`, compiled for vectors of 32 bytes where this CPU has 64 too: what loads and
/// stores more than it computes is faster so out of an Intel Xeon's second cache.
pub(super) fn in_narrow_vectors(work: impl FnOnce()) {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(work);
    }
    Arch::new().dispatch(work);
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
    let work = |(): &(), start, piece: &mut [T]| work(start, piece);
    pieces_after(on_pool, || (), out, chunk, work);
}

/// The same for pieces that need what the calling thread makes first, while the others wake
/// up: that should take some tens of microseconds at most.
pub(super) fn pieces_after<P, T, F>(
    on_pool: bool,
    make: impl FnOnce() -> P + Send,
    out: &mut [T],
    chunk: usize,
    work: F,
) where
    P: Send + Sync,
    T: Send,
    F: Fn(&P, usize, &mut [T]) + Sync,
{
    let pieces = out.len().div_ceil(chunk.max(1));
    let threads = rayon::current_num_threads().min(pieces);
    if !on_pool || threads <= 1 {
        let made = make();
        let pieces = out.chunks_mut(chunk.max(1)).enumerate();
        pieces.for_each(|(index, piece)| work(&made, index * chunk, piece));
        return;
    }
    // Each thread has pieces that lie together, the same ones at every call: what it wrote is
    // in its cache. Who is done takes the last ones of the others.
    let part = pieces.div_ceil(threads) * chunk;
    let parts = out.chunks_mut(part);
    let parts = parts.map(|part| Mutex::new(part.chunks_mut(chunk).enumerate()));
    let parts: Vec<_> = parts.collect();
    let (make, made) = (Mutex::new(Some(make)), OnceLock::new());
    team::together(threads, &|thread| {
        if thread == 0
            && let Some(make) = locked(&make).take()
        {
            let _ = made.set(make());
        }
        team::watch(|| made.get().is_none());
        // Not yet: the caller was interrupted, and goes on alone.
        let Some(made) = made.get() else { return };
        for number in (0..parts.len()).map(|step| (thread + step) % parts.len()) {
            let next = || {
                let mut left = locked(&parts[number]);
                if number == thread {
                    left.next()
                } else {
                    left.next_back()
                }
            };
            while let Some((index, piece)) = next() {
                work(made, number * part + index * chunk, piece);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("some threads")
    }

    #[test]
    fn every_piece_is_done_once_and_told_where_it_begins() {
        for threads in 1..5 {
            let pool = pool(threads);
            for (elements, chunk) in [(0, 3), (1, 3), (7, 1), (100, 7), (64, 64), (65, 64)] {
                let mut out = vec![0; elements];
                pool.install(|| {
                    let make = || 1;
                    pieces_after(true, make, &mut out, chunk, |one, start, piece| {
                        for (at, out) in (start..).zip(piece) {
                            *out += at + one;
                        }
                    });
                });
                let expected: Vec<_> = (1..=elements).collect();
                assert_eq!(out, expected, "{threads} threads, pieces of {chunk}");
            }
        }
    }

    #[test]
    fn pieces_are_cut_so_that_nobody_has_much_more_than_a_part() {
        let even = |threads, rows, most, unit| pool(threads).install(|| even(rows, most, unit));
        // Six strips of 24 rows for one and five for the other would be 144 rows of 256.
        assert_eq!(even(2, 256, 24, 6), 12);
        assert_eq!(even(2, 512, 50, 5), 45);
        // There are enough of them.
        assert_eq!(even(2, 4096, 24, 6), 24);
        assert_eq!(even(1, 256, 24, 6), 24);
        assert_eq!(even(2, 20, 24, 6), 24);
        // Three rows are one for each of two threads and one over.
        assert_eq!(even(2, 3, 1, 1), 1);
        assert_eq!(even(4, 0, 8, 4), 8);
    }
}
