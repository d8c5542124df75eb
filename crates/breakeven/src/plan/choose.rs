//! The decision: by the rule where nothing was measured, by the cost model
//! where both devices were.
//!
//! With the costs `F + n·p` of each device (fixed, per task), a batch of `n`
//! tasks of which the GPU has `x` takes as long as the slower side. Both end
//! together at `x = (F_cpu + n·p_cpu − F_gpu) / (p_cpu + p_gpu)`. A split that
//! would save less than 3 % of the better device's time is declined: two
//! devices at one batch cost energy and attention.

use super::decision::{Basis, Candidate, Decision, Declined, Evidence, Probe, Stage};
use super::heuristics::ProfilingHeuristics;
use super::rule::rule;
use super::{Cost, ExecutionStrategy, Machine, OperationCosts};
use crate::error::Error;
use crate::workload::WorkloadProfile;

/// Gain below which a split is declined, as part of the better device's time.
pub(crate) const LEAST_GAIN: f64 = 0.03;

/// Part of the time spent on an operation that trying an unused device may cost.
const EXPLORATION_BUDGET: f64 = 0.02;

/// Runs' time without a device after which it is tried again where that is free.
const RUNS_BETWEEN_TRIES: f64 = 20.0;

/// Most tasks of a first launch on a GPU of which nothing is known.
const MOST_PROBE_TASKS: usize = 32;

/// Runs' time after which a GPU is tried with what the rule calls too small for it.
const RUNS_BEFORE_A_TRY: f64 = 8.0;

/// Observations below which a device's cost may be its first run's, with
/// compilation and cold caches in it …
const FEW_OBSERVATIONS: u64 = 3;

/// … and how many times too high it is then supposed to be, to its advantage.
const FIRST_RUN_EXCESS: f64 = 16.0;

/// Runs on both devices until their time is believed more than what each
/// device's own would give: the first ones are spent on finding the rates.
const RUNS_UNTIL_BELIEVED: u64 = 3;

/// Decides where a batch runs. Pure: what it knows of the machine and of the
/// costs is what it is given.
///
/// - No GPU, or sequential tasks: the CPU, whatever was measured.
/// - Both devices measured: the model's best, or a device's chance to show that
///   it became better.
/// - Else the rule; from its stage 4 on the answer is only where to begin
///   ([`Decision::probe`]).
///
/// # Errors
///
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a workload or
/// heuristics that no decision can be made from.
pub fn decide(
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
    costs: &OperationCosts,
) -> Result<Decision, Error> {
    workload.check()?;
    heuristics.check()?;
    let ruling = rule(workload, machine, heuristics);
    let forecast = Forecast::of(workload.task_count as u64, costs);
    let is_final = matches!(ruling.stage, Stage::NoGpu | Stage::Sequential);
    let mut decision = Decision {
        strategy: ruling.strategy,
        basis: Basis::Rule(ruling.stage),
        candidates: forecast.candidates,
        margin: None,
        ceiling: None,
        declined: None,
        probe: Probe::None,
        probe_tasks: probe_tasks(workload.task_count, costs.gpu.as_ref()),
        batch_size: 0,
        ruling,
    };
    match (&costs.cpu, &costs.gpu) {
        (Some(cpu), Some(gpu)) if !is_final && workload.task_count > 0 => {
            decision.ceiling = forecast.ceiling;
            forecast.choose(&mut decision);
            explore(
                &mut decision,
                cpu,
                gpu,
                costs,
                workload.task_count as u64,
                machine.cores,
            );
        }
        // Too small to try the GPU at once, but not for ever.
        (Some(cpu), None) if ruling.stage == Stage::Small && workload.task_count > 0 => {
            let run_ns = cpu.predict_ns(workload.task_count as u64);
            if costs.since_gpu_ns >= RUNS_BEFORE_A_TRY * run_ns {
                decision.probe = Probe::Gpu;
                decision.basis = Basis::Exploration;
            }
        }
        _ if is_final || ruling.stage == Stage::Small => {}
        _ => decision.probe = Probe::Both,
    }
    decision.batch_size = heuristics.batch_size(decision.strategy, workload.task_count);
    Ok(decision)
}

