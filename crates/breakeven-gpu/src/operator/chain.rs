//! Operators run one after the other as one operator.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "gpu")]
use super::device_form;
use super::{Operator, Parameter, View, Work, checked_shape};
#[cfg(feature = "gpu")]
use crate::error::DeviceError;
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{DeviceForm, Launch};
use crate::tensor::{Element, shape};

/// An operator in a list: its elements are treated as the words that they are made of.
pub type Stage = dyn Operator<In = u32, Out = u32>;

/// Operators of which each works on the output of the one before: made by
/// [`Operator::then`], and an operator itself.
///
/// On one device its data is sent once and the last output comes back once, however many stages
/// there are: intermediate results stay there. If a `StrategyManager` runs it, each stage is placed
/// where the complete chain is fastest, including transfers between devices; the result's decision
/// has the [`Placement`](breakeven_schedule::plan::Placement).
///
/// ```
/// use breakeven_gpu::{Operator, Tensor, View};
/// use breakeven_types::Error;
///
/// struct Add(f32);
///
/// impl Operator for Add {
///     type In = f32;
///     type Out = f32;
///
///     fn name(&self) -> &str {
///         "add"
///     }
///
///     fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
///         for (out, value) in out.iter_mut().zip(inputs[0].values) {
///             *out = value + self.0;
///         }
///         Ok(())
///     }
/// }
///
/// let both = Add(1.0).then(Add(2.0));
/// assert_eq!(both.name(), "add+add");
/// let image = Tensor::new(vec![0.5; 64], &[1, 8, 8])?;
/// assert_eq!(both.on_cpu(&image)?.host()?, [3.5; 64]);
/// # Ok::<(), Error>(())
/// ```
pub struct Chain<I, O, A: ?Sized = Stages> {
    /// Its stages; for a [`Stage`], the operator whose elements are taken for words.
    inner: Arc<A>,
    elements: PhantomData<fn(I) -> O>,
}

impl<I: Element, O: Element> Chain<I, O> {
    fn of(stages: impl IntoIterator<Item = Arc<Stage>>) -> Self {
        Self::typed(Arc::new(Stages::of(stages)))
    }

    /// A chain of one stage, to be made longer.
    pub fn one<A>(stage: Arc<A>) -> Self
    where
        A: Operator<In = I, Out = O> + ?Sized + 'static,
    {
        Self::of([words(stage)])
    }

    /// Appends a stage, which other chains may share.
    pub fn and<N: Operator<In = O> + ?Sized + 'static>(self, next: Arc<N>) -> Chain<I, N::Out> {
        Chain::of([self.inner as Arc<Stage>, words(next)])
    }

    /// The chain with one more stage.
    pub fn then<N: Operator<In = O> + 'static>(self, next: N) -> Chain<I, N::Out> {
        self.and(Arc::new(next))
    }
}

impl<I, O, A: ?Sized> Chain<I, O, A> {
    fn typed(inner: Arc<A>) -> Self {
        let elements = PhantomData;
        Self { inner, elements }
    }
}

/// Any operator as a [`Stage`].
fn words<A: Operator + ?Sized + 'static>(operator: Arc<A>) -> Arc<Stage> {
    Arc::new(Chain::<u32, u32, A>::typed(operator))
}

impl<I, O, A: std::fmt::Debug + ?Sized> std::fmt::Debug for Chain<I, O, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl<I: Element, O: Element, A: Operator + ?Sized> Operator for Chain<I, O, A> {
    type In = I;
    type Out = O;

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        self.inner.output_shape(inputs)
    }

    fn flops(&self, inputs: &[&[usize]]) -> u64 {
        self.inner.flops(inputs)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        self.inner.parameters()
    }

    fn scratch_bytes(&self, inputs: &[&[usize]]) -> u64 {
        self.inner.scratch_bytes(inputs)
    }

    fn cpu(&self, inputs: &[View<'_, I>], out: &mut [O]) -> Result<(), Error> {
        let typed = inputs.iter().map(|input| View {
            shape: input.shape,
            values: bytemuck::cast_slice(input.values),
        });
        let typed: Vec<_> = typed.collect();
        self.inner.cpu(&typed, bytemuck::cast_slice_mut(out))
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn DeviceForm> {
        self.inner.device()
    }

    fn stages(&self) -> Option<&Stages> {
        self.inner.stages()
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.inner.as_any()
    }

    fn fused(&self, next: &[&Stage]) -> Option<(Stages, usize)> {
        self.inner.fused(next)
    }

    fn work(&self, inputs: &[&[usize]]) -> Work {
        self.inner.work(inputs)
    }
}

/// The stages of a [`Chain`], or some consecutive ones: each works on the output of the previous
/// one. Together they are an operator, whose intermediate outputs stay where it runs.
#[derive(Clone)]
pub struct Stages {
    list: Vec<Arc<Stage>>,
    name: String,
    /// The fused stages, once requested.
    fused: Arc<OnceLock<Option<Stages>>>,
}

impl std::fmt::Debug for Stages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stages").field(&self.name).finish()
    }
}

