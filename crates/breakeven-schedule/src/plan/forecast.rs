//! Predicts from the cost model how long each way to run a batch takes.
//!
//! All devices of a split end together. With the costs `F + x·p` of each (fixed, per task), that
//! end is the level of water poured into vessels, each open from `F` on and `1/p` wide ([`level`]).
//! Tasks are indivisible: the CPU runs complete waves of them, and the GPUs the remaining tasks.
//!
//! Costs that follow from the rates of a machine know how much of the work is parallel. The
//! sequential fraction runs on one device, so a split cannot end before it.

use super::pieces::in_pieces_ns;
use super::{Amounts, Candidate, Cost, Evidence, ExecutionStrategy, OperationCosts, Tuning};
use crate::WorkloadProfile;

/// Least time of a task, ns: it keeps rates finite.
const LEAST_TASK_NS: f64 = 1e-9;

/// Predicts the times of the three ways to run a batch, and the speed-up of a perfect split over
/// the better side alone.
pub(super) fn forecast(
    workload: &WorkloadProfile,
    costs: &OperationCosts,
    tuning: &Tuning,
) -> ([Candidate; 3], Option<f64>) {
    let tasks = workload.task_count;
    let gpus = costs.gpus.iter().map(|gpu| gpu.cost);
    let cpu = Candidate {
        strategy: ExecutionStrategy::CpuOnly,
        gpu_parts: Vec::new(),
        predicted_ns: costs.cpu.map(|cost| on_cpu(workload, cost)),
        evidence: evidence(costs.cpu.into_iter(), tasks),
        amounts: Amounts::default(),
    };
    let (predicted_ns, gpu_parts) = poured(tasks, None, gpus.clone()).unzip();
    let gpu = Candidate {
        strategy: ExecutionStrategy::GpuOnly,
        predicted_ns: predicted_ns.map(|ns| in_pieces(ns, costs, tuning)),
        gpu_parts: gpu_parts.unwrap_or_default(),
        evidence: evidence(gpus.clone().flatten(), tasks),
        amounts: Amounts::default(),
    };
    let split = costs.cpu.and_then(|cpu| match cpu.observations {
        0 => with_sequential_part(workload, cpu, gpus.clone()),
        _ => poured(tasks, Some(cpu), gpus.clone()),
    });
    let (split_ns, parts) = split.unzip();
    let sum = parts.as_ref().map_or(0.5, |parts| parts.iter().sum());
    let strategy = ExecutionStrategy::split_at(sum);
    let mut both = match (0.01..=0.99).contains(&sum) {
        true => Candidate {
            strategy,
            predicted_ns: split_ns,
            gpu_parts: parts.unwrap_or_default(),
            evidence: Evidence::Fitted.min(cpu.evidence).min(gpu.evidence),
            amounts: Amounts::default(),
        },
        // One side's share is nearly nothing: the split's nominal shares would take longer.
        false => {
            let asked = asked_split(strategy, workload, costs);
            let times = asked.predicted_ns.zip(split_ns);
            Candidate {
                predicted_ns: times.map(|(asked, poured)| f64::max(asked, poured)),
                ..asked
            }
        }
    };
    let excess = costs.split_excess.max(1.0);
    both.predicted_ns = both.predicted_ns.map(|ns| ns * excess);
    ([cpu, gpu, both], ceiling(costs.cpu, gpus.flatten()))
}

/// Predicts the transfer time of a batch to the one GPU and back, ns, if it is known separately.
pub(super) fn transfer_ns(tasks: usize, costs: &OperationCosts) -> Option<f64> {
    let [gpu] = costs.gpus[..] else { return None };
    let each = gpu.cost.map(|cost| cost.transfer_ns);
    let all = each.map(|each| each * tasks as f64);
    all.filter(|all| *all > 0.0)
}

/// Adjusts the time `ns` of a batch in one launch: less if pieces are known to overlap on the one
/// GPU.
fn in_pieces(ns: f64, costs: &OperationCosts, tuning: &Tuning) -> f64 {
    let [gpu] = costs.gpus[..] else { return ns };
    let further = gpu.further();
    further.map_or(ns, |further| in_pieces_ns(ns, further, tuning))
}

/// Returns the evidence of predictions from these costs.
fn evidence(costs: impl Iterator<Item = Cost>, tasks: usize) -> Evidence {
    let each = costs.map(|cost| cost.evidence(tasks as u64));
    each.min().unwrap_or(Evidence::Heuristic)
}

/// Returns the sum of all rates over that of the better side.
fn ceiling(cpu: Option<Cost>, gpus: impl Iterator<Item = Cost>) -> Option<f64> {
    let rate = |cost: Cost| cost.per_task_ns.max(LEAST_TASK_NS).recip();
    let cpu = rate(cpu?);
    let gpu: f64 = gpus.map(rate).sum();
    let best = cpu.max(gpu);
    (gpu > 0.0 && best.is_finite()).then_some((cpu + gpu) / best)
}

