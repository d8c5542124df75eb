//! From a decision to the setup of a schedule.

use crate::plan::{
    Basis, Cost, Decision, Evidence, ExecutionStrategy, OperationCosts, Probe, Tuning, alone_ns,
    probe_tasks, tells_sizes,
};
use crate::schedule::{GpuSetup, Mode, Rate, Setup};

/// What a device says of itself for one batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuLimits {
    /// Most tasks of a launch: whose memory fits the device, and that it takes.
    pub(crate) fits: usize,
    /// Launches that may be in flight at once.
    pub(crate) depth: usize,
    /// The device is on probation after a quarantine.
    pub(crate) on_probation: bool,
}

impl GpuLimits {
    /// Those of a device that nothing was asked of.
    pub(crate) const UNKNOWN: Self = Self {
        fits: usize::MAX,
        depth: 1,
        on_probation: false,
    };
}

/// What a schedule's setup is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decided<'a> {
    pub(crate) tasks: usize,
    pub(crate) workers: usize,
    pub(crate) decision: &'a Decision,
    pub(crate) costs: &'a OperationCosts,
    pub(crate) is_watched: bool,
    pub(crate) may_fall_back: usize,
    pub(crate) tuning: &'static Tuning,
}

impl Decided<'_> {
    /// The setup, with what is known beside of each GPU.
    pub(crate) fn setup(&self, gpus: &[GpuLimits]) -> Setup {
        let decision = self.decision;
        let (mode, corrects) = mode_of(decision, self.costs, self.tasks, self.tuning);
        let beside = |cost: &Cost| if mode == Mode::Both { cost.beside } else { 1.0 };
        let probes = |index| decision.probe == Probe::Gpu(index);
        let is_stated = |cost: Cost| cost.observations == 0;
        let gpus = gpus.iter().enumerate().map(|(index, gpu)| GpuSetup {
            rate: self.rate(index, beside),
            is_stated: self.costs.gpu(index).cost.is_some_and(is_stated),
            probes: probes(index),
            only_probes: probes(index) && others_hinder(decision, self.costs),
            probe_tasks: match probes(index) {
                true => decision.probe_tasks,
                false => probe_tasks(self.tasks, self.costs.gpu(index).cost.as_ref(), self.tuning),
            },
            insists: decision.aim.is_some() && probes(index),
            on_probation: gpu.on_probation,
            fits: gpu.fits.max(1),
            depth: gpu.depth.max(1),
            further: self.costs.gpu(index).further(),
        });
        Setup {
            tasks: self.tasks,
            workers: self.workers.max(1),
            mode,
            corrects,
            probes_cpu: decision.probe == Probe::Cpu,
            gpus_begin: match (decision.probe, decision.predicted_ns(), &self.costs.cpu) {
                (Probe::CpuFirst, Some(ns), Some(cpu)) => alone_ns(cpu, ns, self.tuning),
                _ => 0.0,
            },
            is_watched: self.is_watched,
            cpu: self.costs.cpu.map(|cost| {
                let each = cost.predict_ns(self.tasks as u64) / self.tasks.max(1) as f64;
                let per_task =
                    cost.per_task_ns.max(self.tuning.least_task_part * each) * beside(&cost);
                per_task * cost.at_once.max(1) as f64
            }),
            gpus: gpus.collect(),
            shape: self.costs.shape.clone(),
            may_fall_back: self.may_fall_back,
            tuning: self.tuning,
        }
    }

    /// What is known of a GPU's rate.
    fn rate(&self, index: usize, beside: impl Fn(&Cost) -> f64) -> Rate {
        let known = self.costs.gpu(index);
        let Some(cost) = known.cost else {
            return Rate::unknown(known.launch_ns);
        };
        let (tasks, seen) = (self.tasks as u64, cost.most_alike());
        let alone_ns = self.costs.cpu.map_or(0.0, |cpu| cpu.predict_ns(tasks));
        let seen_ns = cost.fixed_ns + seen * cost.per_task_ns;
        // A launch of twice the tasks would tell, and is worth it at the worst.
        let could_tell = 2.0 * seen <= tasks as f64 && 2.0 * seen_ns <= alone_ns;
        if cost.observations > 0 && !cost.tells_fixed() && could_tell {
            return Rate::of_one_size(seen, seen_ns);
        }
        Rate::known(cost.fixed_ns, cost.per_task_ns * beside(&cost))
    }
}

