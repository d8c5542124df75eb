//! A batch of an operator's items: one tensor in, one tensor out.

use std::borrow::Cow;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use super::batch::Batch;
use super::check::Check;
use super::control::Verify;
use super::executor::CpuExecutor;
use super::manager::StrategyManager;
use super::promise::Executing;
use super::result::{ExecuteError, ExecutionResult, Stop, TaskError};
use super::slots::Slots;
use super::start::{Question, Stated};
use super::tasks::{Parts, first_of};
use super::tensor_device::{TensorDevice, TensorFlight};
use super::work::{Flight, Lane, Ran, Work, agreed, message};
use crate::error::{DeviceError, Error};
use crate::hardware::Fact;
use crate::locked;
use crate::operator::{Operator, View, checked_shape};
use crate::plan::{Basis, ExecutionStrategy, GpuSpec, OperationCosts, StatedWork, profile_of};
use crate::schedule::Span;
use crate::store::without_transfers;
use crate::tensor::{Element, Inputs, Tensor, shape};

impl<C: CpuExecutor, G: TensorDevice> StrategyManager<C, G> {
    /// Runs an operator on a batch of items, `&image` for one input and `&[&a, &b]` for
    /// two: see [`Batch::run`]. The operation's name is the operator's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use breakeven::Tensor;
    /// use breakeven::execute::{RayonCpu, StrategyManager};
    /// use breakeven::kernels::VectorAdd;
    ///
    /// let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    /// let ones = Tensor::new(vec![1.0; 6], &[3, 2])?;
    /// let twos = manager.run(&VectorAdd, &[&ones, &ones])?.into_output();
    /// assert_eq!((twos.shape(), twos.host()?), (&[3, 2][..], &[2.0; 6][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Batch::run`].
    pub fn run<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<ExecutionResult<Tensor<'static, O::Out>>, ExecuteError<Error>> {
        Batch::new(self, None).run(operator, inputs)
    }

    /// As [`run`](Self::run), without waiting: see [`Batch::run_async`].
    pub fn run_async<O, I>(
        &self,
        operator: Arc<O>,
        inputs: I,
    ) -> Executing<Tensor<'static, O::Out>, Error>
    where
        O: Operator + ?Sized + 'static,
        I: Inputs<O::In> + Send + 'static,
        C: 'static,
        G: 'static,
    {
        Batch::new(self, None).run_async(operator, inputs)
    }
}

