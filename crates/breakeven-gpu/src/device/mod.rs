//! The traits of devices other than the CPU that run batches.

use std::future::{Future, Ready, ready};
use std::time::Duration;

use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::{Fact, GpuInfo, SystemLoad};
use crate::plan::GpuSpec;

mod tensor;

pub use tensor::{TensorDevice, TensorFlight, TensorFuture};

/// A device, whatever runs there. A [`GpuSpec`] is one of which no more is known.
pub trait Device: Send + Sync {
    /// What is known of it.
    fn spec(&self) -> &GpuSpec;

    /// Memory in use on it, by whatever process, bytes. Asked at most ten times a second,
    /// and never for a batch that is the CPU's alone.
    fn memory_used(&self) -> Fact<u64> {
        Fact::Unknown
    }

    /// Fraction of the time in which it was at work lately, by whatever process, 0 to 1.
    /// Asked at most ten times a second, while what runs is recorded.
    fn gpu_use(&self) -> Fact<f64> {
        Fact::Unknown
    }
}

impl Device for GpuSpec {
    fn spec(&self) -> &GpuSpec {
        self
    }
}

/// Describes a detected GPU for a decision, with the load that its driver reports.
pub fn gpu_spec(gpu: &GpuInfo, load: Option<&SystemLoad>) -> GpuSpec {
    GpuSpec {
        kind: gpu.kind,
        memory_bytes: gpu.memory_bytes,
        memory_used_bytes: load.map_or(Fact::Unknown, |load| load.gpu(gpu).memory_used_bytes),
        driver: gpu.driver.clone(),
        ..GpuSpec::named(gpu.id.to_string())
    }
}

/// A device that takes batches of `I` and gives a `T` for each.
///
/// Two steps, so that transfers and kernels overlap and a device that does not
/// answer can be given up: [`start`](GpuExecutor::start) copies the inputs and
/// launches, and what it returns is a future of the outputs, of no particular
/// runtime. A plain closure `Fn(&[I]) -> Result<Vec<T>, DeviceError>` is an executor
/// too: it blocks in `start`, so no timeout can end it.
pub trait GpuExecutor<I, T>: Send + Sync {
    /// A batch on the device: its outputs, one per task in their order. Dropping it
    /// gives it up; it holds nothing borrowed of the tasks.
    type Flight: Future<Output = Result<Vec<T>, DeviceError>>;

    /// Copies the inputs to the device and starts; returns without waiting for
    /// the results.
    ///
    /// # Errors
    ///
    /// Whatever is known before the device has run.
    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError>;

    /// Returns the device; none if nothing is known of it.
    fn device(&self) -> Option<&dyn Device> {
        None
    }

    /// Returns the device memory that a batch of these tasks needs, bytes; none to use the
    /// profile's memory per task.
    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        let _ = tasks;
        None
    }

    /// Returns the most tasks of one launch, at least 1; none if memory is the only limit.
    fn most_tasks(&self) -> Option<usize> {
        None
    }

    /// Batches that may be in flight at once: 3 lets one's upload, another's kernel and a
    /// third's download overlap, 1 nothing. At most 16 are.
    fn depth(&self) -> usize {
        3
    }

    /// Returns the transfer time of a completed batch; none if the device does not report it.
    /// Called once, when the outputs are available.
    fn transfer_time(&self, flight: &Self::Flight) -> Option<Duration> {
        let _ = flight;
        None
    }
}

impl<I, T, F> GpuExecutor<I, T> for F
where
    F: Fn(&[I]) -> Result<Vec<T>, DeviceError> + Send + Sync,
{
    type Flight = Ready<Result<Vec<T>, DeviceError>>;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        self(tasks).map(|outputs| ready(Ok(outputs)))
    }

    fn depth(&self) -> usize {
        1
    }
}

/// An executor with what is known of its device: for closures, whose device has
/// no name otherwise.
#[derive(Debug, Clone)]
pub struct OnDevice<G> {
    device: GpuSpec,
    executor: G,
}

impl<G> OnDevice<G> {
    /// That executor, on that device.
    pub fn new(device: GpuSpec, executor: G) -> Self {
        Self { device, executor }
    }
}

impl<I, T, G: GpuExecutor<I, T>> GpuExecutor<I, T> for OnDevice<G> {
    type Flight = G::Flight;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        self.executor.start(tasks)
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(&self.device)
    }

    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        self.executor.batch_bytes(tasks)
    }

    fn most_tasks(&self) -> Option<usize> {
        self.executor.most_tasks()
    }

    fn depth(&self) -> usize {
        self.executor.depth()
    }

    fn transfer_time(&self, flight: &Self::Flight) -> Option<Duration> {
        self.executor.transfer_time(flight)
    }
}

/// No GPU: what a manager for the CPU alone has in its place.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGpu;

impl NoGpu {
    fn none() -> DeviceError {
        let what = "the manager was made without a GPU";
        DeviceError::new(DeviceErrorKind::Unavailable { until: None }, what)
    }
}

impl<I, T> GpuExecutor<I, T> for NoGpu {
    type Flight = Ready<Result<Vec<T>, DeviceError>>;

    fn start(&self, _: &[I]) -> Result<Self::Flight, DeviceError> {
        Err(Self::none())
    }
}
