//! An operator as an executor: batches of tasks, each task's output apart.

use std::sync::Arc;
use std::time::Duration;

use breakeven_profile::profile::Peak;

use super::form::Output;
use super::run::{Plan, bytes_of, parameter_bytes};
use super::{Flight, Gpu, flight};
use crate::device::{Device, GpuExecutor, TensorDevice, TensorFlight};
use crate::error::DeviceError;
use crate::hardware::{Fact, SystemLoad};
use crate::operator::Operator;
use crate::plan::GpuSpec;
use crate::tensor::{Element, Inputs, Tensor};

/// Runs tasks as an operator's batches on an open GPU.
///
/// A task is the operator's inputs for one or a few items: a tensor, or an array of tensors.
/// Consecutive tasks whose tensors have the same shapes share a launch, so a folder of images of
/// many sizes is a batch like any other; tasks sorted by size need fewer launches. A task's result
/// is its slice of the output.
///
/// A task that the operator refuses is a
/// [`DeviceErrorKind::Refused`](breakeven_types::DeviceErrorKind::Refused) of the batch that it
/// is in, which is halved until the task is found. The CPU's function gets it, and
/// says what is wrong.
///
/// The CPU's side of the same work is the operator's CPU form on one task. It may
/// use the pool that the task itself runs on:
///
/// ```
/// use std::sync::Arc;
///
/// use breakeven_gpu::gpu::{Gpu, OperatorExecutor};
/// use breakeven_gpu::{Operator, Tensor};
///
/// fn on_both<O: Operator<In = f32>>(gpu: &Gpu, operator: Arc<O>) {
///     let executor = OperatorExecutor::new(gpu, Arc::clone(&operator));
///     let on_the_cpu = move |image: &Tensor<'static>| operator.on_cpu(image);
///     # let _ = (executor, on_the_cpu);
/// }
/// ```
#[derive(Debug)]
pub struct OperatorExecutor<O: ?Sized> {
    gpu: Gpu,
    operator: Arc<O>,
}

impl<O: Operator + ?Sized> OperatorExecutor<O> {
    /// An executor of that operator on that device.
    pub fn new(gpu: &Gpu, operator: Arc<O>) -> Self {
        Self {
            gpu: gpu.clone(),
            operator,
        }
    }

    /// The device that it runs on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }
}

impl Device for Gpu {
    fn spec(&self) -> &GpuSpec {
        &self.shared.spec
    }

    /// From NVML, if the device's driver has it.
    fn memory_used(&self) -> Fact<u64> {
        SystemLoad::sample().gpu(self.info()).memory_used_bytes
    }

    fn gpu_use(&self) -> Fact<f64> {
        SystemLoad::sample().gpu(self.info()).gpu_use
    }
}

impl TensorDevice for Gpu {
    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn call_bytes<O: Operator + ?Sized>(&self, operator: &O, inputs: &[&[usize]]) -> Option<u64> {
        Some(bytes_of(operator, inputs)?.saturating_add(parameter_bytes(operator)))
    }

    fn measure_peak(&self) -> Option<Result<Peak, DeviceError>> {
        Some(crate::peak::measure_gpu(self))
    }

    fn bring<E: Element>(&self, tensor: &Tensor<'_, E>) -> Result<(), DeviceError> {
        tensor.to(self).map(drop)
    }

    fn has<E: Element>(&self, tensor: &Tensor<'_, E>) -> bool {
        tensor.is_on(self)
    }

    fn start_call<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &[Tensor<'_, O::In>],
        stays: bool,
    ) -> Result<TensorFlight<O::Out>, DeviceError> {
        let output = match stays {
            true => Output::OnDevice,
            false => Output::OnHost,
        };
        Ok(Box::pin(self.start(operator, &inputs, output)?))
    }
}

/// The tasks in groups that share a launch.
fn groups<I: Inputs<E>, E: crate::Element>(tasks: &[I]) -> impl Iterator<Item = &[I]> {
    tasks.chunk_by(|one, next| {
        let (one, next) = (one.tensors(), next.tensors());
        let mut pairs = one.iter().zip(&next);
        one.len() == next.len() && pairs.all(|(one, next)| one.shape() == next.shape())
    })
}

/// The inputs of a group of tasks as one batch.
fn joined<'t, I: Inputs<E>, E: crate::Element>(
    tasks: &'t [I],
) -> Result<Vec<Tensor<'t, E>>, DeviceError> {
    let tasks: Vec<_> = tasks.iter().map(Inputs::tensors).collect();
    let inputs = 0..tasks.first().map_or(0, Vec::len);
    inputs
        .map(|input| Tensor::joined(&tasks.iter().map(|task| task[input]).collect::<Vec<_>>()))
        .collect()
}

impl<O, I> GpuExecutor<I, Tensor<'static, O::Out>> for OperatorExecutor<O>
where
    O: Operator + ?Sized,
    I: Inputs<O::In>,
{
    type Flight = Flight<Vec<Tensor<'static, O::Out>>>;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        let counts: Vec<usize> = groups(tasks).map(<[I]>::len).collect();
        let batches = groups(tasks).map(joined).collect::<Result<Vec<_>, _>>()?;
        let plans = batches.iter().map(|batch| batch.iter().collect());
        let plans = plans.map(|inputs| Plan::new(&*self.operator, inputs));
        let plans = plans.collect::<Result<Vec<_>, _>>()?;
        let parts = move |outputs: Vec<Tensor<'static, O::Out>>| {
            let parts = outputs.iter().zip(counts).flat_map(|(output, count)| {
                let each = output.batch() / count;
                (0..count).filter_map(move |task| output.items(task * each..(task + 1) * each).ok())
            });
            parts.collect()
        };
        flight::start(&self.gpu, &*self.operator, plans, Output::OnHost, parts)
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(&self.gpu)
    }

    fn transfer_time(&self, flight: &Self::Flight) -> Option<Duration> {
        flight.transfer_time()
    }

    /// Returns the bytes of inputs, outputs, scratch and parameters; none if the operator refuses a
    /// task.
    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        let parameters = parameter_bytes(&*self.operator);
        groups(tasks).try_fold(parameters, |sum, group| {
            let shape = |tensor: &&Tensor<'_, _>| {
                let mut shape = tensor.shape().to_vec();
                shape[0] = shape[0].saturating_mul(group.len());
                shape
            };
            let shapes: Vec<_> = group[0].tensors().iter().map(shape).collect();
            let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
            Some(sum.saturating_add(bytes_of(&*self.operator, &shapes)?))
        })
    }
}
