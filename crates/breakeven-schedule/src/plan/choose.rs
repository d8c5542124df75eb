//! Decides where a batch runs: by the cost model if both devices were measured, else by the rule.
//!
//! `forecast` predicts the times, `weigh` applies an objective to them, `tuning` has the constants.

use std::sync::Arc;

use super::decision::{Aim, Basis, Decision, Outcome};
use super::forecast::{asked_split, forecast, transfer_ns};
use super::objective::{Goal, Objective};
use super::orders::{Order, Orders};
use super::pieces::{Further, in_pieces_ns, pieces};
use super::rule::{ProfilingHeuristics, Stage, rule};
use super::weigh::{Weighing, fastest};
use super::{
    Absence, Candidate, Cost, Evidence, ExecutionStrategy, GpuCosts, Machine, OperationCosts,
    Shape, Tuning,
};
use crate::WorkloadProfile;
use crate::error::Error;
use crate::whole;

/// Who asks for a decision, and with which goal.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The requested strategy; Auto leaves it to the decision.
    pub strategy: ExecutionStrategy,
    /// Who requested a strategy other than Auto.
    pub basis: Basis,
    /// What Auto minimises.
    pub goal: Goal<'a>,
    /// The constants of the decision.
    pub tuning: &'static Tuning,
}

/// Decides where a batch ends soonest. Pure: it knows the machine and the costs only from its
/// arguments.
///
/// - No GPU, or sequential tasks: the CPU, whatever was measured.
/// - The CPU and a GPU measured: the model's best, or a trial of a device that may have become
///   faster.
/// - Else the rule; from stage 4 on its answer is only the start ([`Decision::measures_all`]).
///
/// # Errors
///
/// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) for a workload or heuristics from
/// which no decision can be made.
pub fn decide(
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
    costs: &OperationCosts,
) -> Result<Box<Decision>, Error> {
    decide_by(Goal::default(), workload, machine, heuristics, costs)
}

/// Decides which choice uses least of what the goal counts.
///
/// If the times of the CPU and of a GPU are not both known, nothing is weighed: the answer is that
/// of [`decide`], and [`Aim`] says so.
///
/// # Errors
///
/// As [`decide`], and [`ErrorKind::Unmeasured`](breakeven_types::ErrorKind::Unmeasured) if the goal
/// needs the power or the price of a device and it is not known.
pub fn decide_by(
    goal: Goal<'_>,
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
    costs: &OperationCosts,
) -> Result<Box<Decision>, Error> {
    let decide = |machine, costs| freely(goal, workload, machine, heuristics, costs, Tuning::USUAL);
    let decision = decide(machine, costs)?;
    let is_rule = matches!(decision.basis, Basis::Rule(_));
    if !is_rule || decision.strategy == ExecutionStrategy::CpuOnly {
        return Ok(decision);
    }
    // The rule assumes GPUs that are faster than a CPU; a software GPU needs a measured time.
    let has_time = |at: usize| costs.gpus.get(at).is_some_and(|gpu| gpu.cost.is_some());
    let (without, left_out) = machine.without_software(has_time);
    if left_out.is_empty() {
        return Ok(decision);
    }
    let mut costs = costs.clone();
    let mut kept = machine.gpus.iter().map(|gpu| without.gpus.contains(gpu));
    costs.gpus.retain(|_| kept.next() == Some(true));
    let mut decision = decide(&without, &costs)?;
    decision.leave_out(left_out.into_iter());
    Ok(decision)
}

