//! Runs a chain: each stage on the device that makes the chain fastest.
//!
//! If one device is best for all stages, the chain runs as any operator does: as one batch, its
//! items on several devices at once if that pays. Otherwise its stages run in consecutive groups,
//! each as a batch of its own on its device, with the data in the host's memory between two groups.
//! If a device fails, its group runs again from there, on the CPU.
//!
//! The time of a stage is measured during runs: its first runs on each device go stage by stage.

use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::batch::{Batch, Options};
use super::check::Check;
use super::control::{Unchecked, Verify};
use super::executor::CpuExecutor;
use super::items::Place;
use super::quarantine::{self, Admission};
use super::record;
use super::result::{ExecuteError, ExecutionResult};
use super::start::{Question, Start};
use super::work::caught;
use crate::device::{Device, TensorDevice};
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::operator::{Operator, Stage, Stages};
use crate::plan::{
    ChainCosts, Cost, Decision, ExecutionStrategy, GpuCosts, NextRun, Objective, OperationCosts,
    Placement, Tuning, estimate, profile_of,
};
use crate::tensor::{Element, Tensor, shape};

/// How a chain runs: as one operator, unless it has groups.
#[derive(Default)]
struct Route {
    placement: Option<Placement>,
    /// Its cost as one operator, from the costs of its stages.
    costs: Option<OperationCosts>,
    /// The chain's stages, possibly with neighbours merged, and the manager's GPU of each, none for
    /// the CPU.
    parts: Option<(Stages, Vec<Option<usize>>)>,
}

type Words<'t> = Tensor<'t, u32>;
type Outcome<E> = Result<ExecutionResult<Tensor<'static, E>>, ExecuteError<Error>>;

