//! Operations on tensors: an [`Operator`] holds its parameters, never data, and knows neither where
//! it runs nor on which items of a batch.

use std::any::Any;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::error::{DeviceError, DeviceErrorKind};
#[cfg(feature = "gpu")]
use crate::gpu::{Buffer, DeviceForm, Gpu};
use crate::plan::Work;
use crate::tensor::{Element, Inputs, Tensor, shape};
use crate::tune::HostTunable;

mod chain;
mod tuning;

pub use chain::{Chain, Stage, Stages, Step};

/// Some items of an input, in host memory.
#[derive(Debug, Clone, Copy)]
pub struct View<'v, E> {
    /// The length of each dimension, that of the items first.
    pub shape: &'v [usize],
    /// Its values, row-major.
    pub values: &'v [E],
}

/// A tensor that an operator holds, whatever it is made of: it is sent to a device
/// once and stays there as long as the operator lives.
pub trait Parameter: Send + Sync {
    /// Its size.
    fn bytes(&self) -> u64;

    /// It on that device.
    ///
    /// # Errors
    ///
    /// As [`Tensor::to`].
    #[cfg(feature = "gpu")]
    fn on(&self, gpu: &Gpu) -> Result<Buffer, DeviceError>;
}

impl<E: Element> Parameter for Tensor<'_, E> {
    fn bytes(&self) -> u64 {
        shape::bytes(self.shape())
    }

    #[cfg(feature = "gpu")]
    fn on(&self, gpu: &Gpu) -> Result<Buffer, DeviceError> {
        self.to(gpu)?.buffer(gpu)
    }
}

/// Work on a batch of items that do not depend on each other. Its value is made
/// once, with its parameters, and used for any inputs on any device.
///
/// Every shape has the batch first, and all inputs and the output have one batch
/// size; a batch of none gives an empty output.
pub trait Operator: Send + Sync {
    /// What the inputs are made of.
    type In: Element;
    /// What the output is made of.
    type Out: Element;

    /// What profiles and the cost model call it.
    fn name(&self) -> &str;

