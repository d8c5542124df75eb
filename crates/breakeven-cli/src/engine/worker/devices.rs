//! The GPUs that a worker has opened.

use std::collections::HashMap;
#[cfg(feature = "gpu")]
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "gpu")]
use breakeven::gpu::{Gpu, OperatorExecutor};
use breakeven::{DeviceError, Operator};
use breakeven_profile::profile::{Operation, Peak};
use breakeven_profile::recorder::Clock;

use crate::engine::suite::{CallMeter, Iterations, Problem, Report};

/// Open GPUs by id; none without the feature `gpu`.
pub(super) struct Devices {
    timeout: Duration,
    open: HashMap<String, Gpu>,
}

#[cfg(not(feature = "gpu"))]
enum Gpu {}

impl Devices {
    pub(super) fn new(timeout_s: u32) -> Self {
        Self {
            timeout: Duration::from_secs(timeout_s.into()),
            open: HashMap::new(),
        }
    }

    /// Closes a device: the next use opens it again.
    pub(super) fn close(&mut self, device: &str) {
        self.open.remove(device);
    }

    /// Time limit of a launch.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }
}

#[cfg(feature = "gpu")]
impl Devices {
    fn open(&mut self, device: &str) -> Result<&Gpu, DeviceError> {
        match self.open.entry(device.to_owned()) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(room) => {
                let id = device.parse().map_err(unavailable)?;
                let mut gpu = Gpu::open(&id)?;
                gpu.set_timeout(self.timeout);
                Ok(room.insert(gpu))
            }
        }
    }

    /// The source of this device's kernel times: `device` or `host`.
    pub(super) fn kernel_clock(&mut self, device: &str) -> Result<String, DeviceError> {
        Ok(self.open(device)?.kernel_clock().to_string())
    }

    pub(super) fn peak(&mut self, device: &str) -> Result<Peak, DeviceError> {
        breakeven::peak::measure_gpu(self.open(device)?)
    }

    pub(super) fn measure(
        &mut self,
        device: &str,
        problem: &Problem,
        how: (Iterations, Option<&CallMeter>),
        clock: &Clock,
        (filled, report): (&mut Operation, &mut Report<'_>),
    ) -> Result<Option<String>, DeviceError> {
        let gpu = self.open(device)?;
        let unknown = problem.measure_gpu(gpu, how, clock, filled, report)?;
        gpu.memory().trim();
        Ok(unknown)
    }

    /// Executes that operator's tasks on this device.
    pub(super) fn executor<O: Operator + ?Sized>(
        &mut self,
        device: &str,
        operator: &Arc<O>,
    ) -> Result<OperatorExecutor<O>, DeviceError> {
        let gpu = self.open(device)?;
        Ok(OperatorExecutor::new(gpu, Arc::clone(operator)))
    }
}

#[cfg(not(feature = "gpu"))]
impl Devices {
    pub(super) fn kernel_clock(&mut self, device: &str) -> Result<String, DeviceError> {
        Err(no_gpu_path(device))
    }

    pub(super) fn peak(&mut self, device: &str) -> Result<Peak, DeviceError> {
        Err(no_gpu_path(device))
    }

    pub(super) fn measure(
        &mut self,
        device: &str,
        _: &Problem,
        _: (Iterations, Option<&CallMeter>),
        _: &Clock,
        _: (&mut Operation, &mut Report<'_>),
    ) -> Result<Option<String>, DeviceError> {
        Err(no_gpu_path(device))
    }

    pub(super) fn executor<O: Operator + ?Sized>(
        &mut self,
        device: &str,
        _: &Arc<O>,
    ) -> Result<breakeven::execute::NoGpu, DeviceError> {
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
