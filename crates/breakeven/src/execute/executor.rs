//! What runs tasks: the two traits that a program's own devices fit into.

use std::task::Poll;
use std::time::Duration;

use super::portion::Portion;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::Fact;
use crate::plan::GpuSpec;

/// Workers of the CPU. [`RayonCpu` is the built-in one.
pub trait CpuExecutor: Send + Sync {
    /// Workers that run at once.
    fn workers(&self) -> usize;

    /// Runs all of a batch on the workers, split as they like, and returns when
    /// it is done.
    fn all(&self, portion: Portion<'_>);

    /// Runs `driver` on a thread that is none of the workers. Whenever `driver`
    /// calls the function that it gets, every worker calls `leaf` again and
    /// again until that returns [`Leaf::Idle`]. Returns when `driver` has and all
    /// workers are idle.
    ///
    /// A call of `leaf` does one span. Between two calls a worker may do other
    /// work of its pool, so a task may itself wait for the pool.
    fn run(&self, leaf: &(dyn Fn() -> Leaf + Sync), driver: &mut (dyn FnMut(&dyn Fn()) + Send));
}

/// Whether a worker found something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// It did a span; there may be more.
    Busy,
    /// There is nothing now.
    Idle,
}

/// A device that takes batches of `I` and gives a `T` for each.
///
/// Two steps, so that transfers and kernels overlap and a device that does not
/// answer can be given up: [`submit`](GpuExecutor::submit) copies the inputs and
/// starts, [`poll`](GpuExecutor::poll) looks. A plain closure
/// `Fn(&[I]) -> Result<Vec<T>, DeviceError>` is an executor too: it blocks in
/// `submit`, so no timeout can end it.
pub trait GpuExecutor<I, T>: Send + Sync {
    /// A batch on the device. Dropping it gives it up; it holds nothing borrowed.
    type InFlight;

    /// Copies the inputs to the device and starts; returns without waiting for
    /// the results.
    ///
    /// # Errors
    ///
    /// Whatever is known before the device has run.
    fn submit(&self, tasks: &[I]) -> Result<Self::InFlight, DeviceError>;

    /// The outputs, one per task in their order, once they are there. Never
    /// blocks. Not called again after it was ready.
    fn poll(&self, in_flight: &mut Self::InFlight) -> Poll<Result<Vec<T>, DeviceError>>;

    /// Waits until `poll` may be ready, for `at_most` that long. Sleeping is
    /// right; a device that can wake its host does better.
    fn wait(&self, in_flight: &mut Self::InFlight, at_most: Duration) {
        let _ = in_flight;
        std::thread::sleep(at_most);
    }

    /// The device; none where nothing is known of it.
    fn device(&self) -> Option<&GpuSpec> {
        None
    }

    /// Memory in use on the device, by whatever process, bytes. Asked at most
    /// ten times a second.
    fn memory_used(&self) -> Fact<u64> {
        Fact::Unknown
    }

    /// Memory on the device that a batch of these tasks takes, bytes; none where
    /// the profile's memory per task is to be used.
    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        let _ = tasks;
        None
    }

    /// Batches that may be in flight at once: 2 lets a transfer overlap a kernel.
    fn depth(&self) -> usize {
        2
    }
}

impl<I, T, F> GpuExecutor<I, T> for F
where
    F: Fn(&[I]) -> Result<Vec<T>, DeviceError> + Send + Sync,
{
    type InFlight = Option<Vec<T>>;

    fn submit(&self, tasks: &[I]) -> Result<Self::InFlight, DeviceError> {
        self(tasks).map(Some)
    }

    fn poll(&self, in_flight: &mut Self::InFlight) -> Poll<Result<Vec<T>, DeviceError>> {
        Poll::Ready(Ok(in_flight.take().unwrap_or_default()))
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
    type InFlight = G::InFlight;

    fn submit(&self, tasks: &[I]) -> Result<Self::InFlight, DeviceError> {
        self.executor.submit(tasks)
    }

    fn poll(&self, in_flight: &mut Self::InFlight) -> Poll<Result<Vec<T>, DeviceError>> {
        self.executor.poll(in_flight)
    }

    fn wait(&self, in_flight: &mut Self::InFlight, at_most: Duration) {
        self.executor.wait(in_flight, at_most);
    }

    fn device(&self) -> Option<&GpuSpec> {
        Some(&self.device)
    }

    fn memory_used(&self) -> Fact<u64> {
        self.executor.memory_used()
    }

    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        self.executor.batch_bytes(tasks)
    }

    fn depth(&self) -> usize {
        self.executor.depth()
    }
}

/// No GPU: what a manager for the CPU alone has in its place.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGpu;

impl<I, T> GpuExecutor<I, T> for NoGpu {
    type InFlight = std::convert::Infallible;

    fn submit(&self, _: &[I]) -> Result<Self::InFlight, DeviceError> {
        Err(DeviceError::new(
            DeviceErrorKind::Unavailable { until: None },
            "the manager was made without a GPU",
        ))
    }

    fn poll(&self, in_flight: &mut Self::InFlight) -> Poll<Result<Vec<T>, DeviceError>> {
        match *in_flight {}
    }
}
