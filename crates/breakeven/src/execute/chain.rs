//! A chain on the way: each stage where the chain as a whole is fastest.
//!
//! Where that is one device for all stages, the chain runs as any operator does: as a
//! whole, its items on several devices at once where that pays. Where it is not, the stages
//! run in parts that follow one another, each on its device, with the data in the host's
//! memory between two parts: a part that a device fails at runs again, on the CPU, from
//! there.
//!
//! What a stage takes is measured on the way: the first few runs of a placement go stage by
//! stage.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{Batch, Options};
use super::control::{Unchecked, Verify};
use super::drive::caught;
use super::executor::CpuExecutor;
use super::items::Place;
use super::manager::StrategyManager;
use super::quarantine;
use super::result::{DeviceShare, ExecuteError, ExecutionResult, Share};
use super::start::Start;
use super::tensor_device::TensorDevice;
use crate::error::{DeviceError, Error};
use crate::operator::{Operator, Stages};
use crate::plan::{
    ChainCosts, ExecutionStrategy, GpuCosts, OperationCosts, Placement, StageTime, estimate,
    profile_of,
};
use crate::schedule::whole;
use crate::store::{Costs, Transfer};
use crate::tensor::{Element, Tensor, shape};

/// Observations of a stage on a device below which it is measured again.
const ENOUGH: u64 = 3;

/// A device on which the chain was not measured is tried if it should take at most so many
/// times as long as the best placement.
const WORTH_A_TRY: f64 = 4.0;

/// How many times too high a stage's first times are supposed to be, with compilation and
/// cold caches in them.
const FIRST_RUN_EXCESS: f64 = 16.0;

/// After so many runs of chains one is measured stage by stage again, on a device in turn
/// that takes at most [`WORTH_REMEASURING`] times as long as the best placement.
const MEASURED_EVERY: u64 = 32;
const WORTH_REMEASURING: f64 = 2.0;

/// How a chain runs.
enum Route {
    /// As one operator, by what its stages say of it where they do.
    Whole(Option<(Placement, OperationCosts)>),
    /// In parts.
    Parts(Parts),
}

struct Parts {
    /// None where the stages' times are not known yet.
    placement: Option<Placement>,
    /// Of each stage the manager's GPU, none for the CPU.
    gpus: Vec<Option<usize>>,
    /// Stage by stage, to measure each.
    apart: bool,
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
        let name = self.options.operation.unwrap_or_else(|| chain.name());
        let is_checked = self.check()?.fraction > 0.0;
        let route = match is_checked {
            // The outputs of the whole chain are what the program knows how to check.
            true => Route::Whole(None),
            false => self.route(name, stages, inputs)?,
        };
        match route {
            Route::Whole(known) => {
                let (placement, costs) = known.unzip();
                let place = Place::Anywhere(costs);
                let mut result = self.run_items(name, chain, inputs, place)?;
                result.decision.placement = placement.map(Box::new);
                Ok(result)
            }
            Route::Parts(parts) => {
                let inputs: Vec<_> = inputs.iter().map(|input| input.cast()).collect();
                let run = ChainRun {
                    name,
                    manager: self.manager,
                    options: &self.options,
                    stages,
                    started: Instant::now(),
                    done: None,
                    stages_done: 0,
                };
                run.run(parts, &inputs)
            }
        }
    }

    /// Where the stages run, if that is to be decided and can be.
    fn route<E: Element>(
        &self,
        name: &str,
        stages: &Stages,
        inputs: &[&Tensor<'_, E>],
    ) -> Result<Route, Error> {
        let manager = self.manager;
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
        stages.output_shapes(&shapes)?;
        for (slot, gpu) in manager.slots.iter().zip(&manager.gpus) {
            if let Ok(Some(spec)) = caught(|| Ok(gpu.spec())) {
                slot.saw(spec);
            }
        }
        let question = self.question(name, self.profile(profile_of(stages.work(&shapes))), &[])?;
        let is_empty = question.workload.task_count == 0;
        let is_asked = question.strategy != ExecutionStrategy::Auto;
        let is_there = |gpu: &Arc<G>| inputs.iter().all(|input| gpu.has(input));
        let is_resident = !inputs.is_empty() && manager.gpus.iter().any(is_there);
        let Some(costs) = manager.shared.costs(manager.gpus.is_empty()) else {
            return Ok(Route::Whole(None));
        };
        if is_empty || is_asked || is_resident || manager.gpus.is_empty() {
            return Ok(Route::Whole(None));
        }
        let workers = question.workers;
        let Start { usable, names, .. } = super::start::Question {
            tries: false,
            ..question
        }
        .answer()?;
        let steps = stages.steps(&shapes);
        let has_form = |gpu: usize, place: usize| {
            let (gpu, step) = (&manager.gpus[usable[gpu]], &steps[place]);
            matches!(
                caught(|| Ok(gpu.call_bytes(step.stage, &step.shapes()))),
                Ok(Some(_))
            )
        };
        let costs = costs.of_chain(stages, &shapes, &names, workers, has_form);
        let Some(choice) = choose(&costs, || manager.shared.count_chain()) else {
            return Ok(Route::Whole(None));
        };
        if let Some(placement) = &choice.placement
            && placement.is_uniform()
            && !choice.apart
        {
            let tasks = profile_of(stages.work(&shapes)).task_count;
            let costs = as_one(placement, tasks, workers);
            return Ok(Route::Whole(Some((placement.clone(), costs))));
        }
        let gpu = |device: &usize| device.checked_sub(1).map(|gpu| usable[gpu]);
        Ok(Route::Parts(Parts {
            gpus: choice.devices.iter().map(gpu).collect(),
            placement: choice.placement,
            apart: choice.apart,
        }))
    }
}

