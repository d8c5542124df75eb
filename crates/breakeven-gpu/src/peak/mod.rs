//! What a device can do at best, measured: memory bandwidth over the size of
//! the working set, f32 arithmetic, launch latency, transfer rates. Kernels are
//! judged by their share of it (the roofline of Williams, Waterman and
//! Patterson, 2009).

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod kept;

pub use cpu::measure_cpu;
#[cfg(feature = "gpu")]
pub use gpu::measure_gpu;
pub use kept::{KeptPeaks, joined, kept};

/// Working sets at which bandwidth is measured, bytes: from a core's own cache to memory.
const WORKING_SETS: [u64; 6] = [256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];

/// Each figure is the best of this many.
const REPEATS: usize = 5;
