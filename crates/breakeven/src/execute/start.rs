//! The begin of a batch: the decision, and the usable devices.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::energy;
use super::quarantine::{self, Admission, Trial};
use super::result::LeftOut;
use super::shared::{Config, Shared};
use super::slot::GpuSlot;
use super::work::{Lane, caught};
use crate::WorkloadProfile;
use crate::device::Device;
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::hardware::{Fact, GpuKind};
use crate::plan::{
    Basis, Decision, ExecutionStrategy, Goal, GpuSpec, Machine, OperationCosts, Query, Resource,
    StatedWork, Tuning, decide_tuned,
};
use crate::schedule::GpuSetup;

/// Most launches of one batch in flight on a device.
const MOST_DEPTH: usize = 16;

/// What is known about a batch that was not measured.
pub(super) enum Stated {
    /// Its work, from which the machine's peaks predict the time.
    Work(StatedWork),
    /// Its time on the devices, from the costs of its stages.
    Costs(OperationCosts),
}

/// The inputs of a batch's decision.
pub(super) struct Question<'q> {
    pub(super) config: &'q Config,
    pub(super) shared: &'q Shared,
    pub(super) slots: &'q [Arc<GpuSlot>],
    /// The GPUs for this batch's types; none for a decision without tasks.
    pub(super) lanes: &'q [&'q dyn Lane],
    pub(super) operation: &'q str,
    pub(super) workload: WorkloadProfile,
    pub(super) strategy: ExecutionStrategy,
    pub(super) basis: Basis,
    /// What Auto minimises.
    pub(super) goal: Goal<'q>,
    pub(super) workers: usize,
    /// What is stated about the batch's work.
    pub(super) stated: Option<Stated>,
    /// Its name in the cost model: not the operation's if transfers are excluded.
    pub(super) known_as: Cow<'q, str>,
    /// Devices whose quarantine is over may be tried.
    pub(super) tries: bool,
}

/// The begin of a batch.
pub(super) struct Start {
    pub(super) decision: Box<Decision>,
    pub(super) costs: OperationCosts,
    /// The usable GPUs, by their index in the manager's list, in the order of the decision's
    /// machine.
    pub(super) usable: Vec<usize>,
    pub(super) names: Vec<String>,
    pub(super) gpus: Vec<GpuSetup>,
    pub(super) left_out: Vec<LeftOut>,
    /// Trials of devices, until the batch has ended.
    #[expect(dead_code, reason = "dropping them ends the trials")]
    pub(super) trials: Vec<Trial>,
}

/// The candidate GPUs, by their index in the manager's list: what is known about each, and its own
/// description.
type Candidates = (Vec<(usize, GpuSetup)>, Vec<GpuSpec>);

