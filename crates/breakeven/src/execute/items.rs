//! A batch of an operator's items: one tensor in, one tensor out.

use std::borrow::Cow;
use std::sync::Arc;

use super::batch::Batch;
use super::check::Check;
use super::control::Verify;
use super::executor::CpuExecutor;
use super::item_work::{Items, ItemsLane};
use super::manager::StrategyManager;
use super::promise::Executing;
use super::result::{ExecuteError, ExecutionResult};
use super::start::{Question, Stated};
use super::work::Lane;
use crate::device::TensorDevice;
use crate::error::Error;
use crate::operator::{Operator, checked_shape};
use crate::plan::{Basis, Decision, ExecutionStrategy, OperationCosts, StatedWork, profile_of};
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
    /// Runs an operator on a batch of items: on the CPU, on GPUs, or divided between both. The
    /// result has one output, a tensor ([`into_output`](ExecutionResult::into_output)).
    ///
    /// If all inputs were moved (`Tensor::to`) to a GPU of the manager, Auto stays there, and so
    /// does the output: a chain of calls moves nothing.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Invalid`] for inputs that the operator does not accept;
    /// [`ExecuteError::Task`] if it fails, with the first item of the range that it failed at;
    /// further errors as [`execute`](Self::execute).
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
                let name = self.operation;
                let name = name.unwrap_or_else(|| operator.name());
                self.run_items(name, operator, &inputs, Place::Anywhere(None))
            }
        }
    }

    /// Decides as [`run`](Self::run) would for these inputs now: see [`decide`](Self::decide).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for inputs that the operator does not accept;
    /// further errors as [`decide`](Self::decide).
    pub fn decide_run<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<Box<Decision>, Error>
    where
        V: Verify<Tensor<'static, O::Out>>,
    {
        let inputs = inputs.tensors();
        let name = self.operation.unwrap_or_else(|| operator.name());
        match operator.stages() {
            Some(stages) => self.decide_chain(name, operator, stages, &inputs),
            None => self.decide_items(name, operator, &inputs, Place::Anywhere(None)),
        }
    }

    pub(super) fn decide_items<O: Operator + ?Sized>(
        &self,
        name: &str,
        operator: &O,
        inputs: &[&Tensor<'_, O::In>],
        place: Place,
    ) -> Result<Box<Decision>, Error>
    where
        V: Verify<Tensor<'static, O::Out>>,
    {
        let decide = |question: Question<'_>, _: &Items<'_, O>| self.answer(question);
        Ok(self.ask(name, operator, inputs, place, decide)?.0)
    }

    /// Runs the operator at that place.
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
        let check = Check::of(&self.verify)?;
        let run = |question: Question<'_>, items: &Items<'_, O>| {
            Ok(self.request(&question, items, check, false)?.run())
        };
        let (ended, items) = self.ask(name, operator, inputs, place, run)?;
        let parts = items.into_parts();
        ended?.result(name, parts)
    }

    /// Collects the inputs of the decision, and calls `then` with them.
    fn ask<'i, O: Operator + ?Sized, R>(
        &self,
        name: &str,
        operator: &'i O,
        inputs: &'i [&'i Tensor<'i, O::In>],
        place: Place,
        then: impl FnOnce(Question<'_>, &Items<'i, O>) -> Result<R, Error>,
    ) -> Result<(R, Items<'i, O>), Error>
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
                // If the data is and stays on the GPU, it is measured without its transfers.
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
        let outcome = then(question, &items)?;
        Ok((outcome, items))
    }

    /// As [`run`](Self::run), without waiting; it owns its inputs. A clone of a tensor shares its
    /// memory.
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

/// Where an operator must run.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// Where it pays, with costs known in addition to the measured ones.
    Anywhere(Option<OperationCosts>),
    /// On the CPU.
    Cpu,
    /// On the manager's GPU with this index; the CPU runs what fails there.
    Gpu(usize),
}

impl<E: Element> ExecutionResult<Tensor<'static, E>> {
    /// Returns the output of an operator; of several, the first.
    ///
    /// # Panics
    ///
    /// On the result of a list of tasks that was empty.
    pub fn into_output(self) -> Tensor<'static, E> {
        let mut outputs = self.outputs.into_iter();
        outputs
            .next()
            .expect("the list of tasks was empty, so there is no output")
    }
}
