//! A kernel as an executor: batches of tasks, each task's output apart.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Gpu;
use super::pending::Flight;
use crate::error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
use crate::execute::GpuExecutor;
use crate::hardware::{Fact, SystemLoad};
use crate::kernels::{Element, Kernel};
use crate::plan::GpuSpec;

mod kernels;

type Boxed<'t, E> = Box<dyn Kernel<Element = E> + 't>;
type Build<I, E> = dyn for<'t> Fn(&'t [I]) -> Result<Boxed<'t, E>, Error> + Send + Sync;
type Alike<I> = dyn Fn(&I, &I) -> bool + Send + Sync;
type Cut<T, E> = dyn Fn(&[E]) -> T + Send + Sync;

/// Runs tasks as a kernel's batches on an open GPU.
///
/// The kernels of [`kernels`](crate::kernels) have constructors; any other
/// [`Kernel`] goes in by [`new`](KernelExecutor::new). `E` is what its output is
/// made of. Neighbouring tasks of one
/// shape share a launch, so a folder of images of many sizes is a batch like any
/// other; tasks sorted by size make fewer launches.
///
/// A task that the kernel refuses (a length that is not its shape's) is a
/// [`DeviceErrorKind::Refused`] of the batch that it is in, which is halved until
/// the task is found. The CPU's function gets it, and says what is wrong.
///
/// The CPU's side of the same work is the kernel's CPU form on one task. It may
/// use the pool that the task itself runs on:
///
/// ```no_run
/// use std::sync::Arc;
///
/// use breakeven::execute::GpuExecutor;
/// use breakeven::gpu::{Gpu, KernelExecutor};
/// use breakeven::hardware::HardwareCapabilities;
/// use breakeven::kernels::{GreyImage, Kernel, PixelEntropy};
///
/// let hardware = HardwareCapabilities::detect();
/// let gpu = Gpu::open(&hardware.best_gpu().expect("a GPU").id)?;
/// let executor = KernelExecutor::pixel_entropy(Arc::new(gpu), 16)?;
/// let on_the_cpu = |image: &GreyImage| {
///     let image = std::slice::from_ref(image);
///     PixelEntropy::of(image, 16).map(|problem| problem.cpu())
/// };
/// # let _ = (executor, on_the_cpu);
/// # Ok::<(), breakeven::Error>(())
/// ```
pub struct KernelExecutor<I, T, E = f32> {
    gpu: Arc<Gpu>,
    device: GpuSpec,
    build: Box<Build<I, E>>,
    alike: Box<Alike<I>>,
    cut: Arc<Cut<T, E>>,
}

/// Launches on their way, and the tasks in each: a future of the tasks' results.
pub struct KernelsInFlight<T, E> {
    gpu: Arc<Gpu>,
    flight: Flight<E>,
    tasks: Vec<usize>,
    cut: Arc<Cut<T, E>>,
}

impl<T, E> std::fmt::Debug for KernelsInFlight<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelsInFlight")
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}

impl<T, E: Element> Future for KernelsInFlight<T, E> {
    type Output = Result<Vec<T>, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self {
            gpu,
            flight,
            tasks,
            cut,
        } = &mut *self;
        flight.wakes(context.waker());
        gpu.poll_all(flight).map_ok(|outputs| {
            let mut results = Vec::with_capacity(tasks.iter().sum());
            for (output, tasks) in outputs.iter().zip(tasks) {
                let each = output.len() / *tasks;
                results.extend((0..*tasks).map(|task| cut(&output[task * each..][..each])));
            }
            results
        })
    }
}

impl<I, T, E> std::fmt::Debug for KernelExecutor<I, T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelExecutor")
            .field("gpu", &self.gpu)
            .finish_non_exhaustive()
    }
}

impl<I, T, E: Element> KernelExecutor<I, T, E> {
    /// An executor of a kernel: `build` makes one problem of tasks, `cut` one
    /// task's result of its part of the output. The parts are equally long: the
    /// problem's [`output_len`](Kernel::output_len) over its tasks.
    ///
    /// All tasks of a batch go into one problem, unless
    /// [`grouped`](KernelExecutor::grouped) says which may.
    pub fn new<B, C>(gpu: Arc<Gpu>, build: B, cut: C) -> Self
    where
        B: for<'t> Fn(&'t [I]) -> Result<Box<dyn Kernel<Element = E> + 't>, Error>
            + Send
            + Sync
            + 'static,
        C: Fn(&[E]) -> T + Send + Sync + 'static,
    {
        Self {
            device: GpuSpec::of(gpu.info(), None),
            gpu,
            build: Box::new(build),
            alike: Box::new(|_, _| true),
            cut: Arc::new(cut),
        }
    }

    /// The same; neighbouring tasks share a launch only where `alike` is true of
    /// them: where they have one shape.
    #[must_use]
    pub fn grouped(mut self, alike: impl Fn(&I, &I) -> bool + Send + Sync + 'static) -> Self {
        self.alike = Box::new(alike);
        self
    }

    /// The device that it runs on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The tasks in groups that share a launch.
    fn groups<'t>(&self, tasks: &'t [I]) -> impl Iterator<Item = &'t [I]> {
        tasks.chunk_by(|one, next| (self.alike)(one, next))
    }

    fn problem<'t>(&self, tasks: &'t [I]) -> Result<Boxed<'t, E>, DeviceError> {
        let problem = (self.build)(tasks).map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::TooLarge => DeviceErrorKind::NeverFits,
                ErrorKind::Device(kind) => kind,
                _ => DeviceErrorKind::Refused,
            };
            DeviceError::new(kind, error.to_string())
        })?;
        let (output, tasks) = (problem.output_len(), tasks.len());
        if !output.is_multiple_of(tasks) {
            return Err(DeviceError::new(
                DeviceErrorKind::Unsupported,
                format!(
                    "an output of {output} elements has no equal part for each of {tasks} tasks"
                ),
            ));
        }
        Ok(problem)
    }
}

impl<I, T, E: Element> GpuExecutor<I, T> for KernelExecutor<I, T, E> {
    type Flight = KernelsInFlight<T, E>;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        let problems: Result<Vec<_>, _> = self
            .groups(tasks)
            .map(|group| self.problem(group))
            .collect();
        let problems = problems?;
        let problems: Vec<&dyn Kernel<Element = E>> =
            problems.iter().map(|problem| &**problem).collect();
        Ok(KernelsInFlight {
            flight: self.gpu.submit_all(&problems)?,
            tasks: self.groups(tasks).map(<[I]>::len).collect(),
            gpu: Arc::clone(&self.gpu),
            cut: Arc::clone(&self.cut),
        })
    }

    fn device(&self) -> Option<&GpuSpec> {
        Some(&self.device)
    }

    /// From NVML, where the device's driver has it.
    fn memory_used(&self) -> Fact<u64> {
        SystemLoad::sample().gpu(self.gpu.info()).memory_used_bytes
    }

    /// Inputs and outputs. None where the kernel refuses a task.
    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        // Building a problem of one task copies nothing.
        self.groups(tasks).try_fold(0_u64, |sum, group| {
            let one = (self.build)(&group[..1]).ok()?.memory_bytes();
            Some(sum.saturating_add(one.saturating_mul(group.len() as u64)))
        })
    }
}
