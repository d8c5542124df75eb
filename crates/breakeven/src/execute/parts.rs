//! A chain whose stages run in parts that follow one another, each on its device.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{Batch, Options};
use super::control::Unchecked;
use super::executor::CpuExecutor;
use super::items::Place;
use super::quarantine;
use super::record::tell_chain;
use super::result::{ExecuteError, ExecutionResult, TaskError};
use super::tensor_device::TensorDevice;
use super::work::caught;
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::operator::{Operator, Stages};
use crate::plan::Placement;
use crate::store::{Costs, Transfer};
use crate::tensor::{Element, Tensor, shape};
use crate::whole;

/// Where the stages of a chain run.
pub(super) struct Parts {
    /// None where the stages' times are not known yet.
    pub(super) placement: Option<Placement>,
    /// Of each stage the manager's GPU, none for the CPU.
    pub(super) gpus: Vec<Option<usize>>,
    /// Stage by stage, to measure each.
    pub(super) apart: bool,
}

type Words<'t> = Tensor<'t, u32>;
pub(super) type Outcome<E> = Result<ExecutionResult<Tensor<'static, E>>, ExecuteError<Error>>;

/// A chain that runs in parts.
pub(super) struct ChainRun<'r, 'm, C, G, V> {
    name: &'r str,
    batch: &'r Batch<'m, C, G, V>,
    stages: &'r Stages,
    started: Instant,
    /// All parts that have run, as one.
    done: Option<ExecutionResult<Words<'static>>>,
    stages_done: usize,
    /// Items of the chain: a measurement may have fewer.
    items: usize,
}

impl<'r, 'm, C: CpuExecutor, G: TensorDevice, V> ChainRun<'r, 'm, C, G, V> {
    pub(super) fn new(name: &'r str, batch: &'r Batch<'m, C, G, V>, stages: &'r Stages) -> Self {
        Self {
            name,
            batch,
            stages,
            started: Instant::now(),
            done: None,
            stages_done: 0,
            items: 0,
        }
    }