fn freely(
    goal: Goal<'_>,
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
    costs: &OperationCosts,
    tuning: &Tuning,
) -> Result<Box<Decision>, Error> {
    workload.check()?;
    heuristics.check()?;
    let ruling = rule(workload, machine, heuristics);
    let (mut candidates, ceiling) = forecast(workload, costs, tuning);
    let weighing = Weighing::of(goal, machine, workload, costs, tuning)?;
    if let Some(weighing) = &weighing {
        candidates
            .iter_mut()
            .for_each(|each| weighing.correct(each));
    }
    let is_final = matches!(ruling.stage, Stage::NoGpu | Stage::Sequential);
    let mut decision = Box::new(Decision {
        strategy: ruling.strategy,
        basis: Basis::Rule(ruling.stage),
        candidates,
        margin: None,
        ceiling: None,
        transfer_ns: None,
        declined_gain: None,
        orders: Orders::of(ruling.strategy, workload.task_count, machine.gpus.len()),
        batch_size: 0,
        ruling,
        left_out: Vec::new(),
        placement: None,
        aim: aim(goal),
    });
    let known = costs.gpus.iter().any(|gpu| gpu.cost.is_some());
    let tasks = workload.task_count;
    match &costs.cpu {
        _ if is_final || tasks == 0 => {}
        Some(cpu) if known => {
            decision.ceiling = ceiling;
            decision.transfer_ns = transfer_ns(tasks, costs);
            match &weighing {
                None => fastest(&mut decision, tuning.least_gain),
                Some(weighing) => weighing.choose(&mut decision),
            }
            decision.orders = orders_of_model(&decision, costs, tasks, tuning);
            if decision.basis == Basis::Model {
                explore(&mut decision, cpu, costs, tasks, weighing.as_ref(), tuning);
            }
        }
        // The batch is too small to try a GPU at once, but a GPU is tried eventually.
        Some(cpu) if ruling.stage == Stage::Small => {
            let run_ns = cpu.predict_ns(tasks as u64);
            let due =
                |gpu: &GpuCosts| gpu.absence.since_ns >= 2.0 * tuning.runs_between_tries * run_ns;
            if let Some(index) = costs.gpus.iter().position(due) {
                let cost = costs.gpu(index).cost;
                decision.orders.gpus[index] = Order::Try(probe_tasks(tasks, cost.as_ref(), tuning));
                decision.orders.by_prediction = true;
                decision.basis = Basis::Exploration;
            }
        }
        _ if ruling.stage == Stage::Small => {}
        _ => decision.orders = Orders::all(machine.gpus.len()),
    }
    decision.batch_size = heuristics.batch_size(decision.strategy, tasks);
    Ok(decision)
}

/// Returns the orders of a decision by the cost model.
fn orders_of_model(
    decision: &Decision,
    costs: &OperationCosts,
    tasks: usize,
    tuning: &Tuning,
) -> Orders {
    let gpus = costs.gpus.len();
    // A device that helps unasked would use up what an objective saves.
    let is_aimed = decision.is_least() || decision.keeps_parts();
    let is_shared = match decision.strategy {
        ExecutionStrategy::Hybrid { .. } => !decision.keeps_parts(),
        _ if is_aimed => false,
        ExecutionStrategy::GpuOnly => cpu_could_help(decision, tuning),
        _ => gpu_could_help(decision, costs, tasks as u64, tuning),
    };
    match is_shared {
        true => Orders::all(gpus),
        false => Orders::predicted(decision.strategy, tasks, gpus),
    }
}

/// Returns true if devices hinder each other so much that sharing makes the choice slower.
fn sharing_hinders(decision: &Decision, costs: &OperationCosts) -> bool {
    let [_, _, split] = &decision.candidates;
    let times = split.predicted_ns.zip(decision.predicted_ns());
    costs.cpu.is_some_and(|cpu| cpu.beside > 1.0)
        && times.is_some_and(|(split, chosen)| split > chosen)
}

/// Returns true if the CPU could help if an unmeasured prediction turns out wrong.
fn cpu_could_help(decision: &Decision, tuning: &Tuning) -> bool {
    let [cpu, gpu, _] = &decision.candidates;
    let is_stated = cpu.evidence.min(gpu.evidence) == Evidence::Heuristic;
    let times = cpu.predicted_ns.zip(gpu.predicted_ns);
    // The ratio of two such times can be off by the square.
    let most_off = tuning.most_off * tuning.most_off;
    is_stated && times.is_some_and(|(cpu, gpu)| cpu <= most_off * gpu)
}

/// Returns true if a GPU could help if the CPU is slower than predicted. A GPU that was measured
/// only in launches of one size would have to grow its launches at the batch's cost. So it helps
/// only if the CPU's cost, too, is known only from tasks of another size.
fn gpu_could_help(
    decision: &Decision,
    costs: &OperationCosts,
    tasks: u64,
    tuning: &Tuning,
) -> bool {
    let [cpu, ..] = &decision.candidates;
    let is_long = |ns: &f64| *ns >= tuning.worth_correcting_ns;
    let predicted_ns = cpu.predicted_ns.filter(is_long);
    let Some(cpu_ns) = predicted_ns.filter(|_| !sharing_hinders(decision, costs)) else {
        return false;
    };
    let is_known = |gpu: &Cost| gpu.scale != 1.0 || knows_sizes(gpu, tasks);
    let known = costs.gpus.iter().filter_map(|gpu| gpu.cost);
    known
        .filter(is_known)
        .any(|gpu| gpu.predict_ns(1) <= 2.0 * cpu_ns)
}