/// Which device has which part, and whether that may change by the rates seen.
pub(crate) fn mode_of(
    decision: &Decision,
    costs: &OperationCosts,
    tasks: usize,
    tuning: &Tuning,
) -> (Mode, bool) {
    let by_model = matches!(decision.basis, Basis::Model | Basis::Exploration);
    let by_rates = by_model || decision.probe == Probe::All;
    let by_aim = by_model && (decision.is_least() || decision.keeps_parts());
    let (gpu, _) = decision.strategy.shares(tasks);
    let mode = match decision.strategy {
        _ if tasks == 0 => Mode::Cpu,
        // One worker's try is all that the CPU gets.
        ExecutionStrategy::GpuOnly if decision.probe == Probe::Cpu => Mode::Gpu,
        // What is tried has no more than its try: devices that help would take what the
        // choice saves.
        _ if by_aim => match (decision.strategy, decision.probe) {
            (ExecutionStrategy::CpuOnly, Probe::Gpu(_)) => Mode::Split {
                gpu: decision.probe_tasks.min(tasks),
            },
            (ExecutionStrategy::CpuOnly, _) => Mode::Cpu,
            (ExecutionStrategy::GpuOnly, _) => Mode::Gpu,
            _ if decision.keeps_parts() => Mode::Split { gpu },
            _ => Mode::Both,
        },
        _ if decision.probe != Probe::None => Mode::Both,
        ExecutionStrategy::CpuOnly
            if by_model && could_be_wrong(decision, costs, tasks as u64, tuning) =>
        {
            Mode::Both
        }
        ExecutionStrategy::GpuOnly if by_model && cpu_could_help(decision, tuning) => Mode::Both,
        ExecutionStrategy::Auto | ExecutionStrategy::CpuOnly => Mode::Cpu,
        ExecutionStrategy::GpuOnly => Mode::Gpu,
        ExecutionStrategy::Hybrid { .. } if by_rates => Mode::Both,
        ExecutionStrategy::Hybrid { .. } if gpu == 0 => Mode::Cpu,
        ExecutionStrategy::Hybrid { .. } => Mode::Split { gpu },
    };
    (mode, by_rates)
}

/// True where devices hinder each other so much that others would make the choice slower.
fn others_hinder(decision: &Decision, costs: &OperationCosts) -> bool {
    let [_, _, split] = &decision.candidates;
    let times = split.predicted_ns.zip(decision.predicted_ns());
    costs.cpu.is_some_and(|cpu| cpu.beside > 1.0)
        && times.is_some_and(|(split, chosen)| split > chosen)
}

/// True where the CPU could help if a prediction that nobody measured were off.
fn cpu_could_help(decision: &Decision, tuning: &Tuning) -> bool {
    let [cpu, gpu, _] = &decision.candidates;
    let is_stated = cpu.evidence.min(gpu.evidence) == Evidence::Heuristic;
    let times = cpu.predicted_ns.zip(gpu.predicted_ns);
    // Of a ratio of two such times.
    let most_off = tuning.most_off * tuning.most_off;
    is_stated && times.is_some_and(|(cpu, gpu)| cpu <= most_off * gpu)
}

/// True where a GPU could help if the CPU were slower than predicted. One that was seen in
/// launches of one size would grow them at the batch's cost; it joins only where of the CPU, too,
/// no more is known than what tasks of another size took.
fn could_be_wrong(
    decision: &Decision,
    costs: &OperationCosts,
    tasks: u64,
    tuning: &Tuning,
) -> bool {
    let [cpu, ..] = &decision.candidates;
    let is_long = |ns: &f64| *ns >= tuning.worth_correcting_ns;
    let predicted_ns = cpu.predicted_ns.filter(is_long);
    let Some(cpu_ns) = predicted_ns.filter(|_| !others_hinder(decision, costs)) else {
        return false;
    };
    let is_told = |gpu: &Cost| gpu.scale != 1.0 || tells_sizes(gpu, tasks);
    let known = costs.gpus.iter().filter_map(|gpu| gpu.cost);
    known
        .filter(is_told)
        .any(|gpu| gpu.predict_ns(1) <= 2.0 * cpu_ns)
}
