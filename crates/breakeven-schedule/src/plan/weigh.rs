//! Which candidate is the best: by time, or by an objective.
//!
//! A batch of `T` ns on devices that are busy for `b` ns each uses `Σ idle · T + Σ (busy − idle) ·
//! b` of a resource, with what each device uses per ns while it works and while it waits; of a CPU
//! each worker uses its fraction. Both are linear in the shares of the devices. So without a
//! deadline the best choice is one device alone or the split that ends together. With a deadline it
//! may be a split that keeps its shares ([`kept`](super::kept)).

use super::draws::Draws;
use super::objective::{Amounts, Goal, Resource};
use super::{
    Basis, Candidate, Cost, Decision, Evidence, ExecutionStrategy, Machine, OperationCosts,
    Outcome, Took, Tuning, Way,
};
use crate::WorkloadProfile;
use crate::error::Error;

/// What an objective needs to weigh a batch's candidates.
pub(super) struct Weighing<'w> {
    pub(super) resource: Resource,
    draws: [Option<Draws>; Resource::ALL.len()],
    /// The deadline, ns.
    pub(super) within: Option<f64>,
    pub(super) workload: &'w WorkloadProfile,
    pub(super) costs: &'w OperationCosts,
    pub(super) tuning: &'w Tuning,
}

impl<'w> Weighing<'w> {
    /// Returns none for time alone, and if there is only one device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unmeasured`] if it is not known what a device uses.
    pub(super) fn of(
        goal: Goal<'_>,
        machine: &Machine,
        workload: &'w WorkloadProfile,
        costs: &'w OperationCosts,
        tuning: &'w Tuning,
    ) -> Result<Option<Self>, Error> {
        let Some(resource) = goal.objective.resource() else {
            return Ok(None);
        };
        if machine.gpus.is_empty() {
            return Ok(None);
        }
        let draws = |of: Resource| match Draws::of(of, goal.prices, machine) {
            Err(error) if of == resource => Err(error),
            draws => Ok(draws.ok()),
        };
        let mut all = [const { None }; Resource::ALL.len()];
        for each in Resource::ALL {
            all[each as usize] = draws(each)?;
        }
        let within = goal.objective.within();
        let within = within.map(|within| within.as_nanos() as f64);
        Ok(Some(Self {
            resource,
            draws: all,
            within,
            workload,
            costs,
            tuning,
        }))
    }

    /// Replaces a candidate's predicted time by that of earlier batches that ran the same way, if
    /// any, and sets what it uses in that time.
    pub(super) fn correct(&self, candidate: &mut Candidate) {
        match self.took(candidate) {
            Some((took, _)) => {
                candidate.predicted_ns = Some(took.ns);
                candidate.evidence = Evidence::Measured;
                self.draw(candidate, took.ns, (took.cpu, &took.gpus));
            }
            None => self.weigh(candidate),
        }
    }

    /// Sets what a candidate uses in its predicted time.
    pub(super) fn weigh(&self, candidate: &mut Candidate) {
        let Some(ns) = candidate.predicted_ns else {
            return;
        };
        let (cpu, gpus) = self.busy(candidate, ns);
        self.draw(candidate, ns, (cpu, &gpus));
    }

    /// Sets what a candidate uses if its devices are busy for these times out of `ns`.
    pub(super) fn draw(&self, candidate: &mut Candidate, ns: f64, (cpu, gpus): (f64, &[f64])) {
        let spent = |each| Some(self.draws[each as usize].as_ref()?.spent(ns, cpu, gpus));
        candidate.amounts = Amounts::of(spent);
    }

    /// Returns how long each device is busy of a candidate's time, ns; for the CPU as if all its
    /// workers were.
    fn busy(&self, candidate: &Candidate, ns: f64) -> (f64, Vec<f64>) {
        let tasks = self.workload.task_count as f64;
        let part = |index: usize| candidate.gpu_parts.get(index).copied().unwrap_or(0.0);
        let count = self.costs.gpus.len();
        let on_gpus: f64 = (0..count).map(part).sum();
        let on_cpu = match candidate.strategy {
            ExecutionStrategy::GpuOnly => 0.0,
            _ => 1.0 - on_gpus,
        };
        let is_split = on_cpu > 0.0 && on_gpus > 0.0;
        let of = |cost: Option<Cost>, part: f64| match cost {
            _ if part <= 0.0 => 0.0,
            // The sequential fraction of the work runs on one device, and the other devices wait
            // for it.
            Some(cost) if is_split && cost.observations == 0 && self.is_sequential() => ns,
            Some(cost) => {
                let cost = if is_split { shared(cost) } else { cost };
                (cost.fixed_ns + part * tasks * cost.per_task_ns).min(ns)
            }
            None => ns,
        };
        let gpu = |index: usize| of(self.costs.gpu(index).cost, part(index));
        (of(self.costs.cpu, on_cpu), (0..count).map(gpu).collect())
    }

    fn is_sequential(&self) -> bool {
        self.workload.parallelization < 1.0
    }

    /// Returns what the objective counts of a candidate; infinite if it is not known, or if the
    /// candidate is not certain to end in time.
    fn value(&self, candidate: &Candidate) -> f64 {
        let spent = candidate.amounts[self.resource];
        let is_late = !self.keeps(candidate);
        spent.filter(|_| !is_late).unwrap_or(f64::INFINITY)
    }

    /// Returns true if a predicted time is past the deadline.
    pub(super) fn is_late(&self, ns: f64) -> bool {
        self.within.is_some_and(|within| ns > within)
    }

