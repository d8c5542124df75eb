//! What the cost model is told of a sweep. A kernel called for a whole batch and
//! tasks executed one by one do not take the same time, so batches are executed as
//! `plan` and Auto would have them, by one device after the other, where the sweep
//! has shown what takes how long.

use breakeven::plan::Objective;
use breakeven_profile::profile::Device;

use super::axis::{Axis, whole};
use super::found::Found;
use crate::engine::protocol::{BatchCell, BatchGpus, Cell};
use crate::engine::suite::Over;

/// Batches of one size of item: with its executions each fills a quarter of what the
/// cost model remembers of an operation.
const MOST_BATCHES: usize = 4;

/// Executions that count for sure, beside the first.
pub(super) const EXECUTIONS: u32 = 3;

/// Longest time of an execution, ns.
const LONGEST_NS: f64 = 0.5e9;

/// Elements of the larger one of two batches of small items.
const ELEMENTS: u64 = 1 << 20;

/// Tasks of that batch at most.
const MOST_TASKS: u64 = 1024;

/// The batches to execute on each device, given the memory that there is.
pub(super) fn executions(
    axis: &Axis,
    found: &Found,
    workers: u64,
    memory: Option<u64>,
) -> Vec<Cell> {
    let mut executions = Vec::new();
    for (index, device) in found.devices.iter().enumerate() {
        for (value, tasks) in batches(axis, workers) {
            let measured = found.points.iter().find(|point| point.value == value);
            let Some(ns) = measured.and_then(|point| point.median_ns(index)) else {
                // It failed there, or was not reached.
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
            let execution = Cell::Lesson(execution);
            if fits && !executions.contains(&execution) {
                executions.push(execution);
            }
        }
    }
    executions
}

/// As many of the tasks as do not take too long, given the time at their value; none
/// where a task for each worker would.
fn affordable(over: Over, ns: f64, tasks: u64, workers: u64) -> Option<u64> {
    match over {
        // The time is of one item, a launch included.
        Over::Size => {
            let most = whole(LONGEST_NS / ns);
            (most >= workers).then(|| tasks.min(most))
        }
        _ => (ns <= LONGEST_NS).then_some(tasks),
    }
}

/// Values of the sweep, and how many tasks are executed at each: of every size two
/// batches, since one does not tell the fixed time from that of a task.
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
        // Other windows are other operations than the one that batches run.
        Over::Window | Over::Hidden => Vec::new(),
    }
}

/// Some of the values, the first and the last among them.
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
