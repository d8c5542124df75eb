//! From a decision to the terms of a schedule.

use super::rates::{CpuRate, GpuRate};
use super::schedule::{Mode, Terms};
use crate::plan::{Basis, Decision, ExecutionStrategy, OperationCosts, Probe};

/// Batches shorter than this are not worth watching for a rate that changes, ns.
const WORTH_CORRECTING_NS: f64 = 2e6;

/// Observations from which a device's costs are more than a guess.
const TRUSTED_FROM: u64 = 3;

/// What a schedule's terms are made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) tasks: usize,
    pub(super) workers: usize,
    pub(super) decision: &'a Decision,
    pub(super) costs: &'a OperationCosts,
    /// What a launch costs, where the device says so.
    pub(super) launch_ns: Option<f64>,
    /// Most tasks whose memory fits the device.
    pub(super) fits: usize,
    /// A deadline, a cancellation or a progress bar is to be looked at.
    pub(super) is_watched: bool,
    /// The device is on probation after a quarantine.
    pub(super) on_probation: bool,
}

impl Given<'_> {
    pub(super) fn terms(&self) -> Terms {
        let decision = self.decision;
        let (mode, by_rates) = mode_of(decision, self.costs, self.tasks);
        let workers = self.workers.max(1) as f64;
        Terms {
            tasks: self.tasks,
            workers: self.workers.max(1),
            mode,
            corrects: by_rates,
            probes_cpu: decision.probe == Probe::Cpu,
            probes_gpu: decision.probe == Probe::Gpu,
            probe_tasks: decision.probe_tasks,
            is_watched: self.is_watched,
            on_probation: self.on_probation,
            fits: self.fits.max(1),
            cpu: self.costs.cpu.map_or(CpuRate::default(), |cost| {
                let is_measured = cost.observations >= TRUSTED_FROM;
                CpuRate::known(cost.per_task_ns * workers, is_measured)
            }),
            gpu: self.gpu_rate(),
        }
    }

    /// What is known of the GPU's rate.
    fn gpu_rate(&self) -> GpuRate {
        let Some(cost) = &self.costs.gpu else {
            return GpuRate::unknown(self.launch_ns);
        };
        let tasks = self.tasks as u64;
        let alone_ns = self.costs.cpu.map_or(0.0, |cpu| cpu.predict_ns(tasks));
        let seen_ns = cost.predict_ns(cost.most);
        // A launch of twice the tasks would tell, and is worth it at the worst.
        let could_tell = cost.most.saturating_mul(2) <= tasks && 2.0 * seen_ns <= alone_ns;
        if cost.observations > 0 && !cost.tells_fixed() && could_tell {
            return GpuRate::of_one_size(cost.most, seen_ns, self.launch_ns);
        }
        let is_measured = cost.observations >= TRUSTED_FROM;
        GpuRate::known(cost.fixed_ns, cost.per_task_ns, is_measured)
    }
}

/// Which device has which part, and whether that may change by the rates seen.
pub(super) fn mode_of(decision: &Decision, costs: &OperationCosts, tasks: usize) -> (Mode, bool) {
    let by_model = matches!(decision.basis, Basis::Model | Basis::Exploration);
    let by_rates = by_model || decision.probe == Probe::Both;
    let (gpu, _) = decision.strategy.shares(tasks);
    let mode = match decision.strategy {
        _ if tasks == 0 => Mode::Cpu,
        // One worker's try is all that the CPU gets.
        ExecutionStrategy::GpuOnly if decision.probe == Probe::Cpu => Mode::Gpu,
        _ if decision.probe != Probe::None => Mode::Both,
        ExecutionStrategy::CpuOnly if by_model && could_be_wrong(decision, costs) => Mode::Both,
        ExecutionStrategy::Auto | ExecutionStrategy::CpuOnly => Mode::Cpu,
        ExecutionStrategy::GpuOnly => Mode::Gpu,
        ExecutionStrategy::Hybrid { .. } if by_rates => Mode::Both,
        ExecutionStrategy::Hybrid { .. } if gpu == 0 => Mode::Cpu,
        ExecutionStrategy::Hybrid { .. } => Mode::Split { gpu },
    };
    (mode, by_rates)
}

/// True where the GPU could help if the CPU were slower than predicted.
fn could_be_wrong(decision: &Decision, costs: &OperationCosts) -> bool {
    let [cpu, ..] = &decision.candidates;
    let (Some(cpu_ns), Some(gpu)) = (cpu.predicted_ns, &costs.gpu) else {
        return false;
    };
    cpu_ns >= WORTH_CORRECTING_NS && gpu.predict_ns(1) <= 2.0 * cpu_ns
}
