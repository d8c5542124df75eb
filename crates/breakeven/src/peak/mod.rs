//! What a device can do at best, measured: memory bandwidth over the size of
//! the working set, f32 arithmetic, launch latency, transfer rates. Kernels are
//! judged by their share of it (the roofline of Williams, Waterman and
//! Patterson, 2009).

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use breakeven_profile::profile::Peak;

use crate::error::Error;
use crate::execute::{CpuExecutor, StrategyManager, TensorDevice};

pub use cpu::measure_cpu;
#[cfg(feature = "gpu")]
pub use gpu::measure_gpu;

/// Working sets at which bandwidth is measured, bytes: from a core's own cache to memory.
const WORKING_SETS: [u64; 6] = [256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];

/// Each figure is the best of this many.
const REPEATS: usize = 5;

impl<C: CpuExecutor, G: TensorDevice> StrategyManager<C, G> {
    /// Measures what the workers and each GPU can do at best, a second or two each, and keeps
    /// it for this machine ([`Costs::keep_peaks`](crate::Costs::keep_peaks)): by that
    /// and by the work that it states an operator's first batch is decided. `breakeven
    /// profile` does the same.
    ///
    /// # Errors
    ///
    /// Whatever a device reports; a file that cannot be written.
    pub fn measure_peaks(&self) -> Result<Vec<Peak>, Error> {
        let (cpu, gpus) = self.devices();
        let mut peaks = Vec::new();
        cpu.install(&mut || peaks.push(measure_cpu(None)));
        for measured in gpus.filter_map(TensorDevice::measure_peak) {
            peaks.push(measured?);
        }
        self.costs().keep_peaks(&peaks)?;
        Ok(peaks)
    }
}