/// A placement, and whether its stages are to be measured.
struct Choice {
    devices: Vec<usize>,
    placement: Option<Placement>,
    apart: bool,
}

/// The best placement, or another one that is worth a try. `count` numbers the chains.
fn choose(costs: &ChainCosts, count: impl FnOnce() -> u64) -> Option<Choice> {
    // All that can be on that device, and the rest on the CPU.
    let all_on = |device: usize| -> Vec<usize> {
        let stages = costs.stages.iter();
        let place = stages.map(|stage| if stage.runs_on[device] { device } else { 0 });
        place.collect()
    };
    let is_unknown = |device: usize| {
        let mut stages = costs.stages.iter();
        stages.any(|stage| stage.runs_on[device] && stage.times[device].is_none())
    };
    let mut devices = 0..costs.devices.len();
    if let Some(device) = devices.find(|device| is_unknown(*device)) {
        return Some(Choice {
            devices: all_on(device),
            placement: None,
            apart: true,
        });
    }
    let best = costs.best()?;
    let placement = costs.placed(&best)?;
    let predicted = placement.predicted_ns;
    let is_known = |time: StageTime| time.observations >= ENOUGH;
    let of_best = best.iter().zip(&costs.stages);
    let mut of_best = of_best.filter_map(|(device, stage)| stage.times[*device]);
    if !of_best.all(is_known) {
        return Some(Choice {
            devices: best,
            placement: Some(placement),
            apart: true,
        });
    }
    // Whether all that can be on that device was measured there, and what that placement
    // should take at the least.
    let alone = |device: usize| {
        let of_device = costs.stages.iter().filter_map(|stage| stage.times[device]);
        let (known, some): (Vec<_>, Vec<_>) = of_device.partition(|time| is_known(*time));
        let is_first = some.iter().any(|time| time.observations > 0);
        let excess = if is_first { FIRST_RUN_EXCESS } else { 1.0 };
        let ns = costs.placed(&all_on(device))?.predicted_ns / excess;
        let is_used = !(known.is_empty() && some.is_empty());
        is_used.then_some((some.is_empty(), ns))
    };
    let all: Vec<_> = (0..costs.devices.len()).map(alone).collect();
    let worth = |times: f64, known: bool| {
        let is_worth =
            move |(is_known, ns): (bool, f64)| is_known == known && ns <= times * predicted;
        let all = all.iter().enumerate();
        all.filter(move |(_, alone)| alone.is_some_and(is_worth))
            .map(|(device, _)| device)
    };
    let count = count();
    let in_turn = || {
        let again: Vec<usize> = worth(WORTH_REMEASURING, true).collect();
        let turn = usize::try_from(count / MEASURED_EVERY).unwrap_or(0);
        let is_due = count % MEASURED_EVERY == MEASURED_EVERY - 1 && !again.is_empty();
        is_due.then(|| again[turn % again.len()])
    };
    let tried = worth(WORTH_A_TRY, false).next().or_else(in_turn);
    let devices = tried.map_or(best, all_on);
    Some(Choice {
        placement: costs.placed(&devices),
        devices,
        apart: tried.is_some(),
    })
}

