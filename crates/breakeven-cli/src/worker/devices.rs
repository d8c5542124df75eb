//! The GPUs that a worker has opened.

use std::ops::ControlFlow;

use breakeven::DeviceError;
use breakeven::kernels::Kernel;
use breakeven::suite::{Event, Iterations};
use breakeven_profile::profile::Peak;
use breakeven_profile::recorder::Clock;

/// Open GPUs by id.
#[cfg(feature = "gpu")]
pub(super) struct Devices {
    timeout: std::time::Duration,
    open: std::collections::HashMap<String, breakeven::gpu::Gpu>,
}

#[cfg(feature = "gpu")]
impl Devices {
    pub(super) fn new(timeout_s: u32) -> Self {
        Self {
            timeout: std::time::Duration::from_secs(timeout_s.into()),
            open: std::collections::HashMap::new(),
        }
    }

    fn open(&mut self, device: &str) -> Result<&breakeven::gpu::Gpu, DeviceError> {
        use std::collections::hash_map::Entry;
        match self.open.entry(device.to_owned()) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(room) => {
                let id = device.parse().map_err(unavailable)?;
                let mut gpu = breakeven::gpu::Gpu::open(&id)?;
                gpu.set_timeout(self.timeout);
                Ok(room.insert(gpu))
            }
        }
    }

    /// Where this device's kernel times come from: `device` or `host`.
    pub(super) fn kernel_clock(&mut self, device: &str) -> Result<String, DeviceError> {
        Ok(self.open(device)?.kernel_clock().to_string())
    }

    pub(super) fn peak(&mut self, device: &str) -> Result<Peak, DeviceError> {
        breakeven::peak::measure_gpu(self.open(device)?)
    }

    pub(super) fn measure(
        &mut self,
        device: &str,
        problem: &dyn Kernel,
        iterations: Iterations,
        clock: &Clock,
        report: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let gpu = self.open(device)?;
        // Broken off only when the parent is gone, which the caller looks at.
        let _ = breakeven::suite::measure_gpu(gpu, problem, iterations, clock, report)?;
        gpu.release_memory();
        Ok(())
    }
}

/// Without the GPU path there is none to open.
#[cfg(not(feature = "gpu"))]
pub(super) struct Devices;

#[cfg(not(feature = "gpu"))]
impl Devices {
    pub(super) fn new(_: u32) -> Self {
        Self
    }

    pub(super) fn kernel_clock(&mut self, device: &str) -> Result<String, DeviceError> {
        Err(no_gpu_path(device))
    }

    pub(super) fn peak(&mut self, device: &str) -> Result<Peak, DeviceError> {
        Err(no_gpu_path(device))
    }

    pub(super) fn measure(
        &mut self,
        device: &str,
        _: &dyn Kernel,
        _: Iterations,
        _: &Clock,
        _: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        Err(no_gpu_path(device))
    }
}

#[cfg(not(feature = "gpu"))]
fn no_gpu_path(device: &str) -> DeviceError {
    unavailable(format!(
        "{device}: this build has no GPU path (feature `gpu`)"
    ))
}

fn unavailable(reason: impl std::fmt::Display) -> DeviceError {
    DeviceError::new(
        breakeven::DeviceErrorKind::Unavailable { until: None },
        reason.to_string(),
    )
}