/// A batch divided among devices: its time, ns, and the fraction of each GPU.
type Split = (f64, Vec<f64>);

/// Divides a batch among the GPUs and, if its cost is known, the CPU. None if no GPU's cost is
/// known.
fn poured(
    tasks: usize,
    cpu: Option<Cost>,
    gpus: impl Iterator<Item = Option<Cost>> + Clone,
) -> Option<Split> {
    let slower = |cost: &Cost| if cpu.is_some() { cost.beside } else { 1.0 };
    let vessel = |cost: &Cost| {
        let per_task = (cost.per_task_ns * slower(cost)).max(LEAST_TASK_NS);
        (cost.fixed_ns, per_task.recip())
    };
    let vessels = gpus.clone().flatten().map(|cost| vessel(&cost));
    let on_gpus = |tasks: f64| level(vessels.clone(), tasks);
    let all = tasks as f64;
    let (ns, cpu_tasks) = match cpu {
        None => (on_gpus(all)?, 0.0),
        Some(cpu) => {
            on_gpus(0.0)?;
            let end = level(vessels.clone().chain([vessel(&cpu)]), all)?;
            // As many waves as end in that time, or one more.
            let wave = cpu.per_task_ns * slower(&cpu) * cpu.at_once as f64;
            let waves = (end - cpu.fixed_ns) / wave.max(f64::MIN_POSITIVE);
            let waves = waves.floor().max(0.0);
            let with = |waves: f64| {
                let done = (waves * cpu.at_once as f64).min(all);
                let cpu_ns = match done > 0.0 {
                    true => cpu.fixed_ns + waves * wave,
                    false => 0.0,
                };
                let gpu_ns = match done < all {
                    true => on_gpus(all - done)?,
                    false => 0.0,
                };
                Some((f64::max(cpu_ns, gpu_ns), done))
            };
            let (less, more) = (with(waves)?, with(waves + 1.0)?);
            if less.0 <= more.0 { less } else { more }
        }
    };
    let left = all - cpu_tasks;
    let end = if left > 0.0 { on_gpus(left)? } else { 0.0 };
    let part = |cost: Option<Cost>| {
        let (from, width) = cost.map_or((0.0, 0.0), |cost| vessel(&cost));
        ((end - from) * width).clamp(0.0, left) / all.max(1.0)
    };
    Some((ns, gpus.map(part).collect()))
}