    /// Returns true if times are not measured, but follow from stated rates.
    pub(super) fn is_stated(&self) -> bool {
        self.costs.cpu.is_some_and(|cost| cost.observations == 0)
    }

    /// Returns when a candidate is certain to end, ns.
    fn sure_ns(&self, candidate: &Candidate) -> f64 {
        match self.took(candidate) {
            Some((_, longest)) => longest,
            None => candidate.predicted_ns.unwrap_or(f64::INFINITY),
        }
    }

    /// Returns the times of earlier batches that ran as this candidate would.
    fn took(&self, candidate: &Candidate) -> Option<(Took, f64)> {
        let way = match candidate.strategy {
            ExecutionStrategy::CpuOnly => Way::Candidate(0),
            ExecutionStrategy::GpuOnly => Way::Candidate(1),
            _ => Way::Candidate(2),
        };
        self.batches(way)
    }

    /// Returns the times of earlier batches that ran this way.
    pub(super) fn batches(&self, way: Way) -> Option<(Took, f64)> {
        let tasks = self.workload.task_count;
        self.costs.ways.took(way, tasks, self.tuning)
    }

    pub(super) fn keeps(&self, candidate: &Candidate) -> bool {
        let ns = self.sure_ns(candidate);
        self.within.is_none_or(|within| ns <= within)
    }

    /// Chooses the candidate that uses least, a split only if it gains enough. If none is certain
    /// to end in time, chooses the fastest.
    pub(super) fn choose(&self, decision: &mut Decision) {
        let mut values = decision.candidates.each_ref().map(|each| self.value(each));
        let latest = self
            .latest(decision)
            .filter(|(_, value)| *value < values[2]);
        let mut keeps_parts = latest.is_some();
        if let Some((latest, value)) = latest {
            (decision.candidates[2], values[2]) = (latest, value);
        }
        let is_late = values.iter().all(|value| value.is_infinite());
        let outcome = match is_late {
            true => Outcome::Late,
            false => Outcome::Least,
        };
        if is_late {
            values = times(decision);
        }
        pick(decision, self.tuning.least_gain, values);
        // A batch that is late anyway can measure an untried split.
        if is_late && let Some(untried) = self.untried(decision) {
            decision.overrule(untried.strategy, Basis::Exploration);
            decision.candidates[2] = untried;
            keeps_parts = true;
        }
        keeps_parts &= matches!(decision.strategy, ExecutionStrategy::Hybrid { .. });
        if let Some(aim) = &mut decision.aim {
            aim.outcome = outcome;
            aim.keeps_parts = keeps_parts;
        }
    }

    /// Returns what a batch uses more than a candidate, as a fraction of the candidate's use, if a
    /// GPU or the CPU runs `tasks` of its tasks for `try_ns`. None if the batch may be late then,
    /// or if that is not known.
    pub(super) fn excess(
        &self,
        chosen: &Candidate,
        gpu: Option<usize>,
        tasks: usize,
        try_ns: f64,
    ) -> Option<f64> {
        let all = self.workload.task_count.max(1);
        let part = tasks as f64 / all as f64;
        let mut tried = chosen.clone();
        match gpu {
            Some(index) => {
                tried.gpu_parts.resize(self.costs.gpus.len(), 0.0);
                tried.gpu_parts[index] += part;
            }
            None => (tried.gpu_parts.iter_mut()).for_each(|each| *each *= 1.0 - part),
        }
        tried.strategy = ExecutionStrategy::split(50);
        tried.predicted_ns = chosen.predicted_ns.map(|ns| ns.max(try_ns));
        self.weigh(&mut tried);
        let times = tried.predicted_ns? / chosen.predicted_ns?;
        let sure_ns = self.sure_ns(chosen) * times;
        let least = chosen.amounts[self.resource]?.max(f64::MIN_POSITIVE);
        let more = tried.amounts[self.resource]? / least - 1.0;
        let is_in_time = self.within.is_none_or(|within| sure_ns <= within);
        is_in_time.then_some(more.max(0.0))
    }
}

/// Returns a cost while other devices run.
pub(super) fn shared(cost: Cost) -> Cost {
    Cost {
        per_task_ns: cost.per_task_ns * cost.beside,
        ..cost
    }
}

/// Chooses the fastest candidate, a split only if it gains enough.
pub(super) fn fastest(decision: &mut Decision, least_gain: f64) {
    pick(decision, least_gain, times(decision));
}

fn times(decision: &Decision) -> [f64; 3] {
    let candidates = decision.candidates.each_ref();
    candidates.map(|candidate| candidate.predicted_ns.unwrap_or(f64::INFINITY))
}

/// Chooses the candidate of the least value, a split only if it gains enough.
fn pick(decision: &mut Decision, least_gain: f64, values: [f64; 3]) {
    let (better, worse) = match values[0] <= values[1] {
        true => (0, 1),
        false => (1, 0),
    };
    let gain = 1.0 - values[2] / values[better].max(f64::MIN_POSITIVE);
    let (chosen, second) = match gain >= least_gain {
        true => (2, better),
        false if values[2] < values[worse] => (better, 2),
        false => (better, worse),
    };
    if chosen != 2 && gain > 0.0 {
        decision.declined_gain = Some(gain);
    }
    let margin = (1.0 - values[chosen] / values[second].max(f64::MIN_POSITIVE)).max(0.0);
    decision.strategy = decision.candidates[chosen].strategy;
    decision.basis = Basis::Model;
    decision.margin = Some(margin);
}
