//! A chain on the way: each stage where the chain as a whole is fastest.
//!
//! Where that is one device for all stages, the chain runs as any operator does: as a
//! whole, its items on several devices at once where that pays. Where it is not, the stages
//! run in parts that follow one another, each on its device, with the data in the host's
//! memory between two parts: a part that a device fails at runs again, on the CPU, from
//! there.
//!
//! What a stage takes is measured on the way: its first runs on each device go stage by stage.

use std::sync::Arc;

use super::batch::Batch;
use super::check::Check;
use super::control::Verify;
use super::executor::CpuExecutor;
use super::items::Place;
use super::parts::{ChainRun, Outcome, Parts};
use super::start::{Question, Start};
use super::tensor_device::TensorDevice;
use super::work::caught;
use crate::error::Error;
use crate::operator::{Operator, Stages};
use crate::plan::{
    ChainCosts, Cost, Decision, ExecutionStrategy, GpuCosts, NextRun, Objective, OperationCosts,
    Placement, Tuning, estimate, profile_of,
};
use crate::tensor::{Element, Tensor};

/// How a chain runs.
enum Route {
    /// As one operator, by what its stages say of it where they do.
    Whole(Option<(Placement, OperationCosts)>),
    /// In parts, of the chain's stages or of the same with neighbours in one.
    Parts(Parts, Stages),
}

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
        let name = self.operation.unwrap_or_else(|| chain.name());
        match self.route(name, stages, inputs, true)? {
            Route::Whole(known) => {
                let (placement, costs) = known.unzip();
                let place = Place::Anywhere(costs);
                let mut result = self.run_items(name, chain, inputs, place)?;
                result.decision.placement = placement.map(Box::new);
                Ok(result)
            }
            Route::Parts(parts, stages) => {
                let inputs: Vec<_> = inputs.iter().map(|input| input.cast()).collect();
                ChainRun::new(name, self, &stages).run(parts, &inputs)
            }
        }
    }

    /// What [`run_chain`](Self::run_chain) would decide now.
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
        let decide = |place| self.decide_items(name, chain, inputs, place);
        Ok(match self.route(name, stages, inputs, false)? {
            Route::Whole(known) => {
                let (placement, costs) = known.unzip();
                let mut decision = decide(Place::Anywhere(costs))?;
                decision.placement = placement.map(Box::new);
                decision
            }
            Route::Parts(parts, _) => {
                let mut decision = decide(Place::Anywhere(None))?;
                decision.place(parts.placement);
                decision
            }
        })
    }

    /// Where the stages run, if that is to be decided and can be; `is_run` where that is
    /// followed.
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
        // The outputs of the whole chain are what the program knows how to check.
        let is_checked = Check::of(&self.verify)?.fraction > 0.0;
        if manager.gpus.is_empty() || is_checked {
            return Ok(Route::Whole(None));
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
        stages.output_shapes(&shapes)?;
        for (slot, gpu) in manager.slots.iter().zip(&manager.gpus) {
            if let Ok(Some(spec)) = caught(|| Ok(gpu.spec())) {
                slot.saw(spec);
            }
        }
        let question = self.question(name, self.profile(profile_of(stages.work(&shapes))), &[])?;
        let tasks = question.workload.task_count;
        let is_asked = question.strategy != ExecutionStrategy::Auto;
        let is_there = |gpu: &Arc<G>| inputs.iter().all(|input| gpu.has(input));
        let is_resident = !inputs.is_empty() && manager.gpus.iter().any(is_there);
        // An objective is weighed for the chain as a whole: stages are placed by time.
        let counts_time = question.goal.objective == Objective::Time;
        if tasks == 0 || is_asked || is_resident || !counts_time {
            return Ok(Route::Whole(None));
        }
        let Some(costs) = manager.shared.costs(false) else {
            return Ok(Route::Whole(None));
        };
        let workers = question.workers;
        let Start { usable, names, .. } = Question {
            tries: false,
            ..question
        }
        .answer()?;
        let count = manager.shared.chain_number(is_run);
        let tuning = Tuning::USUAL;
        // What a form of it takes, and what is to be done about that; `later` puts off when it
        // is measured again.
        let variant = |stages: &Stages, later: u64| {
            let steps = stages.steps(&shapes);
            let has_form = |gpu: usize, place: usize| {
                let (gpu, step) = (&manager.gpus[usable[gpu]], &steps[place]);
                matches!(
                    caught(|| Ok(gpu.call_bytes(step.stage, &step.shapes()))),
                    Ok(Some(_))
                )
            };
            let costs = costs.of_chain(stages, &shapes, &names, workers, has_form);
            let choice = costs.next_run(count.wrapping_add(later), tuning)?;
            Some((stages.clone(), costs, choice))
        };
        let Some(separate) = variant(stages, 0) else {
            return Ok(Route::Whole(None));
        };
        let fused = stages.fused().filter(|_| !separate.2.is_measured);
        let fused = fused.and_then(|fused| variant(fused, tuning.chain_measured_every / 2));
        let predicted = |choice: &NextRun| choice.placement.as_ref().map(|all| all.predicted_ns);
        let is_fused = fused.as_ref().is_some_and(|(_, _, fused)| {
            let gains = predicted(fused) < predicted(&separate.2);
            match fused.is_measured {
                true => fused.is_worth(predicted(&separate.2), tuning),
                false => gains,
            }
        });
        let (stages, costs, choice) = fused.filter(|_| is_fused).unwrap_or(separate);
        if let Some(placement) = &choice.placement
            && placement.is_uniform()
            && !choice.is_measured
            && !is_fused
        {
            let costs = as_one(&costs, placement, tasks, workers);
            return Ok(Route::Whole(Some((placement.clone(), costs))));
        }
        let gpu = |device: &usize| device.checked_sub(1).map(|gpu| usable[gpu]);
        let parts = Parts {
            gpus: choice.devices.iter().map(gpu).collect(),
            placement: choice.placement,
            apart: choice.is_measured,
        };
        Ok(Route::Parts(parts, stages))
    }
}

/// What the whole takes on each device, by what its stages take; as sure as the stage that
/// was seen least.
fn as_one(
    costs: &ChainCosts,
    placement: &Placement,
    tasks: usize,
    workers: usize,
) -> OperationCosts {
    let of_device = |device: usize| {
        let each = placement.alone[device].predicted_ns? / tasks.max(1) as f64;
        let at_once = if device == 0 { workers } else { 1 };
        let stages = costs.stages.iter().filter_map(|stage| stage.times[device]);
        let observations = stages.map(|time| time.observations).min().unwrap_or(0);
        let seen = if observations > 0 { tasks as u64 } else { 0 };
        Some(Cost {
            observations,
            fewest: seen,
            most: seen,
            ..estimate(0.0, each, 0.0, at_once)
        })
    };
    let gpus = (1..costs.devices.len()).map(|device| GpuCosts {
        cost: of_device(device),
        ..GpuCosts::default()
    });
    OperationCosts {
        cpu: of_device(0),
        gpus: gpus.collect(),
        ..OperationCosts::default()
    }
}