impl<C: CpuExecutor, G: TensorDevice, V> Batch<'_, C, G, V> {
    /// Runs an operator on a batch of items: on the CPU, on GPUs, or on both, a part of the
    /// items each. The result has one output, a tensor
    /// ([`into_output`](ExecutionResult::into_output)).
    ///
    /// Where all inputs were brought to (`Tensor::to`) a GPU of the manager, Auto stays
    /// there, and so does the output: a chain of calls moves nothing.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Invalid`] for inputs that the operator does not take;
    /// [`ExecuteError::Task`] where it fails, with the first item of the part that it
    /// failed at; others as [`execute`](Self::execute).
    pub fn run<O: Operator + ?Sized>(
        self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<ExecutionResult<Tensor<'static, O::Out>>, ExecuteError<Error>>
    where
        V: Verify<Tensor<'static, O::Out>>,
    {
        let inputs = inputs.tensors();
        match operator.stages() {
            Some(stages) => self.run_chain(operator, stages, &inputs),
            None => {
                let name = self.options.operation;
                let name = name.unwrap_or_else(|| operator.name());
                self.run_items(name, operator, &inputs, Place::Anywhere(None))
            }
        }
    }

    /// Runs it there.
    pub(super) fn run_items<O: Operator + ?Sized>(
        &self,
        name: &str,
        operator: &O,
        inputs: &[&Tensor<'_, O::In>],
        place: Place,
    ) -> Result<ExecutionResult<Tensor<'static, O::Out>>, ExecuteError<Error>>
    where
        V: Verify<Tensor<'static, O::Out>>,
    {
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
        let output_shape = checked_shape(operator, &shapes)?;
        let items = Items::new(operator, inputs, output_shape)?;
        let work = operator.work(&shapes);
        let usual = profile_of(work);
        let gpus = self.manager.gpus.iter();
        let lanes = gpus.map(|gpu| ItemsLane {
            items: &items,
            gpu: &**gpu,
            verify: &self.verify,
        });
        let lanes: Vec<_> = lanes.collect();
        let home = lanes.iter().position(ItemsLane::has_all);
        let home = home.filter(|_| !inputs.is_empty());
        let lanes: Vec<&dyn Lane> = lanes.iter().map(|lane| lane as &dyn Lane).collect();
        let question = self.question(name, self.profile(usual), &lanes)?;
        let is_free = question.strategy == ExecutionStrategy::Auto;
        let only = match place {
            Place::Cpu => Some((ExecutionStrategy::CpuOnly, Basis::Placed, 0..0)),
            Place::Gpu(at) => Some((ExecutionStrategy::GpuOnly, Basis::Placed, at..at + 1)),
            Place::Anywhere(_) => home.filter(|_| is_free).map(|home| {
                let there = home..home + 1;
                (ExecutionStrategy::GpuOnly, Basis::Resident, there)
            }),
        };
        let question = match only {
            None => question,
            Some((strategy, basis, gpus)) => Question {
                strategy,
                basis,
                // What is on the GPU and stays there is measured without its transfers.
                known_as: match home.is_some_and(|home| gpus.contains(&home)) {
                    true => Cow::Owned(without_transfers(name)),
                    false => question.known_as,
                },
                slots: &question.slots[gpus.clone()],
                lanes: &lanes[gpus],
                ..question
            },
        };
        let question = Question {
            stated: Some(match place {
                Place::Anywhere(Some(costs)) => Stated::Costs(costs),
                _ => Stated::Work(StatedWork {
                    work,
                    inputs: shapes.iter().copied().map(shape::bytes).sum(),
                    output: shape::bytes(&items.shape),
                }),
            }),
            ..question
        };
        let ended = self.request(question, &items, Check::of(&self.verify)?, false)?.run();
        let (failed, output) = items.into_parts();
        ended?.result(name, failed, output)
    }

    /// As [`run`](Self::run), without waiting: what it works on is its own then. A clone of
    /// a tensor shares its memory.
    ///
    /// # Errors
    ///
    /// As [`execute_async`](Self::execute_async).
    pub fn run_async<O, I>(
        self,
        operator: Arc<O>,
        inputs: I,
    ) -> Executing<Tensor<'static, O::Out>, Error>
    where
        O: Operator + ?Sized + 'static,
        I: Inputs<O::In> + Send + 'static,
        C: 'static,
        G: 'static,
        V: Verify<Tensor<'static, O::Out>> + Send + 'static,
    {
        let name = self.operation.unwrap_or_else(|| operator.name());
        self.spawned(name.to_owned(), move |batch| batch.run(&*operator, &inputs))
    }
}

/// Where an operator is to run.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// Where it pays, by what is known of it beside what was measured.
    Anywhere(Option<OperationCosts>),
    /// On the CPU.
    Cpu,
    /// On the manager's GPU at that place; the CPU does what it fails at.
    Gpu(usize),
}

impl<E: Element> ExecutionResult<Tensor<'static, E>> {
    /// The output of an operator; of several, the first.
    ///
    /// # Panics
    ///
    /// On the result of a list of tasks that was empty.
    pub fn into_output(self) -> Tensor<'static, E> {
        let mut outputs = self.outputs.into_iter();
        outputs.next().expect("an operator has one output")
    }
}

/// An operator's items, and where its output goes.
struct Items<'b, O: Operator + ?Sized> {
    operator: &'b O,
    inputs: Vec<&'b Tensor<'b, O::In>>,
    shape: Vec<usize>,
    rows: Slots<O::Out>,
    /// The output, where one launch made all of it.
    whole: Mutex<Option<Tensor<'static, O::Out>>>,
    failed: Mutex<Option<(usize, TaskError<Error>)>>,
}

impl<'b, O: Operator + ?Sized> Items<'b, O> {
    fn new(
        operator: &'b O,
        inputs: &[&'b Tensor<'b, O::In>],
        shape: Vec<usize>,
    ) -> Result<Self, Error> {
        let width = shape[1..].iter().product();
        let rows = Slots::rows(shape[0], width).ok_or_else(|| {
            Error::too_large(format!(
                "the output of {}, {}, does not fit memory",
                operator.name(),
                shape::text(&shape)
            ))
        })?;
        Ok(Self {
            operator,
            inputs: inputs.to_vec(),
            shape,
            rows,
            whole: Mutex::default(),
            failed: Mutex::default(),
        })
    }

    fn batch(&self) -> usize {
        self.shape[0]
    }

    /// Computes some items on this thread and the current pool.
    fn compute(&self, range: &Range<usize>, out: &mut [O::Out]) -> Result<(), Error> {
        let mut shapes = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let mut shape = input.shape().to_vec();
            shape[0] = range.len();
            shapes.push(shape);
        }
        let mut views = Vec::with_capacity(shapes.len());
        for (input, shape) in self.inputs.iter().zip(&shapes) {
            let each = input.item_len();
            let values = &input.host()?[range.start * each..range.end * each];
            views.push(View { shape, values });
        }
        match out.is_empty() {
            true => Ok(()),
            false => self.operator.cpu(&views, out),
        }
    }

    /// The item that failed, or the output.
    fn into_parts(self) -> Parts<Tensor<'static, O::Out>, Error> {
        let failed = locked(&self.failed).take();
        if failed.is_some() {
            return (failed, None);
        }
        let whole = locked(&self.whole).take();
        let rows = || Tensor::new(self.rows.into_outputs()?, &self.shape).ok();
        (None, whole.or_else(rows).map(|output| vec![output]))
    }
}