impl Stages {
    /// An operator as the only stage, or the stages of a chain.
    pub fn one<O: Operator + ?Sized + 'static>(operator: Arc<O>) -> Self {
        Self::of([words(operator)])
    }

    /// Creates a list of stages. It checks only shapes: the types of a [`Chain`] ensure that each
    /// stage accepts the previous one's output.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::of(parts.into_iter().flat_map(|part| part.list))
    }

    /// One after the other, chains among them taken apart.
    fn of(operators: impl IntoIterator<Item = Arc<Stage>>) -> Self {
        let mut list: Vec<Arc<Stage>> = Vec::new();
        for operator in operators {
            match operator.stages() {
                Some(stages) => list.extend(stages.list.iter().cloned()),
                None => list.push(operator),
            }
        }
        let names: Vec<&str> = list.iter().map(|stage| stage.name()).collect();
        Self {
            name: names.join("+"),
            list,
            fused: Arc::default(),
        }
    }

    /// The stages, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Stage> {
        self.list.iter().map(|stage| &**stage)
    }

    /// Returns the stages with neighbours fused that have such a form; none if none have.
    pub fn fused(&self) -> Option<&Self> {
        let fuse = || {
            let all: Vec<&Stage> = self.iter().collect();
            let (mut parts, mut place) = (Vec::new(), 0);
            while let Some(stage) = all.get(place) {
                let fused = stage.fused(&all[place + 1..]);
                let alone = || (Self::of([Arc::clone(&self.list[place])]), 0);
                let (part, more) = fused.unwrap_or_else(alone);
                parts.push(part);
                place += 1 + more;
            }
            (parts.len() < all.len()).then(|| Self::joined(parts))
        };
        self.fused.get_or_init(fuse).as_ref()
    }

    /// The output's shape of every stage.
    ///
    /// # Errors
    ///
    /// As [`Operator::output_shape`] of the stage that refuses its input.
    pub fn output_shapes(&self, inputs: &[&[usize]]) -> Result<Vec<Vec<usize>>, Error> {
        let mut shapes: Vec<Vec<usize>> = Vec::with_capacity(self.list.len());
        for stage in &self.list {
            shapes.push(match shapes.last() {
                Some(input) => checked_shape(&**stage, &[input])?,
                None => checked_shape(&**stage, inputs)?,
            });
        }
        Ok(shapes)
    }

    /// What each stage is given and gives; none for inputs that one of them refuses.
    pub fn steps<'s>(&'s self, inputs: &[&[usize]]) -> Vec<Step<'s>> {
        let outputs = self.output_shapes(inputs).unwrap_or_default();
        let mut given: Vec<Vec<usize>> = inputs.iter().map(|input| input.to_vec()).collect();
        let steps = self.list.iter().zip(outputs).map(|(stage, output)| Step {
            stage: &**stage,
            inputs: std::mem::replace(&mut given, vec![output.clone()]),
            output,
        });
        steps.collect()
    }
}

/// One stage, for inputs of known shapes.
pub struct Step<'s> {
    /// Which one.
    pub stage: &'s Stage,
    /// Shapes of its inputs.
    pub inputs: Vec<Vec<usize>>,
    /// Shape of its output.
    pub output: Vec<usize>,
}

impl Step<'_> {
    /// Shapes of its inputs, as operators are asked with them.
    pub fn shapes(&self) -> Vec<&[usize]> {
        self.inputs.iter().map(Vec::as_slice).collect()
    }

    /// What a call of it does.
    pub fn work(&self) -> Work {
        self.stage.work(&self.shapes())
    }
}

impl Operator for Stages {
    type In = u32;
    type Out = u32;

    fn name(&self) -> &str {
        &self.name
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(self.output_shapes(inputs)?.pop().unwrap_or_default())
    }