/// A decision that was not left to be made: what the rule and the model say is
/// there to compare with.
///
/// # Errors
///
/// As [`decide`], and for percentages that do not sum to 100.
pub fn decide_for(
    strategy: ExecutionStrategy,
    basis: Basis,
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
    costs: &OperationCosts,
) -> Result<Decision, Error> {
    strategy.check()?;
    let decided = decide(workload, machine, heuristics, costs)?;
    if strategy == ExecutionStrategy::Auto {
        return Ok(decided);
    }
    let mut candidates = decided.candidates;
    if let ExecutionStrategy::Hybrid { .. } = strategy {
        candidates[2] = asked_split(strategy, workload.task_count, costs);
    }
    Ok(Decision {
        strategy,
        basis,
        candidates,
        margin: None,
        declined: None,
        probe: Probe::None,
        batch_size: heuristics.batch_size(strategy, workload.task_count),
        ..decided
    })
}

/// A split that was asked for: it ends when the device that is slower with its
/// part does.
fn asked_split(strategy: ExecutionStrategy, tasks: usize, costs: &OperationCosts) -> Candidate {
    let (on_gpu, on_cpu) = strategy.shares(tasks);
    let part = |cost: &Option<Cost>, tasks: usize| match tasks {
        0 => Some(0.0),
        tasks => cost.map(|cost| cost.predict_ns(tasks as u64)),
    };
    let (cpu, gpu) = (part(&costs.cpu, on_cpu), part(&costs.gpu, on_gpu));
    Candidate {
        strategy,
        predicted_ns: cpu.zip(gpu).map(|(cpu, gpu)| cpu.max(gpu)),
        evidence: match (&costs.cpu, &costs.gpu) {
            (Some(cpu), Some(gpu)) if cpu.observations > 0 && gpu.observations > 0 => {
                Evidence::Fitted
            }
            _ => Evidence::Heuristic,
        },
    }
}

/// What the model says of a batch.
struct Forecast {
    candidates: [Candidate; 3],
    ceiling: Option<f64>,
}

impl Forecast {
    fn of(tasks: u64, costs: &OperationCosts) -> Self {
        let alone = |strategy, cost: &Option<Cost>| Candidate {
            strategy,
            predicted_ns: cost.map(|cost| cost.predict_ns(tasks)),
            evidence: match cost {
                Some(cost) if cost.observations > 0 => cost.evidence(tasks),
                // Made from rates, or nothing at all.
                _ => Evidence::Heuristic,
            },
        };
        let cpu = alone(ExecutionStrategy::CpuOnly, &costs.cpu);
        let gpu = alone(ExecutionStrategy::GpuOnly, &costs.gpu);
        let (mut share, mut both_ns) = (0.5, None);
        let mut evidence = Evidence::Heuristic;
        let mut ceiling = None;
        if let (Some(on_cpu), Some(on_gpu)) = (&costs.cpu, &costs.gpu) {
            let n = tasks as f64;
            let sum = (on_cpu.per_task_ns + on_gpu.per_task_ns).max(f64::MIN_POSITIVE);
            let saved = on_cpu.fixed_ns + n * on_cpu.per_task_ns - on_gpu.fixed_ns;
            let on_gpu_tasks = (saved / sum).clamp(0.0, n);
            share = on_gpu_tasks / n.max(1.0);
            let on_cpu_ns = on_cpu.fixed_ns + (n - on_gpu_tasks) * on_cpu.per_task_ns;
            let balanced = on_cpu_ns.max(on_gpu.fixed_ns + on_gpu_tasks * on_gpu.per_task_ns);
            evidence = Evidence::Fitted.min(cpu.evidence).min(gpu.evidence);
            both_ns = Some(balanced);
            if let Some(seen) = costs
                .both
                .filter(|seen| seen.observations >= RUNS_UNTIL_BELIEVED)
            {
                // Devices that hinder each other (shared memory, a driver's threads).
                both_ns = Some(seen.predict_ns(tasks).max(balanced));
                evidence = seen.evidence(tasks);
            }
            let (least, most) = match on_cpu.per_task_ns < on_gpu.per_task_ns {
                true => (on_cpu.per_task_ns, on_gpu.per_task_ns),
                false => (on_gpu.per_task_ns, on_cpu.per_task_ns),
            };
            ceiling = (most > 0.0).then_some(1.0 + least / most);
        }
        let both = Candidate {
            strategy: hybrid(share),
            predicted_ns: both_ns,
            evidence,
        };
        Self {
            candidates: [cpu, gpu, both],
            ceiling,
        }
    }

