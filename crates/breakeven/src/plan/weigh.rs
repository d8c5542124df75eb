//! Which candidate is the best: by time, or by what an objective weighs.
//!
//! A batch of `T` ns on devices that are busy for `b` ns each takes `Σ idle · T +
//! Σ (busy − idle) · b` of a resource, with what each device draws per ns while it works
//! and while it waits; of a CPU each worker draws its part. Both are linear in the parts of the devices, so without a deadline
//! the best choice is one device alone or the split that ends together. With one it may
//! be a split in which the side that draws less works until the deadline:
//! [`Weighing::latest`].

use super::forecast::asked_split;
use super::objective::{Goal, Resource};
use super::{
    Candidate, Cost, Decision, Declined, ExecutionStrategy, Machine, OperationCosts, Outcome,
    Prices, Tuning,
};
use crate::error::{Error, ErrorKind};
use crate::workload::WorkloadProfile;

/// What a device draws of a resource, per ns.
#[derive(Debug, Clone, Copy)]
struct Draw {
    busy: f64,
    idle: f64,
}

/// What all devices draw of a resource.
#[derive(Debug)]
struct Draws {
    cpu: Draw,
    gpus: Vec<Draw>,
}

impl Draws {
    fn of(resource: Resource, prices: Option<&Prices>, machine: &Machine) -> Result<Self, Error> {
        let gpus = machine.gpus.iter().map(|gpu| match resource {
            Resource::Energy => Draw::of_power(gpu.power.get(), &gpu.name),
            Resource::Cost => Draw::of_price(prices.map(|prices| prices.gpu(&gpu.name)), &gpu.name),
        });
        let gpus = gpus.collect::<Result<_, _>>()?;
        let cpu = match resource {
            Resource::Energy => Draw::of_power(machine.cpu_power.get(), "the CPU"),
            Resource::Cost => Draw::of_price(prices.map(|prices| Some(prices.cpu())), "the CPU"),
        };
        Ok(Self { cpu: cpu?, gpus })
    }

    /// What a batch of so many ns takes whose devices are busy that long.
    fn spent(&self, ns: f64, cpu_ns: f64, gpu_ns: &[f64]) -> f64 {
        let of = |draw: &Draw, busy: f64| draw.idle * ns + (draw.busy - draw.idle) * busy;
        let gpus = self.gpus.iter().zip(gpu_ns);
        gpus.fold(of(&self.cpu, cpu_ns), |sum, (draw, busy)| {
            sum + of(draw, *busy)
        })
    }
}

impl Draw {
    fn of_power(power: Option<super::Power>, device: &str) -> Result<Self, Error> {
        let power = power.ok_or_else(|| {
            unmeasured(format!(
                "energy cannot be weighed: the power of {device} is not known; state its `watts` and `idle_watts`, or measure it here (RAPL, NVML)"
            ))
        })?;
        Ok(Self {
            busy: power.busy_watts / 1e9,
            idle: power.idle_watts / 1e9,
        })
    }

    /// None where there are no prices at all, or none of this device.
    fn of_price(price: Option<Option<super::Price>>, device: &str) -> Result<Self, Error> {
        let price = price.ok_or_else(|| {
            unmeasured(
                "cost cannot be weighed: there are no prices; name their file (--prices, BREAKEVEN_PRICES or `with_prices`)".to_owned(),
            )
        })?;
        let price = price.ok_or_else(|| {
            unmeasured(format!(
                "cost cannot be weighed: there is no price of {device}; add [[gpu]] with name = {device:?} and per_hour to the prices"
            ))
        })?;
        let per_ns = price.per_hour / 3600e9;
        Ok(Self {
            busy: per_ns,
            idle: if price.while_idle { per_ns } else { 0.0 },
        })
    }
}

fn unmeasured(message: String) -> Error {
    Error::new(ErrorKind::Unmeasured, message)
}