/// Builds a decision whose strategy was requested. The rule and the model are evaluated for
/// comparison.
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
) -> Result<Box<Decision>, Error> {
    let query = Query {
        strategy,
        basis,
        goal: Goal::default(),
        tuning: Tuning::USUAL,
    };
    decide_tuned(query, workload, machine, heuristics, costs)
}

/// As [`decide_for`], for a goal and with other constants.
///
/// # Errors
///
/// As [`decide`].
pub fn decide_tuned(
    query: Query<'_>,
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
    costs: &OperationCosts,
) -> Result<Box<Decision>, Error> {
    let Query {
        strategy,
        basis,
        tuning,
        goal,
    } = query;
    strategy.check()?;
    // If the strategy is fixed, nothing is weighed.
    let goal = match strategy {
        ExecutionStrategy::Auto => goal,
        _ => Goal::default(),
    };
    let mut decision = freely(goal, workload, machine, heuristics, costs, tuning)?;
    if strategy == ExecutionStrategy::Auto {
        return Ok(decision);
    }
    if let ExecutionStrategy::Hybrid { .. } = strategy {
        decision.candidates[2] = asked_split(strategy, workload, costs);
    }
    decision.overrule(strategy, basis);
    decision.orders = Orders::of(strategy, workload.task_count, machine.gpus.len());
    decision.batch_size = heuristics.batch_size(strategy, workload.task_count);
    Ok(decision)
}

/// Returns the number of tasks in a first launch on a GPU: few if nothing is known of the GPU. If
/// launches of only one size are known, twice that size, to separate the launch cost from the time
/// per task.
pub(crate) fn probe_tasks(tasks: usize, gpu: Option<&Cost>, tuning: &Tuning) -> usize {
    match gpu {
        Some(gpu) if gpu.fewest == gpu.most => {
            let twice = whole((2.0 * gpu.most_alike()).ceil());
            twice.min(tasks.div_ceil(2)).max(1)
        }
        _ => (tasks / 64).clamp(1, tuning.most_probe_tasks),
    }
}

/// Returns true if launches of two sizes were observed, or if this batch cannot have a larger one.
fn knows_sizes(cost: &Cost, tasks: u64) -> bool {
    cost.is_fixed_known() || 2.0 * cost.most_alike() > tasks as f64
}

/// Returns what a decision reports about its goal before anything was weighed; none for time alone.
fn aim(goal: Goal<'_>) -> Option<Box<Aim>> {
    (goal.objective != Objective::Time).then(|| {
        Box::new(Aim {
            objective: goal.objective,
            outcome: Outcome::Unweighed,
            keeps_parts: false,
            currency: goal.prices.map(|prices| prices.currency.clone()),
        })
    })
}