    /// Chooses the fastest candidate, a split only if it gains enough.
    fn choose(&self, decision: &mut Decision) {
        let ns = |candidate: &Candidate| candidate.predicted_ns.unwrap_or(f64::INFINITY);
        let [cpu, gpu, both] = &self.candidates;
        let (better, worse) = if ns(cpu) <= ns(gpu) {
            (cpu, gpu)
        } else {
            (gpu, cpu)
        };
        let gain = 1.0 - ns(both) / ns(better).max(f64::MIN_POSITIVE);
        let (chosen, second) = if gain >= LEAST_GAIN {
            (both, better)
        } else {
            if gain > 0.0 {
                decision.declined = Some(Declined { gain });
            }
            (better, if ns(both) < ns(worse) { both } else { worse })
        };
        decision.strategy = chosen.strategy;
        decision.basis = Basis::Model;
        decision.margin = Some((1.0 - ns(chosen) / ns(second).max(f64::MIN_POSITIVE)).max(0.0));
    }
}

/// Tasks of a first launch on a GPU: few where nothing is known of it, and where
/// all that is known is one size, twice as many, to tell what a launch
/// costs from what its tasks do.
fn probe_tasks(tasks: usize, gpu: Option<&Cost>) -> usize {
    match gpu {
        Some(gpu) if gpu.fewest == gpu.most => {
            let more = usize::try_from(gpu.most)
                .unwrap_or(usize::MAX)
                .saturating_mul(2);
            more.min(tasks.div_ceil(2)).max(1)
        }
        _ => (tasks / 64).clamp(1, MOST_PROBE_TASKS),
    }
}

/// True where launches of two sizes were seen, or a larger one than was seen
/// cannot be.
fn tells_sizes(cost: &Cost, tasks: u64) -> bool {
    cost.tells_fixed() || cost.most.saturating_mul(2) > tasks
}

/// Gives the device that the choice leaves out its chance, where trying it costs
/// less than the budget that the time without it has earned, or little is known
/// of it and the try makes the run longer by half at the most.
fn explore(
    decision: &mut Decision,
    cpu: &Cost,
    gpu: &Cost,
    costs: &OperationCosts,
    tasks: u64,
    workers: usize,
) {
    let is_due = |try_ns: f64, untried: &Cost, tells: bool, chosen: &Cost, since_ns: f64| {
        if chosen.observations == 0 {
            // Made from rates, of this machine or another: there is no run to spend.
            return false;
        }
        let run_ns = chosen.predict_ns(tasks);
        let excess = (try_ns - run_ns).max(0.0);
        let is_known = untried.observations >= FEW_OBSERVATIONS && tells;
        // The first launches have compilation and cold caches in them.
        let doubted = if is_known {
            excess
        } else {
            excess.min(try_ns / FIRST_RUN_EXCESS)
        };
        let earned = EXPLORATION_BUDGET * since_ns;
        let is_cheap = since_ns >= RUNS_BETWEEN_TRIES * run_ns && doubted <= earned;
        is_cheap || (!is_known && since_ns > 0.0 && excess <= 0.5 * run_ns)
    };
    let on_gpu_ns = gpu.predict_ns(decision.probe_tasks as u64);
    // One task is one worker's alone.
    let on_cpu_ns = cpu.fixed_ns + cpu.per_task_ns * workers as f64;
    // A split may come to nothing: then both are left out for long as well.
    let (on_cpu, on_gpu) = match decision.strategy {
        ExecutionStrategy::CpuOnly => (true, false),
        ExecutionStrategy::GpuOnly => (false, true),
        _ => (costs.since_gpu_ns > 0.0, costs.since_cpu_ns > 0.0),
    };
    let tells = tells_sizes(gpu, tasks);
    let probe = if on_cpu && is_due(on_gpu_ns, gpu, tells, cpu, costs.since_gpu_ns) {
        Probe::Gpu
    } else if on_gpu && is_due(on_cpu_ns, cpu, true, gpu, costs.since_cpu_ns) {
        Probe::Cpu
    } else {
        return;
    };
    decision.probe = probe;
    decision.basis = Basis::Exploration;
}

/// A split with that part of the tasks for the GPU, in whole percent, at least
/// one for each side.
#[expect(clippy::cast_sign_loss, reason = "1 to 99")]
fn hybrid(gpu: f64) -> ExecutionStrategy {
    let gpu_allocation = (100.0 * gpu).round().clamp(1.0, 99.0) as u8;
    ExecutionStrategy::Hybrid {
        gpu_allocation,
        cpu_allocation: 100 - gpu_allocation,
    }
}