impl<O: Operator + ?Sized> Work for Items<'_, O> {
    fn run(&self, span: Span, _: &AtomicBool) -> Ran {
        let range = span.range();
        let mut writer = self.rows.writer(span);
        let compute = || self.compute(&range, writer.rows());
        let error = match catch_unwind(AssertUnwindSafe(compute)) {
            Ok(Ok(())) => {
                writer.finish();
                return Ran::Done;
            }
            Ok(Err(error)) => TaskError::Failed(error),
            Err(panic) => TaskError::Panicked(message(panic)),
        };
        first_of(&self.failed, range.start, error);
        Ran::Failed
    }

    /// A stop ends the batch: there is no half of a tensor.
    fn leave_out(&self, _: Span, _: Stop) {}

    /// An operator's own form knows best how to share out all of a batch.
    fn is_whole(&self) -> bool {
        true
    }
}

/// A GPU and the items that it may be given.
struct ItemsLane<'b, O: Operator + ?Sized, G, V> {
    items: &'b Items<'b, O>,
    gpu: &'b G,
    verify: &'b V,
}

impl<O: Operator + ?Sized, G: TensorDevice, V> ItemsLane<'_, O, G, V> {
    /// True where the GPU has all inputs already.
    fn has_all(&self) -> bool {
        let mut inputs = self.items.inputs.iter();
        inputs.all(|input| self.gpu.has(input))
    }
}

impl<O, G, V> Lane for ItemsLane<'_, O, G, V>
where
    O: Operator + ?Sized,
    G: TensorDevice,
    V: Verify<Tensor<'static, O::Out>>,
{
    fn device(&self) -> Option<&GpuSpec> {
        self.gpu.spec()
    }

    fn memory_used(&self) -> Fact<u64> {
        self.gpu.used_memory()
    }

    fn batch_bytes(&self) -> Option<u64> {
        let inputs = self.items.inputs.iter();
        let shapes: Vec<&[usize]> = inputs.map(|input| input.shape()).collect();
        self.gpu.call_bytes(self.items.operator, &shapes)
    }

    fn depth(&self) -> usize {
        2
    }

    fn start<'l>(&'l self, range: Range<usize>) -> Result<Box<dyn Flight + 'l>, DeviceError> {
        let items = self.items;
        let is_whole = range == (0..items.batch());
        let stays = is_whole && self.has_all();
        let parts = items.inputs.iter().map(|input| input.items(range.clone()));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(ItemsFlight {
            lane: self,
            is_whole,
            future: Some(self.gpu.start_call(items.operator, &parts, stays)?),
            output: None,
        }))
    }
}

struct ItemsFlight<'l, 'b, O: Operator + ?Sized, G, V> {
    lane: &'l ItemsLane<'b, O, G, V>,
    is_whole: bool,
    /// None once the output is there.
    future: Option<TensorFlight<O::Out>>,
    output: Option<Tensor<'static, O::Out>>,
}

impl<O, G, V> Flight for ItemsFlight<'_, '_, O, G, V>
where
    O: Operator + ?Sized,
    G: TensorDevice,
    V: Verify<Tensor<'static, O::Out>>,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), DeviceError>> {
        if let Some(future) = &mut self.future {
            let outcome = std::task::ready!(future.as_mut().poll(context));
            self.future = None;
            self.output = Some(outcome?);
        }
        Poll::Ready(Ok(()))
    }

    fn check(&self, first: usize, task: usize) -> Result<(), DeviceError> {
        let items = self.lane.items;
        agreed(task, || {
            let mut shape = items.shape.clone();
            shape[0] = 1;
            let mut values = bytemuck::zeroed_vec(shape::product("an output", &shape)?);
            items.compute(&(task..task + 1), &mut values)?;
            let expected = Tensor::new(values, &shape)?;
            let output = self.output.as_ref();
            let output = output.ok_or_else(|| Error::invalid("no output"))?;
            let place = task - first;
            let output = output.items(place..place + 1)?;
            Ok::<_, Error>(self.lane.verify.agree(&output, &expected))
        })
    }

    fn keep(self: Box<Self>, span: Span) {
        let items = self.lane.items;
        let Some(output) = self.output else { return };
        if self.is_whole {
            *locked(&items.whole) = Some(output);
            return;
        }
        let mut writer = items.rows.writer(span);
        // It was brought to the host by the device's own thread.
        if let Ok(values) = output.host()
            && values.len() == writer.rows().len()
        {
            writer.rows().copy_from_slice(values);
            writer.finish();
        }
    }
}
