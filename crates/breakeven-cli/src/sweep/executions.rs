//! Batches that a sweep executes for the cost model. A kernel call for a complete batch and tasks
//! executed one by one take different times, so batches are executed as `plan` and Auto would, on
//! one device after the other, with sizes chosen from the sweep's times.

use anyhow::Result;
use breakeven::Costs;
use breakeven::plan::Objective;
use breakeven_judge::break_even::Swept;
use breakeven_profile::profile::Device;

use super::kernel::{Axis, request, whole};
use super::{Measured, SweepArgs};
use crate::engine::protocol::{BatchCell, BatchGpus, Cell, Request};
use crate::engine::suite::Over;
use crate::engine::supervisor::Ended;
use crate::profile::{memory, progress};

/// Batches per size of item: with its executions, each fills a quarter of the cost model's memory
/// of an operation.
const MOST_BATCHES: usize = 4;

/// Executions that always count, after the first.
const EXECUTIONS: u32 = 3;

/// Longest time of an execution, ns.
const LONGEST_NS: f64 = 0.5e9;

/// Elements of the larger one of two batches of small items.
const ELEMENTS: u64 = 1 << 20;

/// Most tasks of that batch.
const MOST_TASKS: u64 = 1024;

/// Executes batches for the cost model, if there is one.
pub(super) fn teach(args: &SweepArgs, axis: &Axis, measured: &mut Measured) -> Result<Ended> {
    let Measured {
        swept,
        session,
        machine,
        ..
    } = measured;
    let (costs, warning) = Costs::open_default();
    let warnings = &mut session.warnings;
    warnings.extend(warning.map(|warning| warning.to_string()));
    let workers = whole(machine.hardware.usable_cores.cores.ceil().max(1.0));
    let cells = match costs.is_kept() {
        true => executions(axis, swept, workers, memory(machine)),
        false => Vec::new(),
    };
    if cells.is_empty() {
        return Ok(Ended::Complete);
    }
    let progress = progress(cells.len() as u64);
    progress.set_message("batches for the cost model");
    let request = Request {
        cells,
        warmup: 1,
        iterations: EXECUTIONS,
        ..request(args)
    };
    let ended = session.run(&request, &mut |_, step| progress.inc(step.is_last.into()));
    progress.finish_and_clear();
    ended
}

/// The batches to execute on each device, given the available memory.
fn executions(axis: &Axis, swept: &Swept, workers: u64, memory: Option<u64>) -> Vec<Cell> {
    let mut executions = Vec::new();
    for (index, device) in swept.devices.iter().enumerate() {
        for (value, tasks) in batches(axis, workers) {
            let measured = swept.points.iter().find(|point| point.value == value);
            let Some(ns) = measured.and_then(|point| point.times[index].median_ns) else {
                // The point failed there, or was not reached.
                continue;
            };
            let Some(tasks) = affordable(axis.over, ns, tasks, workers) else {
                continue;
            };
            let (strategy, gpus) = match &**device {
                Device::CPU => ("cpu-only", BatchGpus::Unwanted),
                gpu => ("gpu-only", BatchGpus::These(vec![gpu.to_owned()])),
            };
            let execution = BatchCell {
                kernel: axis.kernel.to_owned(),
                item: Some((axis.over, value)),
                tasks: usize::try_from(tasks).unwrap_or(usize::MAX),
                strategy: strategy.to_owned(),
                objective: Objective::Time.to_string(),
                prices: None,
                gpus,
            };
            let fits = execution.workload().is_ok_and(|workload| {
                let bytes = workload.memory_bytes(index > 0);
                memory.is_none_or(|memory| bytes <= memory)
            });
            let execution = Cell::Batch(execution);
            if fits && !executions.contains(&execution) {
                executions.push(execution);
            }
        }
    }
    executions
}

/// The number of tasks that stays within the time limit, given the time at their value; none if one
/// task per worker would exceed it.
fn affordable(over: Over, ns: f64, tasks: u64, workers: u64) -> Option<u64> {
    match over {
        // The time is that of one item, including a launch.
        Over::Size => {
            let most = whole(LONGEST_NS / ns);
            (most >= workers).then(|| tasks.min(most))
        }
        _ => (ns <= LONGEST_NS).then_some(tasks),
    }
}

/// Values of the sweep, and the numbers of tasks at each: two batches per size, because one does
/// not separate the fixed time from that of a task.
fn batches(axis: &Axis, workers: u64) -> Vec<(u64, u64)> {
    match axis.over {
        Over::Batch => {
            let evenly = evenly(&axis.values);
            evenly.map(|batch| (batch, batch)).collect()
        }
        Over::Size => {
            let two = |value: &u64| {
                let item = axis.workload(*value).map_or(u64::MAX, |item| item.size());
                let many = (ELEMENTS / item.max(1)).min(MOST_TASKS).max(4 * workers);
                [(*value, workers), (*value, many)]
            };
            axis.values.iter().flat_map(two).collect()
        }
        // A different window is a different operation from the one that batches run.
        Over::Window | Over::Hidden => Vec::new(),
    }
}

/// Some of the values, including the first and the last.
fn evenly(values: &[u64]) -> impl Iterator<Item = u64> {
    let last = values.len().saturating_sub(1);
    let count = values.len().min(MOST_BATCHES);
    (0..count).map(move |at| values[at * last / (count - 1).max(1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_that_take_too_long_are_smaller_or_left_out() {
        let size = |ns| affordable(Over::Size, ns, 100, 2);
        let sizes = [1e6, 1e7, 2e8, 3e8].map(size);
        assert_eq!(sizes, [Some(100), Some(50), Some(2), None]);
        let batch = |ns| affordable(Over::Batch, ns, 100, 2);
        assert_eq!([batch(4e8), batch(6e8)], [Some(100), None]);
    }

    #[test]
    fn batches_are_spread_over_the_range() {
        let all: Vec<u64> = (1..=9).collect();
        assert_eq!(evenly(&all).collect::<Vec<_>>(), [1, 3, 6, 9]);
        assert_eq!(evenly(&all[..3]).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(evenly(&all[..1]).collect::<Vec<_>>(), [1]);
        assert_eq!(evenly(&[]).count(), 0);
    }
}