    pub(super) fn run<E: Element>(mut self, parts: Parts, inputs: &[Words<'_>]) -> Outcome<E> {
        let mut output: Option<Words<'static>> = None;
        self.items = inputs.first().map_or(0, Tensor::batch);
        let mut first = 0;
        while let Some(&gpu) = parts.gpus.get(first) {
            let is_same = |other: &&Option<usize>| **other == gpu;
            let end = first + parts.gpus[first..].iter().take_while(is_same).count();
            let part = self.stages.part(first..end);
            let given = output.as_ref().map_or(inputs, std::slice::from_ref);
            let measured = match gpu {
                _ if !parts.apart => None,
                Some(gpu) => self.measured_on(gpu, &part, given)?,
                None => Some(self.one_by_one(&part, given, &Place::Cpu)?),
            };
            let place = || gpu.map_or(Place::Cpu, Place::Gpu);
            output = Some(match measured {
                Some(output) => output,
                None => self.part(&part, given, place())?,
            });
            first = end;
        }
        let (Some(done), Some(output)) = (self.done, output) else {
            return Err(Error::invalid("a chain of no stage").into());
        };
        let mut result = done.with_outputs(vec![output.cast()]);
        result.strategy_used = super::explain::amounted_to(result.cpu.tasks, result.gpu.tasks);
        result.execution_time = self.started.elapsed();
        result.fallback_occurred = result.fallback.tasks > 0;
        result.operation = self.name.to_owned();
        result.decision.place(parts.placement);
        tell_chain(&result);
        Ok(result)
    }

    /// Runs some stages there, as one.
    fn part<O>(
        &mut self,
        operator: &O,
        inputs: &[Words<'_>],
        place: Place,
    ) -> Result<Words<'static>, ExecuteError<Error>>
    where
        O: Operator<In = u32, Out = u32> + ?Sized,
    {
        let left = |time: Duration| time.saturating_sub(self.started.elapsed());
        let (before, all) = (self.stages_done, self.stages.iter().len());
        let these = operator.stages().map_or(1, |stages| stages.iter().len());
        // Items that would be done if all stages did a part of them at once.
        let is_all = inputs.first().map_or(0, Tensor::batch) == self.items;
        let outer = self.batch.progress.filter(|_| is_all);
        let told = |done: usize, items: usize| {
            if let Some(told) = outer {
                told((before * items + these * done) / all.max(1), items);
            }
        };
        let progress: &(dyn Fn(usize, usize) + Sync) = &told;
        let options = self.batch.options;
        let batch = Batch {
            manager: self.batch.manager,
            operation: None,
            options: Options {
                workload: None,
                deadline: options.deadline.map(left),
                ..options
            },
            cancel: self.batch.cancel,
            progress: outer.map(|_| progress),
            verify: Unchecked,
        };
        let inputs: Vec<&Words<'_>> = inputs.iter().collect();
        let gpu = match place {
            Place::Gpu(gpu) => Some(gpu),
            _ => None,
        };
        let result = batch.run_items(operator.name(), operator, &inputs, place)?;
        let is_fault = |error: &DeviceError| error.kind != DeviceErrorKind::Refused;
        let fails = result.gpu.tasks == 0 && result.errors.iter().any(is_fault);
        if let Some(gpu) = gpu.filter(|_| fails) {
            self.leave_alone(gpu);
        }
        let output = result.outputs[0].clone();
        self.stages_done += these;
        // An item counts once for each stage.
        self.count(times(result, these));
        Ok(output)
    }

    fn one_by_one(
        &mut self,
        stages: &Stages,
        inputs: &[Words<'_>],
        place: &Place,
    ) -> Result<Words<'static>, ExecuteError<Error>> {
        let mut output: Option<Words<'static>> = None;
        for stage in stages.iter() {
            let place = place.clone();
            output = Some(match output {
                Some(before) => self.part(stage, &[before], place)?,
                None => self.part(stage, inputs, place)?,
            });
        }
        output.ok_or_else(|| Error::invalid("a chain of no stage").into())
    }

    /// Runs the stages one by one on a GPU with the data there, and learns what each takes
    /// and what the transfers do. None where only a part of the items fits its memory, or it
    /// failed.
    fn measured_on(
        &mut self,
        gpu: usize,
        stages: &Stages,
        inputs: &[Words<'_>],
    ) -> Result<Option<Words<'static>>, ExecuteError<Error>> {
        let (before, stages_done) = (self.done.take(), self.stages_done);
        let measured = self.measure(gpu, stages, inputs);
        let counted = std::mem::replace(&mut self.done, before);
        if matches!(measured, Ok(Some(_))) {
            counted.into_iter().for_each(|counted| self.count(counted));
            return measured;
        }
        // All of it runs again, and is counted then.
        self.stages_done = stages_done;
        let kind = match &measured {
            Ok(_) => return measured,
            Err(ExecuteError::Device { error, .. }) => error.kind,
            Err(ExecuteError::Task {
                error: TaskError::Failed(error),
                ..
            }) => DeviceError::from(error.clone()).kind,
            Err(_) => DeviceErrorKind::Refused,
        };
        // What was between two stages may be lost with the device: again from the start.
        match kind {
            DeviceErrorKind::Refused | DeviceErrorKind::NeverFits => measured,
            _ => {
                self.leave_alone(gpu);
                Ok(None)
            }
        }
    }

    /// Adds what a further part of the chain came to.
    fn count(&mut self, result: ExecutionResult<Words<'static>>) {
        match &mut self.done {
            Some(done) => add(done, result),
            None => self.done = Some(result),
        }
    }

    fn measure(
        &mut self,
        gpu: usize,
        stages: &Stages,
        inputs: &[Words<'_>],
    ) -> Result<Option<Words<'static>>, ExecuteError<Error>> {
        let (device, spec) = (
            &*self.batch.manager.gpus[gpu],
            self.batch.manager.slots[gpu].known(),
        );
        let items = inputs.first().map_or(0, Tensor::batch);
        let failed = |error: DeviceError| ExecuteError::Device {
            error,
            fallen: 0,
            tasks: items,
        };
        let shapes: Vec<&[usize]> = inputs.iter().map(Tensor::shape).collect();
        let needed = caught(|| Ok(device.call_bytes(stages, &shapes))).map_err(failed)?;
        let (needed, free) = (needed.unwrap_or(0), spec.free_bytes().unwrap_or(u64::MAX));
        let fits = match needed > free {
            true => whole(items as f64 * free as f64 / needed as f64 / 2.0),
            false => items,
        };
        if fits == 0 {
            return Ok(None);
        }
        let sent = Instant::now();
        let mut copies = Vec::with_capacity(inputs.len());
        for input in inputs {
            let part = input.items(0..fits)?;
            let values = input.host().map_err(failed)?;
            let copy = Tensor::new(&values[..part.len()], part.shape())?;
            caught(|| device.bring(&copy)).map_err(failed)?;
            copies.push(copy);
        }
        let sent = sent.elapsed();
        let output = self.one_by_one(stages, &copies, &Place::Gpu(gpu))?;
        let was_there = device.has(&output);
        let fetched = Instant::now();
        caught(|| output.host().map(drop)).map_err(failed)?;
        let fetched = fetched.elapsed();
        if let Some(costs) = self.costs().filter(|_| was_there) {
            let bytes = copies.iter().map(|copy| shape::bytes(copy.shape())).sum();
            costs.moved(Transfer::Up, &spec.name, bytes, sent);
            let bytes = shape::bytes(output.shape());
            costs.moved(Transfer::Down, &spec.name, bytes, fetched);
        }
        Ok((fits == items).then_some(output))
    }

    /// The device failed at a part: the chain does without it for a while.
    fn leave_alone(&self, gpu: usize) {
        let [_, of_chain] = self.batch.manager.slots[gpu].keys(self.name);
        let back_off = self.batch.manager.config.back_off;
        quarantine::failed(&of_chain, back_off, self.started, Instant::now());
    }

    fn costs(&self) -> Option<&Arc<Costs>> {
        self.batch.manager.shared.costs(false)
    }
}

/// What a part of so many stages came to, counted by stage.
fn times<T>(mut part: ExecutionResult<T>, stages: usize) -> ExecutionResult<T> {
    part.cpu.tasks *= stages;
    part.gpu.tasks *= stages;
    for gpu in &mut part.gpus {
        gpu.share.tasks *= stages;
        gpu.fallback_tasks *= stages;
    }
    part.fallback.tasks *= stages;
    part.recalled *= stages;
    part
}

/// Adds a part to all parts before it.
fn add<T>(all: &mut ExecutionResult<T>, part: ExecutionResult<T>) {
    all.cpu = all.cpu.plus(part.cpu);
    all.gpu = all.gpu.plus(part.gpu);
    for gpu in part.gpus {
        match (all.gpus.iter_mut()).find(|known| known.device == gpu.device) {
            Some(known) => {
                known.share = known.share.plus(gpu.share);
                known.fallback_tasks += gpu.fallback_tasks;
                known.errors.extend(gpu.errors);
            }
            None => all.gpus.push(gpu),
        }
    }
    all.errors.extend(part.errors);
    for left_out in part.left_out {
        if !all.left_out.contains(&left_out) {
            all.left_out.push(left_out);
        }
    }
    all.fallback.tasks += part.fallback.tasks;
    all.fallback.failed_spans += part.fallback.failed_spans;
    all.fallback.delay = all.fallback.delay.max(part.fallback.delay);
    all.fallback.fits = all.fallback.fits.or(part.fallback.fits);
    all.recalled += part.recalled;
}
