//! Measures what a manager's devices can do at best.

use breakeven_profile::profile::Peak;

use crate::device::TensorDevice;
use crate::error::Error;
use crate::execute::{CpuExecutor, StrategyManager};
use crate::peak::measure_cpu;

impl<C: CpuExecutor, G: TensorDevice> StrategyManager<C, G> {
    /// Measures what the workers and each GPU can do at best, a second or two each, and keeps it
    /// for this machine ([`Costs::keep_peaks`](crate::Costs::keep_peaks)). The first batch of an
    /// operator is decided by these peaks and its stated work. `breakeven profile` does the same.
    ///
    /// # Errors
    ///
    /// Errors of devices; a file that cannot be written.
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
