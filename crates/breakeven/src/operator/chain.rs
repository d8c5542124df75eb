//! Operators one after the other, as one.

use std::marker::PhantomData;
use std::sync::Arc;

use super::stages::{Stage, Stages, Words};
use super::{Operator, Parameter, View, Work};
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::DeviceForm;
use crate::tensor::Element;

/// Operators of which each works on the output of the one before: made by
/// [`Operator::then`], and an operator itself.
///
/// On one device its data is sent once and the last output comes back once, however many
/// stages there are: what they hand on stays there. Run by a
/// [`StrategyManager`](crate::execute::StrategyManager), each stage is placed where the
/// chain as a whole is fastest, with what moving the data between devices takes; the
/// result's decision has the [`Placement`](crate::plan::Placement).
///
/// ```
/// use breakeven::kernels::{Conv2d, PixelEntropy, SOBEL_X};
/// use breakeven::{Operator, Tensor};
///
/// let edges = Conv2d::new(Tensor::new(SOBEL_X.to_vec(), &[3, 3])?, 1, 1)?;
/// let texture = edges.then(PixelEntropy::new(3)?);
/// assert_eq!(texture.name(), "conv2d+pixel_entropy");
/// let image = Tensor::new(vec![0.5; 64], &[1, 8, 8])?;
/// assert_eq!(texture.on_cpu(&image)?.shape(), [1, 8, 8]);
/// # Ok::<(), breakeven::Error>(())
/// ```
pub struct Chain<I, O> {
    stages: Stages,
    elements: PhantomData<fn(I) -> O>,
}

impl<I: Element, O: Element> Chain<I, O> {
    pub(super) fn of(stages: impl IntoIterator<Item = Arc<Stage>>) -> Self {
        Self {
            stages: Stages::of(stages),
            elements: PhantomData,
        }
    }

    /// A chain of one stage, to be made longer.
    pub fn one<A>(stage: Arc<A>) -> Self
    where
        A: Operator<In = I, Out = O> + ?Sized + 'static,
    {
        Self::of([Arc::new(Words(stage)) as Arc<Stage>])
    }

    /// The chain with one more stage, which others may share.
    pub fn and<N: Operator<In = O> + ?Sized + 'static>(self, next: Arc<N>) -> Chain<I, N::Out> {
        Chain::of([Arc::new(self.stages) as Arc<Stage>, Arc::new(Words(next))])
    }

    /// The chain with one more stage.
    pub fn then<N: Operator<In = O> + 'static>(self, next: N) -> Chain<I, N::Out> {
        self.and(Arc::new(next))
    }
}

impl<I, O> std::fmt::Debug for Chain<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stages.fmt(f)
    }
}

impl<I: Element, O: Element> Operator for Chain<I, O> {
    type In = I;
    type Out = O;

    fn name(&self) -> &str {
        self.stages.name()
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        self.stages.output_shape(inputs)
    }

    fn flops(&self, inputs: &[&[usize]]) -> u64 {
        self.stages.flops(inputs)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        self.stages.parameters()
    }

    fn scratch_bytes(&self, inputs: &[&[usize]]) -> u64 {
        self.stages.scratch_bytes(inputs)
    }

    fn cpu(&self, inputs: &[View<'_, I>], out: &mut [O]) -> Result<(), Error> {
        let words = inputs.iter().map(|input| View {
            shape: input.shape,
            values: bytemuck::cast_slice(input.values),
        });
        let words: Vec<_> = words.collect();
        self.stages.cpu(&words, bytemuck::cast_slice_mut(out))
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn DeviceForm> {
        self.stages.device()
    }

    fn stages(&self) -> Option<&Stages> {
        Some(&self.stages)
    }

    fn work(&self, inputs: &[&[usize]]) -> Work {
        self.stages.work(inputs)
    }
}
