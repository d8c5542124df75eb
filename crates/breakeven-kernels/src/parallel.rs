//! How the CPU forms are spread over the pool and over SIMD lanes.

use std::sync::Mutex;

use pulp::{Arch, Simd, WithSimd};

use super::sharing::Sharing;
use super::team;
use crate::locked;

/// The f32 lanes of this CPU's vectors.
pub(super) fn f32_lanes() -> usize {
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

/// How an output is cut up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Most elements of a piece: complete units.
    pub(super) most: usize,
    /// Elements that stay together: each thread gets complete units, whatever a piece is.
    pub(super) unit: usize,
}

impl Cut {
    /// Divides into pieces of that many elements, none of which is cut.
    pub(super) fn into(elements: usize) -> Self {
        Self {
            most: elements.max(1),
            unit: elements.max(1),
        }
    }

    /// Returns the elements of a thread's share and of a piece of it. Time in which one thread
    /// waits for another is lost, and a thread that waits too long must be woken for the next call:
    /// shares differ by at most a unit.
    fn of(self, elements: usize, threads: usize) -> [usize; 2] {
        let part = elements.div_ceil(threads).next_multiple_of(self.unit);
        let pieces = part.div_ceil(self.most);
        [part, part.div_ceil(pieces).next_multiple_of(self.unit)]
    }
}

/// Calls `work(start, piece)` for the pieces of `out`, on the pool if that was measured to be
/// faster. Each call is compiled for the widest SIMD that this CPU has.
pub(super) fn for_chunks<T, F>(sharing: &Sharing, out: &mut [T], cut: Cut, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let arch = Arch::new();
    for_pieces(sharing, out, cut, |start, piece| {
        arch.dispatch(|| work(start, piece));
    });
}

/// Calls `work`, compiled for vectors of 32 bytes even if this CPU has 64: code that loads and
/// stores more than it computes is faster so from an Intel Xeon's second cache.
pub(super) fn in_narrow_vectors(work: impl FnOnce()) {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(work);
    }
    Arch::new().dispatch(work);
}

/// [`for_chunks`] without its choice of SIMD, for work that makes it itself.
pub(super) fn for_pieces<T, F>(sharing: &Sharing, out: &mut [T], cut: Cut, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let pieces = out.len().div_ceil(cut.most);
    sharing.run(pieces, |on_pool| pieces_on(on_pool, out, cut, work));
}

/// The same, on the pool if so asked.
///
/// The calling thread begins at once and takes pieces as the pool's threads do:
/// a batch of a few microseconds is often done before one of them is awake. As
/// many threads work as the pool has at most, the caller among them.
pub(super) fn pieces_on<T, F>(on_pool: bool, out: &mut [T], cut: Cut, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    pieces_by(on_pool, out, cut, |next| {
        while let Some((start, piece)) = next() {
            work(start, piece);
        }
    });
}

/// Calls `worker` once on each participating thread, with a source of its next piece and that
/// piece's start: for state that a thread creates before its first piece.
pub(super) fn pieces_by<T, F>(on_pool: bool, out: &mut [T], cut: Cut, worker: F)
where
    T: Send,
    F: for<'o> Fn(&mut dyn FnMut() -> Option<(usize, &'o mut [T])>) + Sync,
{
    let pieces = out.len().div_ceil(cut.most);
    let threads = breakeven_machine::pool_threads().min(pieces);
    if !on_pool || threads <= 1 {
        let pieces = out.chunks_mut(cut.most).enumerate();
        let mut pieces = pieces.map(|(index, piece)| (index * cut.most, piece));
        return worker(&mut || pieces.next());
    }
    // Each thread has consecutive pieces, the same ones at every call: what it wrote is in its
    // cache. A thread that is done takes the last pieces of other threads.
    let [part, piece] = cut.of(out.len(), threads);
    let parts = out.chunks_mut(part);
    let parts = parts.map(|part| Mutex::new(part.chunks_mut(piece).enumerate()));
    let parts: Vec<_> = parts.collect();
    team::together(threads, &|thread| {
        worker(&mut || {
            let mut numbers = (0..parts.len()).map(|step| (thread + step) % parts.len());
            numbers.find_map(|number| {
                let mut left = locked(&parts[number]);
                let (index, out) = if number == thread {
                    left.next()?
                } else {
                    left.next_back()?
                };
                Some((number * part + index * piece, out))
            })
        });
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
    fn every_piece_is_done_once_and_knows_its_start() {
        for threads in 1..5 {
            let pool = pool(threads);
            for (elements, chunk) in [(0, 3), (1, 3), (7, 1), (100, 7), (64, 64), (65, 64)] {
                let mut out = vec![0; elements];
                pool.install(|| {
                    pieces_on(true, &mut out, Cut::into(chunk), |start, piece| {
                        for (at, out) in (start..).zip(piece) {
                            *out += at + 1;
                        }
                    });
                });
                let expected: Vec<_> = (1..=elements).collect();
                assert_eq!(out, expected, "{threads} threads, pieces of {chunk}");
            }
        }
    }

    #[test]
    fn no_thread_has_more_than_its_part() {
        let of = |most, unit, elements, threads| Cut { most, unit }.of(elements, threads);
        // Eleven pieces of 24 would be six for one of them and five for the other.
        assert_eq!(of(24, 6, 256, 2), [132, 24]);
        assert_eq!(of(24, 6, 1024, 2), [516, 24]);
        assert_eq!(of(50, 5, 512, 2), [260, 45]);
        // A thread's share is one piece.
        assert_eq!(of(24, 6, 40, 2), [24, 24]);
        // Three units are one for each of two threads and one over.
        assert_eq!(of(1, 1, 3, 2), [2, 1]);
        assert_eq!(Cut::into(7).of(100, 4), [28, 7]);
    }
}