impl<C: CpuExecutor, G: TensorDevice, V> Batch<'_, C, G, V> {
    pub(super) fn run_chain<O: Operator + ?Sized>(
        &self,
        chain: &O,
        stages: &Stages,
        inputs: &[&Tensor<'_, O::In>],
    ) -> Outcome<O::Out>
    where
        V: Verify<Tensor<'static, O::Out>>,
    {
        let started = Instant::now();
        let name = self.operation.unwrap_or_else(|| chain.name());
        let route = self.route(name, stages, inputs, true)?;
        let Some((stages, gpus)) = route.parts else {
            let place = Place::Anywhere(route.costs);
            let mut result = self.run_items(name, chain, inputs, place)?;
            result.decision.placement = route.placement.map(Box::new);
            return Ok(result);
        };
        let inputs: Vec<_> = inputs.iter().map(|input| input.cast()).collect();
        let mut run = ChainRun {
            batch: self,
            started,
            stages: gpus.len(),
            ran: Vec::new(),
            reported: AtomicUsize::new(0),
        };
        let output = run.run(&stages, &gpus, &inputs)?;
        let all = run.ran.into_iter().reduce(and);
        let all = all.ok_or_else(no_stage)?;
        let mut result = all.with_outputs(vec![output.cast()]);
        result.strategy_used = super::explain::amounted_to(result.cpu.tasks, result.gpu.tasks);
        result.execution_time = started.elapsed();
        result.fallback_occurred = result.fallback.tasks > 0;
        result.operation = name.to_owned();
        result.decision.place(route.placement);
        record::chain(&result);
        Ok(result)
    }

    /// Decides as [`run_chain`](Self::run_chain) would now.
    pub(super) fn decide_chain<O: Operator + ?Sized>(
        &self,
        name: &str,
        chain: &O,
        stages: &Stages,
        inputs: &[&Tensor<'_, O::In>],
    ) -> Result<Box<Decision>, Error>
    where
        V: Verify<Tensor<'static, O::Out>>,
    {
        let route = self.route(name, stages, inputs, false)?;
        let place = Place::Anywhere(route.costs);
        let mut decision = self.decide_items(name, chain, inputs, place)?;
        match route.parts {
            Some(_) => decision.place(route.placement),
            None => decision.placement = route.placement.map(Box::new),
        }
        Ok(decision)
    }

    /// Decides where the stages run, if they can be placed; `is_run` if the result is executed.
    fn route<E: Element, T>(
        &self,
        name: &str,
        stages: &Stages,
        inputs: &[&Tensor<'_, E>],
        is_run: bool,
    ) -> Result<Route, Error>
    where
        V: Verify<T>,
    {
        let manager = self.manager;
        // The program can check only the outputs of the complete chain.
        let is_checked = Check::of(&self.verify)?.fraction > 0.0;
        if manager.gpus.is_empty() || is_checked {
            return Ok(Route::default());
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
        stages.output_shapes(&shapes)?;
        for (slot, gpu) in manager.slots.iter().zip(&manager.gpus) {
            if let Ok(Some(spec)) = caught(|| Ok(gpu.device().map(Device::spec))) {
                slot.saw(spec);
            }
        }
        let question = self.question(name, self.profile(profile_of(stages.work(&shapes))), &[])?;
        let (tasks, workers) = (question.workload.task_count, question.workers);
        let is_there = |gpu: &Arc<G>| inputs.iter().all(|input| gpu.has(input));
        let is_resident = !inputs.is_empty() && manager.gpus.iter().any(is_there);
        // An objective applies to the chain as one operator; stages are placed by time.
        let is_free = question.strategy == ExecutionStrategy::Auto
            && question.goal.objective == Objective::Time;
        let costs = manager.shared.costs(false);
        let Some(costs) = costs.filter(|_| is_free && tasks > 0 && !is_resident) else {
            return Ok(Route::default());
        };
        let tries = false;
        let Start { usable, names, .. } = Question { tries, ..question }.answer()?;
        let count = manager.shared.chain_number(is_run);
        let tuning = Tuning::USUAL;
        // Returns the costs of a variant and its next run; `later` postpones its next measurement.
        let variant = |stages: &Stages, later: u64| {
            let steps = stages.steps(&shapes);
            let has_form = |gpu: usize, place: usize| {
                let (gpu, step) = (usable[gpu], &steps[place]);
                let now = Instant::now();
                let mut keys = manager.slots[gpu].suspects(step.stage.name());
                let rests = |key: String| {
                    matches!(
                        quarantine::admission(&key, now, tries),
                        Admission::Until(..)
                    )
                };
                let bytes = || Ok(manager.gpus[gpu].call_bytes(step.stage, &step.shapes()));
                let free = manager.slots[gpu].known().free_bytes().unwrap_or(u64::MAX);
                !keys.any(rests) && matches!(caught(bytes), Ok(Some(bytes)) if bytes <= free)
            };
            let costs = costs.of_chain(stages, &shapes, &names, workers, has_form);
            let next = costs.next_run(count.wrapping_add(later), tuning)?;
            Some((stages.clone(), costs, next))
        };
        let Some(separate) = variant(stages, 0) else {
            return Ok(Route::default());
        };
        let fused = stages.fused().filter(|_| !separate.2.is_measured);
        let fused = fused.and_then(|fused| variant(fused, tuning.runs_before_again / 2));
        let predicted = |next: &NextRun| next.placement.as_ref().map(|all| all.predicted_ns);
        let is_fused = fused.as_ref().is_some_and(|(.., fused)| {
            let both = predicted(fused).zip(predicted(&separate.2));
            both.map_or(fused.is_measured, |(own, other)| match fused.is_measured {
                true => own <= tuning.failed_prediction * other,
                false => own < other,
            })
        });
        let (stages, costs, next) = fused.filter(|_| is_fused).unwrap_or(separate);
        let uniform = next.placement.as_ref().filter(|all| all.is_uniform());
        let as_one = uniform.filter(|_| !next.is_measured && !is_fused);
        let as_one = as_one.map(|placement| as_one_costs(&costs, placement, tasks, workers));
        let gpu = |device: &usize| device.checked_sub(1).map(|gpu| usable[gpu]);
        let gpus = || next.devices.iter().map(gpu).collect();
        let parts = as_one.is_none().then(|| (stages, gpus()));
        Ok(Route {
            placement: next.placement,
            costs: as_one,
            parts,
        })
    }
}

/// Returns the cost of the chain as one operator on each device, from the costs of its stages; its
/// evidence is that of the least observed stage.
fn as_one_costs(
    costs: &ChainCosts,
    placement: &Placement,
    tasks: usize,
    workers: usize,
) -> OperationCosts {
    let mut devices = placement.alone.iter().enumerate().map(|(device, alone)| {
        let stages = costs.stages.iter().filter_map(|stage| stage.times[device]);
        let observations = stages.map(|time| time.observations).min().unwrap_or(0);
        let seen = if observations > 0 { tasks as u64 } else { 0 };
        let at_once = if device == 0 { workers } else { 1 };
        Some(Cost {
            observations,
            fewest: seen,
            most: seen,
            ..estimate(0.0, alone.predicted_ns? / tasks as f64, 0.0, at_once)
        })
    });
    OperationCosts {
        cpu: devices.next().flatten(),
        gpus: devices
            .map(|cost| GpuCosts {
                cost,
                ..GpuCosts::default()
            })
            .collect(),
        ..OperationCosts::default()
    }
}

/// A chain that runs in groups of stages.
struct ChainRun<'r, 'm, C, G, V> {
    batch: &'r Batch<'m, C, G, V>,
    started: Instant,
    stages: usize,
    /// The batches that it ran, one for each stage.
    ran: Vec<ExecutionResult<()>>,
    /// The most items that were reported as done: repeated items are not reported again.
    reported: AtomicUsize,
}

impl<C: CpuExecutor, G: TensorDevice, V> ChainRun<'_, '_, C, G, V> {
    /// Runs the stages, each on the manager's GPU with that index, or on the CPU.
    fn run(
        &mut self,
        stages: &Stages,
        gpus: &[Option<usize>],
        inputs: &[Words<'_>],
    ) -> Result<Words<'static>, ExecuteError<Error>> {
        let stages: Vec<&Stage> = stages.iter().collect();
        let mut output = None::<Words<'static>>;
        for alike in gpus.chunk_by(|one, other| one == other) {
            let (first, gpu) = (self.ran.len(), alike[0]);
            let part = &stages[first..first + alike.len()];
            let given = output.as_ref().map_or(inputs, from_ref);
            let place = gpu.map_or(Place::Cpu, Place::Gpu);
            let done = match gpu {
                Some(gpu) => self.stay_on(gpu, part, given),
                None => self.follow(part, given, &place),
            };
            output = Some(match (gpu, done) {
                (_, Ok(output)) => output,
                (None, Err(error)) | (_, Err(error @ ExecuteError::Stopped { .. })) => {
                    return Err(error);
                }
                // Data between two stages may be lost with the device: the complete group runs
                // again, from the host's memory.
                (Some(gpu), Err(_)) => {
                    self.ran.truncate(first);
                    let again = self.follow(part, given, &place);
                    if let Err(ExecuteError::Device { error, .. }) = &again
                        && is_fault(error)
                    {
                        self.leave_alone(gpu, part[self.ran.len() - first], &error.to_string());
                    }
                    again?
                }
            });
        }
        Ok(output.ok_or_else(no_stage)?)
    }

    /// Runs stages on one device, each on the output of the previous one.
    fn follow(
        &mut self,
        stages: &[&Stage],
        inputs: &[Words<'_>],
        place: &Place,
    ) -> Result<Words<'static>, ExecuteError<Error>> {
        let mut output = None::<Words<'static>>;
        for stage in stages {
            let (before, all, reported) = (self.ran.len(), self.stages, &self.reported);
            // Items that would be done if each stage had done its fraction of them.
            let outer = self.batch.progress;
            let report = |done: usize, items: usize| {
                let done = (before * items + done) / all;
                let most = reported.fetch_max(done, Ordering::Relaxed).max(done);
                if let Some(outer) = outer {
                    outer(most, items);
                }
            };
            let progress: &(dyn Fn(usize, usize) + Sync) = &report;
            let options = self.batch.options;
            let left = |time: Duration| time.saturating_sub(self.started.elapsed());
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
            let given = output.as_ref().map_or(inputs, from_ref);
            let given: Vec<&Words<'_>> = given.iter().collect();
            let result = batch.run_items(stage.name(), *stage, &given, place.clone())?;
            if let Place::Gpu(gpu) = *place
                && result.gpu.tasks == 0
                && let Some(error) = result.errors.iter().find(|error| is_fault(error))
            {
                self.leave_alone(gpu, *stage, &error.to_string());
            }
            let (mut outputs, result) = result.into_outputs();
            output = outputs.pop();
            self.ran.push(result);
        }
        Ok(output.ok_or_else(no_stage)?)
    }

    /// Makes the operation avoid a GPU that ran nothing of a stage: without a measurement it would
    /// be tried each time.
    fn leave_alone(&self, gpu: usize, stage: &Stage, why: &str) {
        let manager = self.batch.manager;
        let [_, of_stage] = manager.slots[gpu].keys(stage.name());
        let back_off = manager.config.back_off;
        quarantine::failed(&of_stage, why, back_off, self.started, Instant::now());
    }

    /// Runs stages with the data on the GPU, and learns the transfer times.
    fn stay_on(
        &mut self,
        gpu: usize,
        stages: &[&Stage],
        inputs: &[Words<'_>],
    ) -> Result<Words<'static>, ExecuteError<Error>> {
        let manager = self.batch.manager;
        let device = &*manager.gpus[gpu];
        let sent = Instant::now();
        let mut copies = Vec::with_capacity(inputs.len());
        for input in inputs {
            let values = input.host().map_err(Error::from)?;
            let copy = Tensor::new(values, input.shape())?;
            caught(|| device.bring(&copy)).map_err(Error::from)?;
            copies.push(copy);
        }
        let sent = sent.elapsed();
        let output = self.follow(stages, &copies, &Place::Gpu(gpu))?;
        let was_there = device.has(&output);
        let fetched = Instant::now();
        caught(|| output.host().map(drop)).map_err(Error::from)?;
        let fetched = fetched.elapsed();
        if let Some(costs) = manager.shared.costs(false).filter(|_| was_there) {
            let name = manager.slots[gpu].known().name;
            let bytes = copies.iter().map(|copy| shape::bytes(copy.shape())).sum();
            costs.moved(true, &name, bytes, sent);
            costs.moved(false, &name, shape::bytes(output.shape()), fetched);
        }
        Ok(output)
    }
}

fn is_fault(error: &DeviceError) -> bool {
    error.kind != DeviceErrorKind::Refused
}

fn no_stage() -> Error {
    Error::invalid("a chain of no stage")
}

/// Combines the results of two consecutive batches.
fn and(mut all: ExecutionResult<()>, next: ExecutionResult<()>) -> ExecutionResult<()> {
    all.cpu = all.cpu.plus(next.cpu);
    all.gpu = all.gpu.plus(next.gpu);
    for gpu in next.gpus {
        match (all.gpus.iter_mut()).find(|known| known.device == gpu.device) {
            Some(known) => {
                known.share = known.share.plus(gpu.share);
                known.fallback_tasks += gpu.fallback_tasks;
                known.errors.extend(gpu.errors);
            }
            None => all.gpus.push(gpu),
        }
    }
    all.errors.extend(next.errors);
    let is_new = |left_out: &_| !all.left_out.contains(left_out);
    let new: Vec<_> = next.left_out.into_iter().filter(is_new).collect();
    all.left_out.extend(new);
    all.fallback.tasks += next.fallback.tasks;
    all.fallback.failed_spans += next.fallback.failed_spans;
    all.fallback.delay = all.fallback.delay.max(next.fallback.delay);
    all.fallback.fits = all.fallback.fits.or(next.fallback.fits);
    all.recalled += next.recalled;
    all
}