/// Tries a device that the choice leaves out, if the trial costs less than the budget earned by the
/// time without it. Also if little is known of the device and the trial makes the run at most half
/// as long again.
fn explore(
    decision: &mut Decision,
    cpu: &Cost,
    costs: &OperationCosts,
    tasks: usize,
    weighing: Option<&Weighing<'_>>,
    tuning: &Tuning,
) {
    // A prediction from rates, of this machine or another, has no measured run to spend.
    let is_measured = |chosen: &&Candidate| chosen.evidence > Evidence::Heuristic;
    let Some(chosen) = decision.chosen().filter(is_measured) else {
        return;
    };
    let Some(run_ns) = chosen.predicted_ns else {
        return;
    };
    // If the deadline is missed anyway, a trial costs only time.
    let weighing = weighing.filter(|weighing| !weighing.is_late(run_ns));
    let is_due = |excess: f64, is_known: bool, absence: Absence| {
        let Absence { since_ns, tries } = absence;
        // Each trial that cost something and changed nothing lengthens the wait before the next.
        let doublings = if excess > 0.0 {
            tries.min(tuning.most_doublings)
        } else {
            0
        };
        let longer = f64::from(1_u32 << doublings);
        let runs = tuning.runs_between_tries * longer;
        let charged = match weighing {
            None => excess,
            Some(_) => longer * excess,
        };
        let is_cheap = since_ns >= runs * run_ns && charged <= tuning.exploration_budget * since_ns;
        let is_new = !is_known && tries == 0;
        is_cheap || (is_new && since_ns > 0.0 && excess <= 0.5 * run_ns)
    };
    // Cost of trying `tasks` tasks: time, or the equivalent time of what the objective counts; none
    // if the trial may be late.
    let counted = |gpu, tasks, try_ns: f64, by_time: f64| match weighing {
        None => Some(by_time),
        Some(weighing) => Some(run_ns * weighing.excess(chosen, gpu, tasks, try_ns)?),
    };
    // A device with a share of the choice was not left out, unless that share was rounded to
    // nothing.
    let (uses_cpu, uses_gpus) = match decision.strategy {
        ExecutionStrategy::CpuOnly => (true, false),
        ExecutionStrategy::GpuOnly => (false, true),
        _ => (costs.cpu_absence.since_ns <= 0.0, true),
    };
    for (index, gpu) in costs.gpus.iter().enumerate() {
        let is_used = uses_gpus && chosen.gpu_parts.get(index).is_some_and(|part| *part > 0.0);
        let had_none = gpu.absence.since_ns > 0.0;
        if is_used && (!had_none || decision.strategy == ExecutionStrategy::GpuOnly) {
            continue;
        }
        // Workers take back tasks that run too long there.
        let most = (tuning.alike - 1.0) * cpu.predict_ns(tasks as u64);
        let mut probe = probe_tasks(tasks, gpu.cost.as_ref(), tuning);
        let (mut is_known, mut try_ns) = (true, run_ns + most);
        if let Some(cost) = gpu.cost {
            // A trial that ends with the rest of the batch costs no time, and half the tasks show
            // about as much.
            let ends = whole((run_ns - cost.fixed_ns) / cost.per_task_ns.max(f64::MIN_POSITIVE));
            if weighing.is_none() && ends >= probe.div_ceil(2) {
                probe = probe.min(ends);
            }
            is_known = knows_sizes(&cost, tasks as u64);
            try_ns = cost.predict_ns(probe as u64);
        }
        let hinders_ns = try_ns * (1.0 - cpu.beside.recip());
        let excess = (try_ns - run_ns).clamp(0.0, most) + hinders_ns;
        let Some(excess) = counted(Some(index), probe, try_ns, excess) else {
            continue;
        };
        if is_due(excess, is_known, gpu.absence) {
            decision.orders.gpus[index] = Order::Try(probe.clamp(1, tasks));
            decision.basis = Basis::Exploration;
            return;
        }
    }
    // One task runs on one worker; if tasks differ, it may be an expensive one.
    let try_ns =
        cpu.predict_ns(1) * (cpu.at_once as f64).powf(Shape::tail_of(costs.shape.as_ref()));
    let excess = (try_ns - run_ns).max(0.0);
    let Some(excess) = counted(None, 1, cpu.predict_ns(1), excess) else {
        return;
    };
    if !uses_cpu && is_due(excess, true, costs.cpu_absence) {
        decision.orders.cpu = Order::Try(1);
        decision.basis = Basis::Exploration;
        return;
    }
    if weighing.is_none() && could_overlap(decision, costs, run_ns, tuning) {
        decision.overrule(ExecutionStrategy::GpuOnly, Basis::Exploration);
        decision.orders = Orders::predicted(decision.strategy, tasks, costs.gpus.len());
    } else if weighing.is_none() {
        watch_hindrance(decision, cpu, costs, run_ns, tuning, is_due);
    }
}

/// Returns true if the one GPU of a split could be faster alone because pieces of the batch overlap
/// there. Only a batch that runs on that GPU alone can show the overlap, and none did yet.
fn could_overlap(
    decision: &Decision,
    costs: &OperationCosts,
    run_ns: f64,
    tuning: &Tuning,
) -> bool {
    let [gpu] = costs.gpus[..] else { return false };
    let is_split = matches!(decision.strategy, ExecutionStrategy::Hybrid { .. });
    if !is_split || gpu.bottleneck.is_some() {
        return false;
    }
    let (Some(further), Some(alone_ns)) = (gpu.further(), decision.candidates[1].predicted_ns)
    else {
        return false;
    };
    let repeats = |shape: &Arc<Shape>| shape.repeats(tuning);
    let could_show = gpu.cost.is_some_and(|cost| cost.is_fixed_known())
        && costs.shape.as_ref().is_some_and(repeats)
        && pieces(0.5 * alone_ns, further, tuning) == 2;
    // Three phases of equal length.
    let best = Further {
        is_measured: true,
        bottleneck: Some(1.0 / 3.0),
        ..further
    };
    could_show
        && alone_ns - run_ns <= tuning.exploration_budget * costs.hindrance_absence.since_ns
        && alone_ns <= 1.5 * run_ns
        && in_pieces_ns(alone_ns, best, tuning) <= (1.0 - tuning.least_gain) * run_ns
}