impl Question<'_> {
    pub(super) fn answer(&self) -> Result<Start, Error> {
        let (mut trials, mut left_out) = (Vec::new(), Vec::new());
        let (candidates, gpus) = self.candidates(&mut trials, &mut left_out);
        let names: Vec<String> = gpus.iter().map(|gpu| gpu.name.clone()).collect();
        let memory = self.workload.memory_per_task;
        let costs = match self.shared.costs(self.slots.is_empty()) {
            Some(costs) => costs.lookup(&self.known_as, memory, &names, self.workers),
            None => OperationCosts::default(),
        };
        let tuning = Tuning::USUAL;
        let reported = |gpu: &GpuSpec| Some(gpu.launch.get()?.as_nanos() as f64);
        let costs = costs.with_reported_launches(gpus.iter().map(reported));
        let costs = match &self.stated {
            Some(Stated::Costs(stated)) => costs.or(stated),
            Some(Stated::Work(work)) if !self.slots.is_empty() => {
                let known = self.shared.costs(false).map(|costs| costs.peaks());
                let stated = work.costs(&known.unwrap_or_default(), &names, self.workers);
                costs.or(&stated)
            }
            _ => costs,
        };
        let taken = candidates.iter().map(|(_, gpu)| gpu.fits);
        let costs = costs.in_launches_of(taken, self.workload.task_count);
        let mut machine = Machine {
            cores: self.workers,
            memory_bytes: Fact::Unknown,
            cpu_power: self.config.cpu_power,
            gpus,
        };
        let (strategy, basis) = match self.basis {
            // The GPU that holds the inputs cannot be used: decide as if the inputs were on the
            // host.
            Basis::Resident if candidates.is_empty() => (ExecutionStrategy::Auto, Basis::Program),
            basis => (self.strategy, basis),
        };
        let heuristics = &self.config.heuristics;
        let workload = &self.workload;
        let measuring = match strategy {
            ExecutionStrategy::Auto => self.measure_power(&mut machine, &costs)?,
            _ => Vec::new(),
        };
        let query = Query {
            strategy,
            basis,
            goal: match measuring.is_empty() {
                true => self.goal,
                false => Goal::default(),
            },
            tuning,
        };
        let mut decision = decide_tuned(query, workload, &machine, heuristics, &costs)?;
        if !measuring.is_empty() {
            decision.measure(self.goal.objective, measuring);
        }
        if !left_out.is_empty() {
            let sentence = |LeftOut { device, why }: &LeftOut| {
                format!("{device} was left out: {}", why.message)
            };
            decision.leave_out(left_out.iter().map(sentence));
        }
        let uses_gpus = decision.orders.use_gpus();
        let (usable, mut gpus): (Vec<_>, Vec<_>) = candidates.into_iter().unzip();
        for (place, (gpu, spec)) in gpus.iter_mut().zip(&machine.gpus).enumerate() {
            let task_bytes = if uses_gpus {
                self.task_bytes(usable[place])
            } else {
                0
            };
            let known = costs.gpu(place).fits;
            gpu.fits = fits(spec, gpu.depth, task_bytes, known).min(gpu.fits);
        }
        if !uses_gpus {
            trials.clear();
        }
        Ok(Start {
            decision,
            costs,
            usable,
            names,
            gpus,
            left_out,
            trials,
        })
    }

    /// Fills in the devices' power, if energy counts and it is not stated. Returns the devices
    /// whose power during this operation is not measured yet.
    fn measure_power(
        &self,
        machine: &mut Machine,
        costs: &OperationCosts,
    ) -> Result<Vec<String>, Error> {
        let counts = self.goal.objective.resource() == Some(Resource::Energy);
        if !counts || machine.gpus.is_empty() {
            return Ok(Vec::new());
        }
        let shared = self.shared;
        let energy_of = || shared.energy(self.config.meter.as_ref());
        energy::fill(machine, costs, &shared.capabilities, energy_of)
    }

    /// Returns the usable GPUs, software only on request; GPUs that do not answer are left out. A
    /// batch for the CPU queries none.
    fn candidates(&self, trials: &mut Vec<Trial>, left_out: &mut Vec<LeftOut>) -> Candidates {
        let takes_software =
            self.strategy != ExecutionStrategy::Auto || self.config.allows_software;
        let mut found = Candidates::default();
        for (index, slot) in self.slots.iter().enumerate() {
            let candidate = match self.strategy {
                ExecutionStrategy::CpuOnly => Ok((GpuSetup::UNKNOWN, slot.known())),
                _ => self.candidate(index, slot, trials),
            };
            match candidate {
                Ok((_, spec)) if spec.kind == GpuKind::Software && !takes_software => {}
                Ok((gpu, spec)) => found.extend([((index, gpu), spec)]),
                Err(why) => left_out.push(LeftOut {
                    device: slot.known().name,
                    why,
                }),
            }
        }
        found
    }

    /// Returns a GPU, unless it is in quarantine or does not answer. The quarantine is checked
    /// first, because a device in it may hang.
    fn candidate(
        &self,
        index: usize,
        slot: &GpuSlot,
        trials: &mut Vec<Trial>,
    ) -> Result<(GpuSetup, GpuSpec), DeviceError> {
        if slot.process != std::process::id() {
            let what = "it was opened before a fork: make the manager and its GPUs in the child";
            let kind = DeviceErrorKind::Unavailable { until: None };
            return Err(DeviceError::new(kind, what));
        }
        let lane = self.lanes.get(index);
        if let Some(lane) = lane
            && let Some(spec) = caught(|| Ok(lane.device().map(Device::spec)))?
        {
            slot.saw(spec);
        }
        let (mut own, now) = (Vec::new(), Instant::now());
        for key in slot.suspects(self.operation) {
            match quarantine::admission(&key, now, self.tries) {
                Admission::Good => {}
                Admission::OnProbation(trial) => own.push(trial),
                Admission::Until(until, why) => return Err(left_alone(&key, &why, until, now)),
            }
        }
        let mut spec = slot.known();
        let Some(lane) = lane else {
            return Ok((GpuSetup::UNKNOWN, spec));
        };
        if let (Some(costs), Some(driver)) = (self.shared.costs(false), spec.driver.known()) {
            costs.declare_driver(&spec.name, driver);
        }
        let used = slot.memory_used(|| {
            caught(|| {
                let used = lane.device().map(Device::memory_used);
                Ok(used.unwrap_or(Fact::Unknown))
            })
        })?;
        spec.memory_used_bytes = used.or(spec.memory_used_bytes);
        let gpu = GpuSetup {
            depth: caught(|| Ok(lane.depth()))?.clamp(1, MOST_DEPTH),
            fits: caught(|| Ok(lane.most_tasks()))?.unwrap_or(usize::MAX),
            on_probation: !own.is_empty(),
            ..GpuSetup::UNKNOWN
        };
        trials.append(&mut own);
        Ok((gpu, spec))
    }

    /// Returns the memory of a task on a device.
    fn task_bytes(&self, index: usize) -> u64 {
        let lane = self.lanes.get(index);
        let bytes = lane.and_then(|lane| caught(|| Ok(lane.batch_bytes())).ok().flatten());
        bytes.map_or(self.workload.memory_per_task as u64, |bytes| {
            bytes.div_ceil(self.workload.task_count.max(1) as u64)
        })
    }
}

/// Returns the most tasks in a launch: as many as fit the free memory with all launches in flight,
/// or as were observed to fit.
fn fits(spec: &GpuSpec, depth: usize, task_bytes: u64, seen: Option<u64>) -> usize {
    let free = spec.free_bytes();
    let at_once = free.map(|free| free / depth as u64 / task_bytes.max(1));
    let fits = [at_once, seen].into_iter().flatten().min();
    fits.map_or(usize::MAX, |fits| {
        usize::try_from(fits).unwrap_or(usize::MAX)
    })
}

/// Returns the error that there is no GPU although one was requested.
pub(super) fn no_gpu() -> DeviceError {
    let kind = DeviceErrorKind::Unavailable { until: None };
    DeviceError::new(kind, "there is no GPU, and no code for one was given")
}

fn left_alone(key: &str, why: &str, until: Instant, now: Instant) -> DeviceError {
    let left = until.saturating_duration_since(now);
    DeviceError::new(
        DeviceErrorKind::Unavailable { until: Some(until) },
        format!("{key} is quarantined for another {left:.1?}: {why}"),
    )
}
