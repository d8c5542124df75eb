//! How the CPU forms are spread over the pool and over SIMD lanes.

use pulp::Arch;
use rayon::prelude::*;

/// Calls `work(start, chunk)` for pieces of `out` of at most `chunk` elements,
/// on the pool where there is more than one piece. Each call is compiled for
/// the widest SIMD that this CPU has.
pub(super) fn for_chunks<T, F>(out: &mut [T], chunk: usize, work: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let arch = Arch::new();
    if out.len() <= chunk {
        arch.dispatch(|| work(0, out));
        return;
    }
    out.par_chunks_mut(chunk)
        .enumerate()
        .for_each(|(index, piece)| arch.dispatch(|| work(index * chunk, piece)));
}