/// What an objective weighs a batch's candidates by.
pub(super) struct Weighing<'w> {
    resource: Resource,
    energy: Option<Draws>,
    cost: Option<Draws>,
    /// The deadline, ns.
    within: Option<f64>,
    /// Time that a candidate may be predicted to take, ns: it is sure to be in time then.
    limit: Option<f64>,
    workload: &'w WorkloadProfile,
    costs: &'w OperationCosts,
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
        tuning: &Tuning,
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
        let is_stated = costs.cpu.is_some_and(|cost| cost.observations == 0);
        let sure = match is_stated {
            true => 1.0,
            false => (1.0 + tuning.deadline_margin).max(costs.overrun),
        };
        let within = goal.objective.within();
        let within = within.map(|within| within.as_nanos() as f64);
        Ok(Some(Self {
            resource,
            energy: draws(Resource::Energy)?,
            cost: draws(Resource::Cost)?,
            within,
            limit: within.map(|within| within / sure),
            workload,
            costs,
        }))
    }

    /// Says of a candidate what it takes beside time.
    pub(super) fn weigh(&self, candidate: &mut Candidate) {
        let Some(ns) = candidate.predicted_ns else {
            return;
        };
        let (cpu, gpus) = self.busy(candidate, ns);
        let spent = |draws: &Option<Draws>| Some(draws.as_ref()?.spent(ns, cpu, &gpus));
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

    fn keeps(&self, candidate: &Candidate) -> bool {
        let ns = candidate.predicted_ns.unwrap_or(f64::INFINITY);
        self.limit.is_none_or(|limit| ns <= limit)
    }

    /// Chooses the candidate that takes least, a split only if it gains enough; where none
    /// is sure to be done in time, the fastest.
    pub(super) fn choose(&self, decision: &mut Decision, tuning: &Tuning) {
        let of_latest = self.latest(decision);
        let known = self.value(&decision.candidates[2]);
        let latest = of_latest.filter(|latest| self.value(latest) < known);
        let keeps_parts = latest.is_some();
        if let Some(latest) = latest {
            decision.candidates[2] = latest;
        }
        let is_late = (decision.candidates.iter()).all(|each| self.value(each).is_infinite());
        let outcome = match is_late {
            true => {
                fastest(decision, tuning.least_gain);
                Outcome::Late
            }
            false => {
                pick(decision, tuning.least_gain, |each| self.value(each));
                Outcome::Least
            }
        };
        if let Some(aim) = &mut decision.aim {
            aim.outcome = outcome;
            aim.keeps_parts = keeps_parts;
        }
    }

    /// What a batch takes more than a candidate does, as a part of that, if a GPU or the CPU
    /// has so many of the tasks whatever is chosen. None where it may be late then, or where
    /// that is not known.
    pub(super) fn excess(
        &self,
        chosen: &Candidate,
        gpu: Option<usize>,
        tasks: usize,
    ) -> Option<f64> {
        let all = self.workload.task_count.max(1);
        let part = tasks as f64 / all as f64;
        let mut tried = chosen.clone();
        let try_ns = match gpu {
            Some(index) => {
                tried.gpu_parts.resize(self.costs.gpus.len(), 0.0);
                tried.gpu_parts[index] += part;
                self.costs.gpu(index).cost?.predict_ns(tasks as u64)
            }
            None => {
                tried
                    .gpu_parts
                    .iter_mut()
                    .for_each(|each| *each *= 1.0 - part);
                self.costs.cpu?.predict_ns(tasks as u64)
            }
        };
        tried.strategy = ExecutionStrategy::Hybrid {
            gpu_allocation: 50,
            cpu_allocation: 50,
        };
        tried.predicted_ns = chosen.predicted_ns.map(|ns| ns.max(try_ns));
        self.weigh(&mut tried);
        let least = chosen.spent(self.resource)?.max(f64::MIN_POSITIVE);
        let more = tried.spent(self.resource)? / least - 1.0;
        self.keeps(&tried).then_some(more.max(0.0))
    }

    /// The split in which one side does as much as it can in time, and the other the rest:
    /// of both, the one that takes less. None without a deadline, or where none is in time.
    fn latest(&self, decision: &Decision) -> Option<Candidate> {
        let limit = self.limit.filter(|limit| limit.is_finite())?;
        let [cpu, gpu, _] = &decision.candidates;
        if self.keeps(cpu) && self.keeps(gpu) {
            return None;
        }
        let tasks = self.workload.task_count as f64;
        let costs = OperationCosts {
            cpu: self.costs.cpu.map(shared),
            gpus: (self.costs.gpus.iter().copied())
                .map(|mut gpu| {
                    gpu.cost = gpu.cost.map(shared);
                    gpu
                })
                .collect(),
            ..OperationCosts::default()
        };
        let in_time = limit / self.costs.split_excess.max(1.0);
        let most = |cost: &Cost| {
            let at_once = cost.at_once.max(1) as f64;
            let wave = (cost.per_task_ns * at_once).max(f64::MIN_POSITIVE);
            ((in_time - cost.fixed_ns) / wave).floor().max(0.0) * at_once
        };
        let gpus = costs.gpus.iter().filter_map(|gpu| gpu.cost.as_ref());
        let on_gpus: f64 = gpus.map(most).sum();
        let on_cpu = costs.cpu.as_ref().map(most)?;
        let percents = [
            (100.0 * on_gpus / tasks).floor(),
            (100.0 * (tasks - on_cpu) / tasks).ceil(),
        ];
        let splits = percents.into_iter().filter_map(|percent| {
            #[expect(clippy::cast_sign_loss, reason = "1 to 99")]
            let gpu = (1.0..=99.0).contains(&percent).then_some(percent as u8)?;
            let strategy = ExecutionStrategy::hybrid(gpu).ok()?;
            let mut split = asked_split(strategy, self.workload.task_count, &costs);
            let excess = self.costs.split_excess.max(1.0);
            split.predicted_ns = split.predicted_ns.map(|ns| ns * excess);
            self.weigh(&mut split);
            self.value(&split).is_finite().then_some(split)
        });
        splits.min_by(|a, b| self.value(a).total_cmp(&self.value(b)))
    }
}