    fn flops(&self, inputs: &[&[usize]]) -> u64 {
        self.work(inputs).flops
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        self.iter().flat_map(Operator::parameters).collect()
    }

    /// Returns the most memory held at once: a stage's input and output, if those are between
    /// stages, and its own scratch.
    fn scratch_bytes(&self, inputs: &[&[usize]]) -> u64 {
        let steps = self.steps(inputs);
        let between = |place: usize| match steps.get(place) {
            Some(step) if place > 0 => shape::bytes(&step.inputs[0]),
            _ => 0,
        };
        let of_step = |(place, step): (usize, &Step<'_>)| {
            let own = step.stage.scratch_bytes(&step.shapes());
            own.saturating_add(between(place))
                .saturating_add(between(place + 1))
        };
        steps.iter().enumerate().map(of_step).max().unwrap_or(0)
    }

    fn cpu(&self, inputs: &[View<'_, u32>], out: &mut [u32]) -> Result<(), Error> {
        let shapes: Vec<_> = inputs.iter().map(|input| input.shape).collect();
        let steps = self.steps(&shapes);
        let mut before: Vec<u32> = Vec::new();
        for (place, step) in steps.iter().enumerate() {
            let between = step.inputs.iter().map(|shape| View {
                shape,
                values: &before[..],
            });
            let between: Vec<_> = between.collect();
            let given = if place == 0 { inputs } else { &between };
            if place + 1 == steps.len() {
                return step.stage.cpu(given, out);
            }
            let mut values = vec![0; shape::product(step.stage.name(), &step.output)?];
            if !values.is_empty() {
                step.stage.cpu(given, &mut values)?;
            }
            before = values;
        }
        // Without steps, a stage refused its input: this returns its error.
        self.output_shapes(&shapes).map(drop)
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn DeviceForm> {
        let has_form = |stage: &Stage| stage.device().is_some();
        self.iter().all(has_form).then_some(self)
    }

    fn stages(&self) -> Option<&Stages> {
        Some(self)
    }

    /// The stages' work; what they hand on is written and read.
    fn work(&self, inputs: &[&[usize]]) -> Work {
        let works = self.steps(inputs).into_iter().map(|step| step.work());
        works.fold(Work::default(), |sum, work| Work {
            flops: sum.flops.saturating_add(work.flops),
            bytes: sum.bytes.saturating_add(work.bytes),
            ..work
        })
    }
}

/// On a device: a stage's output is the next one's input there, and is never sent.
#[cfg(feature = "gpu")]
impl DeviceForm for Stages {
    /// What each stage asks for, and two buffers that the outputs between stages take in
    /// turns.
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        let steps = self.steps(inputs);
        let own = steps.iter().filter_map(|step| {
            let form = step.stage.device()?;
            Some(form.scratch(&step.shapes()))
        });
        let mut sizes: Vec<u64> = own.flatten().collect();
        let between = &steps[..steps.len().saturating_sub(1)];
        let of_turn = |turn: usize| {
            let outputs = between.iter().skip(turn).step_by(2);
            outputs.map(|step| shape::bytes(&step.output)).max()
        };
        sizes.extend([of_turn(0), of_turn(1)].into_iter().flatten());
        sizes
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let steps = self.steps(launch.shapes);
        let last = steps.len().saturating_sub(1);
        let (mut parameters, mut scratch) = (launch.parameters, launch.scratch);
        let between = &scratch[scratch.len() - last.min(2)..];
        let mut inputs = launch.inputs.to_vec();
        for (place, step) in steps.iter().enumerate() {
            let (form, shapes) = (device_form(step.stage)?, step.shapes());
            let own;
            (own, parameters) = parameters.split_at(step.stage.parameters().len());
            let own_scratch;
            (own_scratch, scratch) = scratch.split_at(form.scratch(&shapes).len());
            let output = match place == last {
                true => launch.output.clone(),
                false => {
                    let bytes = shape::product(step.stage.name(), &step.output)? * 4;
                    between[place % 2].beginning(bytes)
                }
            };
            let name = step.stage.name();
            let configuration = launch
                .gpu
                .configuration(name, form, &shapes, &step.output)?;
            form.launch(&Launch {
                gpu: launch.gpu,
                shapes: &shapes,
                output_shape: &step.output,
                inputs: &inputs,
                parameters: own,
                scratch: own_scratch,
                output: &output,
                configuration: &configuration,
            })?;
            inputs = vec![output];
        }
        Ok(())
    }
}
