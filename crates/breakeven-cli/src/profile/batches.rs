//! `breakeven profile --strategy`: which batches are executed, and on which GPUs.

use anyhow::{Result, bail};
use breakeven::execute::{ordered_strategy, read_prices};
use breakeven::hardware::{AbsentBackend, GpuKind, HardwareCapabilities};
use breakeven::plan::ExecutionStrategy;
use breakeven_profile::profile::Device;

use super::{check_fits, kernels};
use crate::engine::devices;
use crate::engine::protocol::{BatchCell, BatchGpus, Cell};
use crate::engine::session::{Machine, Session};
use crate::engine::suite::BatchWorkload;
use crate::profile::args::ProfileArgs;

/// A batch of every kernel, after checking that it fits memory.
pub(super) fn batch_cells(
    args: &ProfileArgs,
    strategy: ExecutionStrategy,
    machine: &Machine,
) -> Result<Vec<Cell>> {
    let gpus = gpus(&args.device, ordered(strategy)?, &machine.hardware)?;
    let on_gpu = matches!(gpus, BatchGpus::These(_));
    if let Some(path) = &args.prices {
        read_prices(path)?;
    }
    let cell = |kernel: &str| {
        let mut workload = BatchWorkload::new(kernel, args.scale.get())?;
        let mut option = "--scale";
        if let Some(tasks) = args.tasks {
            workload = workload.with_tasks(tasks.get());
            option = "--tasks";
        }
        let bytes = workload.memory_bytes(on_gpu);
        check_fits(&workload.described(), bytes, machine, option)?;
        Ok(Cell::Batch(BatchCell {
            kernel: kernel.to_owned(),
            item: None,
            tasks: workload.tasks(),
            strategy: strategy.to_string(),
            objective: args.objective.to_string(),
            prices: args.prices.clone(),
            gpus: gpus.clone(),
        }))
    };
    kernels(args).into_iter().map(cell).collect()
}

/// The requested strategy, unless the operator sets one, which has priority over Auto.
fn ordered(strategy: ExecutionStrategy) -> Result<ExecutionStrategy> {
    match strategy {
        ExecutionStrategy::Auto => Ok(ordered_strategy().transpose()?.unwrap_or_default()),
        asked => Ok(asked),
    }
}

/// The GPUs that the strategy may use. Auto uses a software GPU only on request, because it runs on
/// the CPU.
fn gpus(
    asked: &str,
    strategy: ExecutionStrategy,
    hardware: &HardwareCapabilities,
) -> Result<BatchGpus> {
    let without = [ExecutionStrategy::Auto, ExecutionStrategy::CpuOnly];
    let wants_gpu = !without.contains(&strategy);
    let mut gpus = match asked {
        Device::CPU if wants_gpu => bail!(
            "--strategy {strategy} needs a GPU, and --device cpu excludes all; remove one of them"
        ),
        Device::CPU => Vec::new(),
        // A missing GPU is an error.
        asked => devices::gpus(Some(asked), hardware)?,
    };
    if gpus.is_empty() && wants_gpu {
        gpus.extend(hardware.gpus.first());
    }
    let ids: Vec<String> = gpus.iter().map(|gpu| gpu.id.to_string()).collect();
    Ok(match strategy {
        ExecutionStrategy::CpuOnly => BatchGpus::Unwanted,
        _ if !ids.is_empty() => BatchGpus::These(ids),
        ExecutionStrategy::Auto => BatchGpus::Unwanted,
        _ => BatchGpus::Absent(nothing_there(hardware)),
    })
}

fn nothing_there(hardware: &HardwareCapabilities) -> String {
    let reason = |absent: &AbsentBackend| match absent.backend {
        Some(backend) => format!("{backend}: {}", absent.reason),
        None => absent.reason.clone(),
    };
    let reasons: Vec<String> = hardware.absent.iter().map(reason).collect();
    match &reasons[..] {
        [] => "there is no GPU here".to_owned(),
        reasons => format!("there is no GPU here: {}", reasons.join("; ")),
    }
}

/// Remarks on the strategy besides the executions.
pub(super) fn remarks(
    args: &ProfileArgs,
    cells: &[Cell],
    hardware: &HardwareCapabilities,
    session: &Session,
) -> Vec<String> {
    let mut remarks: Vec<String> = session.unsupported().collect();
    // What the operator sets is not Auto's to decide.
    let decided = args.strategy.and_then(|strategy| ordered(strategy).ok());
    let (auto, asked) = (decided == Some(ExecutionStrategy::Auto), &args.device);
    let of = |cell: &Cell| match cell {
        Cell::Batch(batch) => batch.gpus().to_vec(),
        _ => Vec::new(),
    };
    // All cells have the same GPUs.
    let gpus = cells.first().map(of).unwrap_or_default();
    if auto && gpus.is_empty() && asked == "all" {
        let mut gpus = hardware.gpus.iter();
        let software = gpus.find(|gpu| gpu.kind == GpuKind::Software);
        remarks.push(match software {
            Some(gpu) => format!(
                "Auto does not use {}; --device gpu lets it",
                Device::label(gpu.id.as_str(), true),
            ),
            None => "without a GPU there is nothing to decide, and nothing was learned".to_owned(),
        });
    }
    if session.has_learned {
        let gpus = gpus.join(",");
        remarks.push(format!(
            "the cost model has learned from these executions: the next --strategy auto uses it, \
             and `breakeven plan --tasks N --operation NAME --device {gpus}` shows it"
        ));
    }
    remarks
}