/// What a batch of so many ns takes whose devices are busy for that long: the CPU as if all
/// its workers were.
///
/// # Errors
///
/// As [`Weighing::of`].
pub(crate) fn spent(
    resource: Resource,
    prices: Option<&Prices>,
    machine: &Machine,
    ns: f64,
    (cpu_ns, gpu_ns): (f64, &[f64]),
) -> Result<f64, Error> {
    Ok(Draws::of(resource, prices, machine)?.spent(ns, cpu_ns, gpu_ns))
}

/// A cost beside other devices.
fn shared(cost: Cost) -> Cost {
    Cost {
        per_task_ns: cost.per_task_ns * cost.beside,
        ..cost
    }
}

/// Chooses the fastest candidate, a split only if it gains enough.
pub(super) fn fastest(decision: &mut Decision, least_gain: f64) {
    pick(decision, least_gain, |candidate| {
        candidate.predicted_ns.unwrap_or(f64::INFINITY)
    });
}

/// Chooses the candidate of the least value, a split only if it gains enough.
fn pick(decision: &mut Decision, least_gain: f64, value: impl Fn(&Candidate) -> f64) {
    let [cpu, gpu, both] = &decision.candidates;
    let (better, worse) = match value(cpu) <= value(gpu) {
        true => (cpu, gpu),
        false => (gpu, cpu),
    };
    let gain = 1.0 - value(both) / value(better).max(f64::MIN_POSITIVE);
    let (chosen, second) = if gain >= least_gain {
        (both, better)
    } else {
        if gain > 0.0 {
            decision.declined = Some(Declined { gain });
        }
        (
            better,
            if value(both) < value(worse) {
                both
            } else {
                worse
            },
        )
    };
    let margin = (1.0 - value(chosen) / value(second).max(f64::MIN_POSITIVE)).max(0.0);
    decision.strategy = chosen.strategy;
    decision.basis = super::Basis::Model;
    decision.margin = Some(margin);
}
