//! Time on the device: what its own time stamps say of a launch.

use std::time::Duration;

use cubecl::profile::TimingMethod;

use super::{Buffers, Gpu, with_client};
use crate::error::DeviceError;
use crate::kernels::{Element, Kernel};

/// Where the time of a kernel comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelClock {
    /// Time stamps that the device writes before and after the kernel.
    Device,
    /// The host's clock around a launch and the wait for it: CubeCL's CUDA side
    /// has no device time stamps.
    Host,
}

impl std::fmt::Display for KernelClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Host => "host",
        })
    }
}

impl Gpu {
    /// Where [`kernel_time`](Gpu::kernel_time) comes from on this device.
    pub fn kernel_clock(&self) -> KernelClock {
        match with_client!(self, client => client.properties().timing_method) {
            TimingMethod::Device => KernelClock::Device,
            TimingMethod::System => KernelClock::Host,
        }
    }

    /// Runs a problem once on its buffers and tells how long the device was at it.
    ///
    /// # Errors
    ///
    /// Whatever the launch or the wait reports.
    pub fn kernel_time<E: Element>(
        &self,
        problem: &dyn Kernel<Element = E>,
        buffers: &Buffers<E>,
    ) -> Result<Duration, DeviceError> {
        self.timed(|| self.launch(problem, buffers))
    }

    /// The device's time for everything that `launches` starts.
    pub(crate) fn timed(
        &self,
        launches: impl FnOnce() -> Result<(), DeviceError> + Send,
    ) -> Result<Duration, DeviceError> {
        self.guarded(|| {
            with_client!(self, client => {
                let (launched, duration) = client.profile(launches, "breakeven")?;
                launched?;
                let ticks = self.wait(async { Ok::<_, DeviceError>(duration.resolve().await) })?;
                Ok(ticks.duration())
            })
        })
    }
}
