//! Which candidate is the best: by time, or by what an objective weighs.
//!
//! A batch of `T` ns on devices that are busy for `b` ns each takes `Σ idle · T +
//! Σ (busy − idle) · b` of a resource, with what each device draws per ns while it works
//! and while it waits; of a CPU each worker draws its part. Both are linear in the parts of the devices, so without a deadline
//! the best choice is one device alone or the split that ends together. With one it may
//! be a split that keeps its parts ([`kept`](super::kept)).

use super::draws::Draws;
use super::objective::{Goal, Resource};
use super::{
    Basis, Candidate, Cost, Decision, Evidence, ExecutionStrategy, Machine, OperationCosts,
    Outcome, Took, Tuning, Way,
};
use crate::WorkloadProfile;
use crate::error::Error;

/// What an objective weighs a batch's candidates by.
pub(super) struct Weighing<'w> {
    pub(super) resource: Resource,
    energy: Option<Draws>,
    cost: Option<Draws>,
    /// The deadline, ns.
    pub(super) within: Option<f64>,
    pub(super) workload: &'w WorkloadProfile,
    pub(super) costs: &'w OperationCosts,
    pub(super) tuning: &'w Tuning,
}

impl<'w> Weighing<'w> {
    /// None for time alone, and where there is but one device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unmeasured`] where it is not known what a device draws.
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
        let within = goal.objective.within();
        let within = within.map(|within| within.as_nanos() as f64);
        Ok(Some(Self {
            resource,
            energy: draws(Resource::Energy)?,
            cost: draws(Resource::Cost)?,
            within,
            workload,
            costs,
            tuning,
        }))
    }

    /// Says of a candidate what it takes: the time that batches took which ran like it, where
    /// there were some, and what that draws.
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

    /// Says of a candidate what it draws in the time that it takes.
    pub(super) fn weigh(&self, candidate: &mut Candidate) {
        let Some(ns) = candidate.predicted_ns else {
            return;
        };
        let (cpu, gpus) = self.busy(candidate, ns);
        self.draw(candidate, ns, (cpu, &gpus));
    }

    /// Says what it draws whose devices work for so many of so many ns.
    pub(super) fn draw(&self, candidate: &mut Candidate, ns: f64, (cpu, gpus): (f64, &[f64])) {
        let spent = |draws: &Option<Draws>| Some(draws.as_ref()?.spent(ns, cpu, gpus));
        candidate.energy_j = spent(&self.energy);
        candidate.cost = spent(&self.cost);
    }

    /// For how long each device works of a candidate's time, ns: the CPU as if all its
    /// workers did.
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
            // The sequential part of the work is one device's, and the others wait for it.
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

    /// What the objective counts of a candidate; infinite where it is not known, or where
    /// the candidate is not sure to be done in time.
    fn value(&self, candidate: &Candidate) -> f64 {
        let spent = candidate.spent(self.resource);
        let is_late = !self.keeps(candidate);
        spent.filter(|_| !is_late).unwrap_or(f64::INFINITY)
    }

    /// True where a prediction is past the deadline.
    pub(super) fn is_late(&self, ns: f64) -> bool {
        self.within.is_some_and(|within| ns > within)
    }

    /// True where times are not measured, but follow from stated rates.
    pub(super) fn is_stated(&self) -> bool {
        self.costs.cpu.is_some_and(|cost| cost.observations == 0)
    }

    /// When a candidate is sure to be done, ns.
    fn sure_ns(&self, candidate: &Candidate) -> f64 {
        match self.took(candidate) {
            Some((_, longest)) => longest,
            None => candidate.predicted_ns.unwrap_or(f64::INFINITY),
        }
    }

    /// What batches took that ran as this candidate would.
    fn took(&self, candidate: &Candidate) -> Option<(Took, f64)> {
        let way = match candidate.strategy {
            ExecutionStrategy::CpuOnly => Way::Candidate(0),
            ExecutionStrategy::GpuOnly => Way::Candidate(1),
            _ => Way::Candidate(2),
        };
        self.batches(way)
    }

    /// What batches took that ran in that way.
    pub(super) fn batches(&self, way: Way) -> Option<(Took, f64)> {
        let tasks = self.workload.task_count;
        self.costs.ways.took(way, tasks, self.tuning)
    }

    pub(super) fn keeps(&self, candidate: &Candidate) -> bool {
        let ns = self.sure_ns(candidate);
        self.within.is_none_or(|within| ns <= within)
    }

    /// Chooses the candidate that takes least, a split only if it gains enough; where none
    /// is sure to be done in time, the fastest.
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
        // What is late anyway may as well tell of a split that nobody tried.
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

    /// What a batch takes more than a candidate does, as a fraction of that, if a GPU or the
    /// CPU has so many of the tasks, for `try_ns`, whatever is chosen. None where it may be late then, or where
    /// that is not known.
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
        let least = chosen.spent(self.resource)?.max(f64::MIN_POSITIVE);
        let more = tried.spent(self.resource)? / least - 1.0;
        let is_in_time = self.within.is_none_or(|within| sure_ns <= within);
        is_in_time.then_some(more.max(0.0))
    }
}

/// A cost beside other devices.
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