    /// The output's shape for inputs of these shapes: unless said otherwise that of one
    /// input, for work that is done element by element. It is asked before anything is
    /// allocated; every other method may take for granted that it said yes.
    ///
    /// # Errors
    ///
    /// What is wrong with the shapes, which one, and what it should be.
    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let (name, count) = (self.name(), inputs.len());
        match inputs {
            [input] => Ok(input.to_vec()),
            _ => Err(Error::shape(format!("{name}: {count} inputs; give one"))),
        }
    }

    /// Returns the floating-point operations of a call; a multiply-add is two. The default is none:
    /// the call is judged by the bytes that it moves.
    fn flops(&self, inputs: &[&[usize]]) -> u64 {
        let _ = inputs;
        0
    }

    /// The tensors that it holds, in the order in which a device form gets them.
    fn parameters(&self) -> Vec<&dyn Parameter> {
        Vec::new()
    }

    /// Returns the memory that the CPU form needs in addition to inputs, parameters and output.
    fn scratch_bytes(&self, inputs: &[&[usize]]) -> u64 {
        let _ = inputs;
        0
    }

    /// Computes some items on the calling thread and the current rayon pool. `out`
    /// has the elements of the output's shape, at least one.
    ///
    /// # Errors
    ///
    /// Checks what only the values can show.
    fn cpu(&self, inputs: &[View<'_, Self::In>], out: &mut [Self::Out]) -> Result<(), Error>;

    /// Constants of the CPU form that are tunable.
    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        Vec::new()
    }

    /// Returns the form for devices, if there is one.
    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn DeviceForm> {
        None
    }

    /// Returns the stages that it is made of, if it is a [`Chain`].
    fn stages(&self) -> Option<&Stages> {
        None
    }

    /// This operator for what knows its kind, such as [`fused`](Operator::fused) of another.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Returns a fused form of this operator and some of the following stages, and how many stages.
    /// Its result is theirs; a `StrategyManager` uses it if it was measured to be faster.
    fn fused(&self, next: &[&Stage]) -> Option<(Stages, usize)> {
        let _ = next;
        None
    }

    /// This one and then `next` on its output, as one operator: see [`Chain`].
    fn then<N>(self, next: N) -> Chain<Self::In, N::Out>
    where
        Self: Sized + 'static,
        N: Operator<In = Self::Out> + 'static,
    {
        Chain::one(Arc::new(self)).then(next)
    }

    /// What one call does: nothing, on inputs that [`output_shape`](Operator::output_shape)
    /// refuses.
    fn work(&self, inputs: &[&[usize]]) -> Work {
        let Ok(output) = self.output_shape(inputs) else {
            return Work::default();
        };
        let parameters = self.parameters().into_iter().map(Parameter::bytes);
        let tensors = inputs.iter().copied().chain([&output[..]]);
        Work {
            items: output.first().map_or(0, |batch| *batch as u64),
            elements: shape::elements(&output),
            flops: self.flops(inputs),
            bytes: parameters
                .chain(tensors.map(shape::bytes))
                .fold(0, u64::saturating_add),
        }
    }

    /// Computes a complete batch on the current rayon pool: `&image` for one input, `&[&a, &b]` for
    /// two.
    ///
    /// # Errors
    ///
    /// As [`output_shape`](Operator::output_shape) and [`cpu`](Operator::cpu), and if an input
    /// cannot be brought from its device.
    fn on_cpu(&self, inputs: &dyn Inputs<Self::In>) -> Result<Tensor<'static, Self::Out>, Error> {
        let inputs = inputs.tensors();
        let shapes: Vec<_> = inputs.iter().map(|input| input.shape()).collect();
        let shape = checked_shape(self, &shapes)?;
        let len = shape::product(self.name(), &shape)?;
        let mut views = Vec::with_capacity(inputs.len());
        for (input, shape) in inputs.iter().zip(shapes) {
            let values = input.host()?;
            views.push(View { shape, values });
        }
        let mut out = vec![Self::Out::zeroed(); len];
        if len > 0 {
            self.cpu(&views, &mut out)?;
        }
        Tensor::new(out, &shape)
    }
}

/// The output's shape after what holds for every operator was checked as well: one
/// batch size, and an output that memory could hold.
///
/// # Errors
///
/// What is wrong with the shapes, which one, and what it should be.
pub fn checked_shape<O: Operator + ?Sized>(
    operator: &O,
    inputs: &[&[usize]],
) -> Result<Vec<usize>, Error> {
    let name = operator.name();
    let Some(first) = inputs.first() else {
        return Err(Error::shape(format!(
            "{name}: no inputs; give at least one"
        )));
    };
    if inputs.iter().any(|shape| shape.is_empty()) {
        return Err(Error::shape(format!(
            "{name}: an input of no dimension; give the batch first, [1] for a single item"
        )));
    }
    let batch = first[0];
    if let Some(other) = inputs.iter().find(|shape| shape[0] != batch) {
        return Err(Error::shape(format!(
            "{name}: inputs of {batch} and of {} items; give as many of each",
            other[0]
        )));
    }
    let output = operator.output_shape(inputs)?;
    if output.first() != Some(&batch) {
        return Err(Error::shape(format!(
            "{name}: an output of shape {} for inputs of shape {}; its first dimension must be \
             the batch",
            shape::text(&output),
            shape::text(first)
        )));
    }
    shape::product(&format!("{name}: the output"), &output)?;
    Ok(output)
}

/// The operator's form for devices, or the error that there is none.
#[cfg(feature = "gpu")]
pub(crate) fn device_form<O: Operator + ?Sized>(
    operator: &O,
) -> Result<&dyn DeviceForm, DeviceError> {
    operator.device().ok_or_else(|| {
        let name = operator.name();
        let message = format!("{name} has no form for devices; run it on the CPU");
        DeviceError::new(DeviceErrorKind::Unsupported, message)
    })
}
