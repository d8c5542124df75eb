//! What runs tasks: the two traits that a program's own devices fit into.

use std::future::{Future, Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use super::engine::Leaf;
use super::portion::Portion;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::Fact;
use crate::plan::GpuSpec;

/// Workers of the CPU. [`RayonCpu`](super::RayonCpu) is the built-in one.
pub trait CpuExecutor: Send + Sync {
    /// Workers that run at once.
    fn workers(&self) -> usize;

    /// Runs all of a batch on the workers, split as they like, and returns when
    /// it is done.
    fn all(&self, portion: Portion<'_>);

    /// Most tasks of a span that a worker takes, from 1 on. With 1 no task waits behind
    /// another that takes long; each task then costs a turn at the schedule.
    fn most_tasks(&self) -> usize {
        usize::MAX
    }

    /// Runs `body`, for a batch of that many tasks, on the calling thread. Whenever the
    /// function that `body` gets is called, from any thread, every worker (no more than there
    /// are tasks) calls `leaf` again and again until that returns [`Leaf::Idle`]. Returns when
    /// `body` has and all workers are idle.
    ///
    /// A call of `leaf` does one span. Between two calls a worker may do other
    /// work of its pool, so a task may itself wait for the pool.
    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    );

    /// True where the calling thread is a worker of a pool: while it waits for a device, it
    /// is to [`help`](CpuExecutor::help) there.
    fn is_worker(&self) -> bool {
        false
    }

    /// Does a piece of other work of the pool that the calling thread is a worker of;
    /// false where there is nothing to do.
    fn help(&self) -> bool {
        false
    }

    /// Runs `job`, which is shared out inside, on the calling thread or on a worker, and
    /// returns when it is done.
    fn install(&self, job: &mut (dyn FnMut() + Send)) {
        job();
    }

    /// Runs `job` on some worker, some time.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        rayon::spawn(job);
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

    /// The device; none where nothing is known of it.
    fn device(&self) -> Option<&GpuSpec> {
        None
    }

    /// Memory in use on the device, by whatever process, bytes. Asked at most
    /// ten times a second, and never for a batch that is the CPU's alone.
    fn memory_used(&self) -> Fact<u64> {
        Fact::Unknown
    }

    /// Part of the time in which the device was at work lately, by whatever process, 0 to 1.
    /// Asked at most ten times a second, while what runs is recorded.
    fn gpu_use(&self) -> Fact<f64> {
        Fact::Unknown
    }

    /// Memory on the device that a batch of these tasks takes, bytes; none where
    /// the profile's memory per task is to be used.
    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        let _ = tasks;
        None
    }

    /// Most tasks of one launch, from 1 on; none where memory is the only bound.
    fn most_tasks(&self) -> Option<usize> {
        None
    }

    /// Batches that may be in flight at once: 3 lets one's upload, another's kernel and a
    /// third's download overlap, 1 nothing. At most 16 are.
    fn depth(&self) -> usize {
        3
    }

    /// Of the time of a batch that is done, what went into moving data to the device and
    /// back; none where the device does not tell. Asked once, when its outputs are there.
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
    device: Arc<GpuSpec>,
    executor: G,
}

impl<G> OnDevice<G> {
    /// That executor, on that device.
    pub fn new(device: GpuSpec, executor: G) -> Self {
        let device = Arc::new(device);
        Self { device, executor }
    }
}

impl<I, T, G: GpuExecutor<I, T>> GpuExecutor<I, T> for OnDevice<G> {
    type Flight = G::Flight;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        self.executor.start(tasks)
    }

    fn device(&self) -> Option<&GpuSpec> {
        Some(&self.device)
    }

    fn memory_used(&self) -> Fact<u64> {
        self.executor.memory_used()
    }

    fn gpu_use(&self) -> Fact<f64> {
        self.executor.gpu_use()
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
    pub(super) fn none() -> DeviceError {
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