/// What the whole takes on each device, by what its stages take.
fn as_one(placement: &Placement, tasks: usize, workers: usize) -> OperationCosts {
    let mut all = placement.alone.iter().map(|alone| {
        let each = alone.predicted_ns? / tasks.max(1) as f64;
        Some(each)
    });
    let cpu = all
        .next()
        .flatten()
        .map(|each| estimate(0.0, each, 0.0, workers));
    let gpus = all.map(|each| GpuCosts {
        cost: each.map(|each| estimate(0.0, each, 0.0, 1)),
        ..GpuCosts::default()
    });
    OperationCosts {
        gpus: gpus.collect(),
        cpu,
        ..OperationCosts::default()
    }
}

/// A chain that runs in parts.
struct ChainRun<'r, C, G> {
    name: &'r str,
    manager: &'r StrategyManager<C, G>,
    options: &'r Options<'r>,
    stages: &'r Stages,
    started: Instant,
    /// All parts that have run, as one.
    done: Option<ExecutionResult<Words<'static>>>,
    stages_done: usize,
}

impl<C: CpuExecutor, G: TensorDevice> ChainRun<'_, C, G> {
    fn run<E: Element>(mut self, parts: Parts, inputs: &[Words<'_>]) -> Outcome<E> {
        let mut output: Option<Words<'static>> = None;
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
        let (cpu, gpu) = (done.cpu.tasks, done.gpu.tasks);
        let strategy_used = super::explain::amounted_to(cpu, gpu);
        let mut decision = done.decision;
        decision.place(parts.placement);
        Ok(ExecutionResult {
            outputs: vec![output.cast()],
            strategy_used,
            execution_time: self.started.elapsed(),
            fallback_occurred: done.fallback.tasks > 0,
            errors: done.errors,
            cpu: done.cpu,
            gpu: done.gpu,
            gpus: done.gpus,
            left_out: done.left_out,
            fallback: done.fallback,
            checked: 0,
            recalled: done.recalled,
            operation: self.name.to_owned(),
            tasks: done.tasks,
            decision,
        })
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
        let told = |done: usize, items: usize| {
            if let Some(told) = self.options.progress {
                told((before * items + these * done) / all.max(1), items);
            }
        };
        let progress: &(dyn Fn(usize, usize) + Sync) = &told;
        let batch = Batch {
            manager: self.manager,
            options: Options {
                operation: None,
                workload: None,
                deadline: self.options.deadline.map(left),
                progress: self.options.progress.map(|_| progress),
                ..*self.options
            },
            verify: Unchecked,
        };
        let inputs: Vec<&Words<'_>> = inputs.iter().collect();
        let gpu = match place {
            Place::Gpu(gpu) => Some(gpu),
            _ => None,
        };
        let result = batch.run_items(operator.name(), operator, &inputs, place)?;
        if let Some(gpu) = gpu.filter(|_| result.gpu.tasks == 0) {
            self.leave_alone(gpu);
        }
        let output = result.outputs[0].clone();
        self.stages_done += these;
        match &mut self.done {
            Some(done) => add(done, result),
            None => self.done = Some(result),
        }
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
        match self.measure(gpu, stages, inputs) {
            Err(error @ (ExecuteError::Stopped { .. } | ExecuteError::Invalid(_))) => Err(error),
            // What was between two stages may be lost with the device: again from the start.
            Err(_) => {
                self.leave_alone(gpu);
                Ok(None)
            }
            measured => measured,
        }
    }

    fn measure(
        &mut self,
        gpu: usize,
        stages: &Stages,
        inputs: &[Words<'_>],
    ) -> Result<Option<Words<'static>>, ExecuteError<Error>> {
        let (device, spec) = (&*self.manager.gpus[gpu], self.manager.slots[gpu].known());
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
        let [_, of_chain] = self.manager.slots[gpu].keys(self.name);
        let back_off = self.manager.config.back_off;
        quarantine::failed(&of_chain, back_off, self.started, Instant::now());
    }

    fn costs(&self) -> Option<&Arc<Costs>> {
        self.manager.shared.costs(false)
    }
}

/// Adds what a further part of the chain came to.
fn add<T>(all: &mut ExecutionResult<T>, part: ExecutionResult<T>) {
    let sum = |one: Share, other: Share| Share {
        tasks: one.tasks + other.tasks,
        spans: one.spans + other.spans,
        busy: one.busy + other.busy,
    };
    all.cpu = sum(all.cpu, part.cpu);
    all.gpu = sum(all.gpu, part.gpu);
    for DeviceShare { device, share } in part.gpus {
        match all.gpus.iter_mut().find(|known| known.device == device) {
            Some(known) => known.share = sum(known.share, share),
            None => all.gpus.push(DeviceShare { device, share }),
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