/// Delays the GPUs of a split so that the CPU shows how far they hinder it. If they are known to
/// hinder it, splits a batch again from time to time.
fn watch_hindrance(
    decision: &mut Decision,
    cpu: &Cost,
    costs: &OperationCosts,
    run_ns: f64,
    tuning: &Tuning,
    is_due: impl Fn(f64, bool, Absence) -> bool,
) {
    let [_, _, split] = &decision.candidates;
    let is_even = costs
        .shape
        .as_ref()
        .is_some_and(|shape| shape.is_even(tuning));
    let is_split = matches!(decision.strategy, ExecutionStrategy::Hybrid { .. });
    // Before the first split in a row, less is known about its time.
    let is_known = match is_split {
        true => costs.cpu_absence.since_ns <= 0.0,
        false => cpu.beside > 1.0,
    };
    let Some(split_ns) = split.predicted_ns.filter(|_| is_even && is_known) else {
        return;
    };
    let parts: f64 = split.gpu_parts.iter().sum();
    // The last wave of the workers' tasks may end half a task later.
    let waits_ns = parts * alone_ns(cpu, split_ns, tuning) + worker_ns(cpu) / 2.0;
    let excess = (split_ns - run_ns).max(0.0) + waits_ns;
    // Half as often as a device that was left out: hindrance hardly changes.
    let absence = costs.hindrance_absence;
    let since_ns = absence.since_ns / 2.0;
    let absence = Absence {
        since_ns,
        ..absence
    };
    if waits_ns <= tuning.look_cost * split_ns && is_due(excess, true, absence) {
        if !is_split {
            decision.overrule(split.strategy, Basis::Exploration);
        }
        decision.orders = Orders {
            gpus_wait_ns: alone_ns(cpu, split_ns, tuning),
            ..Orders::all(costs.gpus.len())
        };
        decision.basis = Basis::Exploration;
    }
}

/// Returns how long GPUs wait while the CPU is measured alone, ns: long enough that a worker ends a
/// task.
fn alone_ns(cpu: &Cost, run_ns: f64, tuning: &Tuning) -> f64 {
    (tuning.worker_part * run_ns).max(1.1 * worker_ns(cpu))
}

/// Returns the time of a task on one worker while GPUs run, ns.
fn worker_ns(cpu: &Cost) -> f64 {
    cpu.per_task_ns * cpu.beside * cpu.at_once as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(fixed_ns: f64, per_task_ns: f64, at_once: usize) -> Cost {
        Cost {
            fixed_ns,
            per_task_ns,
            at_once,
            beside: 1.0,
            transfer_ns: 0.0,
            fewest: 100,
            most: 4_000,
            scale: 1.0,
            is_launch_stated: false,
            is_bound: false,
            observations: 10,
        }
    }

    /// Two workers of 40 µs a task, and a card of 4.7 µs whose copies may overlap its work.
    #[test]
    fn a_card_of_a_split_is_tried_alone_once_to_see_whether_pieces_overlap() {
        let machine = Machine::from_toml("cores = 2\n[[gpu]]\nname = \"card\"").expect("one");
        let workload = WorkloadProfile::from_task_count(4_000);
        let decided = |bottleneck| {
            let gpu = GpuCosts {
                cost: Some(measured(15_000.0, 4_700.0, 1)),
                bottleneck,
                ..GpuCosts::default()
            };
            let shape = Shape {
                spread: 0.0,
                ..Shape::default()
            };
            let costs = OperationCosts {
                cpu: Some(measured(0.0, 20_000.0, 2)),
                gpus: vec![gpu],
                shape: Some(Arc::new(shape)),
                hindrance_absence: Absence {
                    since_ns: 1e9,
                    tries: 0,
                },
                ..OperationCosts::default()
            };
            let heuristics = ProfilingHeuristics::default();
            decide(&workload, &machine, &heuristics, &costs).expect("a decision")
        };
        let unknown = decided(None);
        assert_eq!(unknown.strategy, ExecutionStrategy::GpuOnly);
        assert_eq!(unknown.basis, Basis::Exploration);
        assert_eq!(unknown.orders.cpu, Order::Nothing);
        // Nothing overlaps: the split is better, and no further batch is spent on finding out.
        let serial = decided(Some(1.0));
        assert!(matches!(serial.strategy, ExecutionStrategy::Hybrid { .. }));
        // Three equal phases overlap: the card alone is better.
        let overlaps = decided(Some(1.0 / 3.0));
        assert_eq!(overlaps.basis, Basis::Model);
        assert_eq!(overlaps.strategy, ExecutionStrategy::GpuOnly);
    }
}