/// As [`poured`], for costs that follow from a task's time on one worker, if only a fraction of the
/// work is parallel. One device runs the sequential fraction, and begins its share of the parallel
/// work after it.
fn with_sequential_part(
    workload: &WorkloadProfile,
    cpu: Cost,
    gpus: impl Iterator<Item = Option<Cost>> + Clone,
) -> Option<Split> {
    let (tasks, parallel) = (workload.task_count, workload.parallelization);
    let sequential = sequential_ns(parallel, cpu);
    if sequential <= 0.0 {
        return poured(tasks, Some(cpu), gpus);
    }
    let without = |cost: Cost, has_it: bool| apart(cost, sequential, tasks, has_it);
    let hosts = std::iter::once(None).chain((0..gpus.clone().count()).map(Some));
    let splits = hosts.filter_map(|host| {
        let each = gpus.clone().enumerate();
        let rest = each.map(|(index, cost)| cost.map(|cost| without(cost, host == Some(index))));
        let (ns, parts) = poured(tasks, Some(without(cpu, host.is_none())), rest)?;
        // The host device runs the sequential fraction, whichever devices run the rest.
        let of_host = host.map_or(Some(cpu), |index| gpus.clone().nth(index).flatten())?;
        let first = without(of_host, true).fixed_ns;
        Some((ns.max(first), parts))
    });
    splits.min_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// Returns the sequential time of a task, ns, if costs follow from its time on one worker.
fn sequential_ns(parallel: f64, cpu: Cost) -> f64 {
    let workers = cpu.at_once.max(1) as f64;
    let alone = cpu.per_task_ns / ((1.0 - parallel) + parallel / workers);
    alone * (1.0 - parallel)
}

/// Returns a cost without the sequential time of its tasks, or with all of it in front.
fn apart(cost: Cost, sequential: f64, tasks: usize, has_it: bool) -> Cost {
    let own = sequential.min(cost.per_task_ns);
    Cost {
        per_task_ns: cost.per_task_ns - own,
        fixed_ns: cost.fixed_ns + if has_it { own * tasks as f64 } else { 0.0 },
        ..cost
    }
}

/// Predicts the time of a batch on the CPU alone, ns. Only the parallel fraction of a task is
/// divided among workers.
fn on_cpu(workload: &WorkloadProfile, cpu: Cost) -> f64 {
    let tasks = workload.task_count;
    match cpu.observations {
        0 => {
            let sequential = sequential_ns(workload.parallelization, cpu);
            apart(cpu, sequential, tasks, true).predict_ns(tasks as u64)
        }
        _ => cpu.predict_ns(tasks as u64),
    }
}

/// Predicts a requested split: it ends when its slower side does.
pub(super) fn asked_split(
    strategy: ExecutionStrategy,
    workload: &WorkloadProfile,
    costs: &OperationCosts,
) -> Candidate {
    let tasks = workload.task_count;
    let (on_gpus, task_count) = strategy.shares(tasks);
    let known = costs.gpus.iter().map(|gpu| gpu.cost);
    let gpu = match on_gpus {
        0 => Some((0.0, Vec::new())),
        tasks => poured(tasks, None, known.clone()),
    };
    let (gpu, parts) = gpu.unzip();
    let rest = WorkloadProfile {
        task_count,
        ..*workload
    };
    let cpu = match task_count {
        0 => Some(0.0),
        _ => costs.cpu.map(|cost| on_cpu(&rest, cost)),
    };
    let sides = [
        evidence(known.flatten(), tasks),
        evidence(costs.cpu.into_iter(), tasks),
    ];
    let part = on_gpus as f64 / tasks.max(1) as f64;
    let parts = parts.into_iter().flatten();
    Candidate {
        strategy,
        predicted_ns: cpu.zip(gpu).map(|(cpu, gpu)| cpu.max(gpu)),
        gpu_parts: parts.map(|each| each * part).collect(),
        evidence: sides.into_iter().fold(Evidence::Fitted, Evidence::min),
        amounts: Amounts::default(),
    }
}

/// Returns the level of `work` poured into vessels, each with an opening level and a width; none
/// without a vessel.
pub(crate) fn level(vessels: impl Iterator<Item = (f64, f64)> + Clone, work: f64) -> Option<f64> {
    // Assumes that all are open: vessels that are not, open above the resulting level.
    let mut found = None;
    loop {
        let open = vessels
            .clone()
            .filter(|(from, wide)| *wide > 0.0 && found.is_none_or(|level| *from < level));
        let sum = |(width, below), (from, wide)| (width + wide, below + wide * from);
        let (width, below) = open.fold((0.0, 0.0), sum);
        let level = (work + below) / width;
        if width == 0.0 || found.is_some_and(|above| level >= above) {
            return found;
        }
        found = Some(level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_where_the_vessels_hold_the_work() {
        let level = |vessels: &[_], work| level(vessels.iter().copied(), work);
        assert_eq!(level(&[], 1.0), None);
        assert_eq!(level(&[(2.0, 4.0)], 8.0), Some(4.0));
        // Up to 10 one vessel alone is open.
        assert_eq!(level(&[(10.0, 1.0), (0.0, 1.0)], 8.0), Some(8.0));
        assert_eq!(level(&[(10.0, 1.0), (0.0, 1.0)], 14.0), Some(12.0));
    }

    fn of(tasks: usize, parallel: f64) -> [Option<f64>; 3] {
        let machine = "cores = 16\n[[gpu]]\nspeedup = 20";
        let machine = crate::plan::Machine::from_toml(machine).expect("a machine");
        let workload = WorkloadProfile::from_task_count(tasks).with_parallelization(parallel);
        let costs = crate::plan::costs_from_rates(1e9, &workload, &machine).expect("costs");
        let (candidates, _) = forecast(&workload, &costs, Tuning::USUAL);
        candidates.map(|candidate| candidate.predicted_ns)
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-3)
    }

    #[test]
    fn a_task_is_indivisible() {
        // One task of 1 s: 15 of 16 cores have nothing to do.
        for (found, expected) in of(1, 1.0).into_iter().zip([1e9, 5e7, 5e7]) {
            assert!(near(found, expected), "{found:?} {expected}");
        }
        // 17 tasks are two waves.
        assert!(near(of(17, 1.0)[0], 2e9));
    }

    #[test]
    fn hardly_parallel_tasks_take_what_sequential_ones_do() {
        for tasks in [1, 10, 1_000] {
            let times = of(tasks, 0.0).into_iter().zip(of(tasks, 1e-6));
            for (sequential, hardly) in times {
                let sequential = sequential.expect("the rates are known");
                assert!(near(hardly, sequential), "{tasks} {sequential} {hardly:?}");
                assert!(near(hardly, tasks as f64 * 1e9), "{tasks} {hardly:?}");
            }
        }
    }
}
