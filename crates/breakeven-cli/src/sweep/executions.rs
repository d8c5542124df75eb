//! Batches that a sweep executes for the cost model: a kernel's call for a complete batch and tasks
//! executed one by one take different times.

use anyhow::Result;
use breakeven::Costs;
use breakeven::plan::Objective;

use super::kernel::{Axis, request, whole};
use super::{Measured, SweepArgs};
use crate::engine::protocol::{BatchCell, BatchGpus, Cell, Message, Request};
use crate::engine::suite::Over;
use crate::engine::supervisor::{self, Ended};
use crate::exit::Interrupted;
use crate::profile::{check_fits, progress};

/// Batches of a sweep over batches: with its four executions, each fills a quarter of the cost
/// model's memory of an operation.
const MOST_BATCHES: usize = 4;

/// Longest time of an execution, ns.
const LONGEST_NS: f64 = 0.5e9;

/// Elements of the larger one of two batches of small items, and the least that an item counts.
const ELEMENTS: u64 = 1 << 20;
const LEAST_ITEM: u64 = 1 << 10;

/// Executes batches on each device alone, if there is a cost model that keeps what it learns. The
/// workers' profiles are dropped: they are not the sweep's.
pub(super) fn teach(args: &SweepArgs, axis: &Axis, measured: &mut Measured) -> Result<()> {
    let (costs, warning) = Costs::open_default();
    if let Some(warning) = warning {
        measured.session.warn(warning.to_string());
    }
    if !costs.is_kept() {
        return Ok(());
    }
    let request = Request {
        cells: batches(axis, measured)?,
        warmup: 1,
        iterations: 3,
        ..request(args)
    };
    let progress = progress(request.cells.len() as u64);
    progress.set_message("batches for the cost model");
    let ended = supervisor::run(&request, &mut |_, message| match message {
        Message::Warning(warning) => measured.session.warn(warning),
        Message::Failed(failure) => {
            let what = format!("the cost model learned nothing of a batch: {failure}");
            measured.session.warn(what);
        }
        Message::End => progress.inc(1),
        _ => {}
    });
    progress.finish_and_clear();
    match ended? {
        Ended::Complete => Ok(()),
        Ended::Interrupted => Err(Interrupted(
            "interrupted: all sizes were measured, but the cost model has learned only some of them",
        )
        .into()),
    }
}

/// The batches that fit time and memory: two of each size, because one does not separate the fixed
/// time from that of a task, or some of the swept batches.
fn batches(axis: &Axis, Measured { swept, machine, .. }: &Measured) -> Result<Vec<Cell>> {
    let workers = whole(machine.hardware.usable_cores.cores.ceil().max(1.0));
    let values = match axis.over {
        Over::Size => axis.values.clone(),
        Over::Batch => evenly(&axis.values),
        // A different window is a different operation from the one that batches run.
        Over::Window | Over::Hidden => Vec::new(),
    };
    let mut cells = Vec::new();
    for point in &swept.points {
        let value = point.value;
        if !values.contains(&value) {
            continue;
        }
        let (items, batches) = match axis.over {
            Over::Batch => (value, vec![value]),
            _ => {
                let many = ELEMENTS / axis.workload(value)?.size().max(LEAST_ITEM);
                (1, vec![workers, many.max(4 * workers)])
            }
        };
        for (at, time) in point.times.iter().enumerate() {
            // A point that failed has no time.
            let Some(ns) = time.median_ns else { continue };
            for tasks in &batches {
                let Some(tasks) = affordable(*tasks, ns / items as f64, workers) else {
                    continue;
                };
                let (strategy, gpus) = match at {
                    0 => ("cpu-only", BatchGpus::Unwanted),
                    _ => ("gpu-only", BatchGpus::These(vec![time.device.clone()])),
                };
                let batch = BatchCell {
                    kernel: axis.kernel.to_owned(),
                    item: Some((axis.over, value)),
                    tasks: usize::try_from(tasks).unwrap_or(usize::MAX),
                    strategy: strategy.to_owned(),
                    objective: Objective::Time.to_string(),
                    prices: None,
                    gpus,
                };
                let workload = batch.workload()?;
                let bytes = workload.memory_bytes(at > 0);
                let fits = check_fits(&workload.described(), bytes, machine, "--to").is_ok();
                let cell = Cell::Batch(batch);
                if fits && !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
    }
    Ok(cells)
}

/// The number of tasks that stays within the time limit, given the time of one; none if not even
/// each worker can have one.
fn affordable(tasks: u64, ns: f64, workers: u64) -> Option<u64> {
    let most = whole(LONGEST_NS / ns);
    (most >= tasks.min(workers)).then(|| tasks.min(most))
}

/// Some of the values, including the first and the last.
fn evenly(values: &[u64]) -> Vec<u64> {
    let last = values.len().saturating_sub(1);
    let count = values.len().min(MOST_BATCHES);
    let each = 0..count;
    each.map(|at| values[at * last / (count - 1).max(1)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_that_take_too_long_are_smaller_or_left_out() {
        let sizes = [1e6, 1e7, 2e8, 3e8].map(|ns| affordable(100, ns, 2));
        assert_eq!(sizes, [Some(100), Some(50), Some(2), None]);
        assert_eq!(
            [affordable(1, 4e8, 2), affordable(1, 6e8, 2)],
            [Some(1), None]
        );
    }

    #[test]
    fn batches_are_spread_over_the_range() {
        let all: Vec<u64> = (1..=9).collect();
        assert_eq!(evenly(&all), [1, 3, 6, 9]);
        assert_eq!(evenly(&all[..3]), [1, 2, 3]);
        assert_eq!(evenly(&all[..1]), [1]);
        assert_eq!(evenly(&[]), [0_u64; 0]);
    }
}
