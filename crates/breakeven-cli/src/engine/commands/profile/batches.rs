//! `breakeven profile --strategy`: which batches are executed, and on which GPU.

use crate::engine::suite::BatchWorkload;
use anyhow::{Result, bail};
use breakeven::execute::{measure_power, ordered_prices, ordered_strategy, read_prices};
use breakeven::hardware::{AbsentBackend, GpuInfo, GpuKind, HardwareCapabilities};
use breakeven::plan::{
    ExecutionStrategy, GpuSpec, Machine as PlannedMachine, Objective, OperationCosts, Prices,
    Resource,
};
use breakeven_profile::profile::Device;

use super::{Work, check_memory, devices, kernels, memory};
use crate::engine::args::ProfileArgs;
use crate::engine::protocol::{BatchCell, BatchGpu, Cell};
use crate::engine::session::{Machine, Session};

/// A batch of every kernel, after checking that it fits memory.
pub(super) fn batch_cells(
    args: &ProfileArgs,
    strategy: ExecutionStrategy,
    machine: &Machine,
) -> Result<Vec<Cell>> {
    let gpu = gpu(&args.device, ordered(strategy)?, &machine.hardware)?;
    let on_gpu = matches!(gpu, BatchGpu::Device(_));
    let prices = match &args.prices {
        Some(path) => Some(read_prices(path)?),
        None => ordered_prices()?,
    };
    if let (BatchGpu::Device(gpu), ExecutionStrategy::Auto) = (&gpu, ordered(strategy)?) {
        check_objective(args.objective, gpu, prices.as_ref(), &machine.hardware)?;
    }
    let memory = memory(machine);
    let cell = |kernel: &str| {
        let mut workload = BatchWorkload::new(kernel, args.scale.get())?;
        let mut asked = ("--scale", args.scale.get());
        if let Some(tasks) = args.tasks {
            workload = workload.with_tasks(tasks.get());
            asked = ("--tasks", tasks.get());
        }
        let bytes = workload.memory_bytes(on_gpu);
        let work = Work::new(workload.name(), &workload.text(), bytes);
        check_memory(&work, memory, asked)?;
        Ok(Cell::Batch(BatchCell {
            kernel: kernel.to_owned(),
            item: None,
            tasks: workload.tasks(),
            strategy: strategy.to_string(),
            objective: args.objective.to_string(),
            prices: args.prices.clone(),
            gpu: gpu.clone(),
        }))
    };
    kernels(args).into_iter().map(cell).collect()
}

/// Fails unless what the objective counts is told of the CPU and of the GPU.
fn check_objective(
    objective: Objective,
    gpu: &str,
    prices: Option<&Prices>,
    hardware: &HardwareCapabilities,
) -> Result<()> {
    match objective.resource() {
        None => {}
        Some(Resource::Energy) => {
            let mut devices = PlannedMachine::of(hardware, None);
            devices.gpus = vec![GpuSpec::named(gpu)];
            measure_power(&mut devices, &OperationCosts::default(), hardware)?;
        }
        Some(Resource::Cost) if prices.and_then(|prices| prices.gpu(gpu)).is_none() => bail!(
            "--objective {objective}: there is no price of {gpu}; give a file that has one, by \
             --prices or by BREAKEVEN_PRICES"
        ),
        Some(Resource::Cost) => {}
    }
    Ok(())
}

/// What is asked for after the operator was heard, who comes before Auto.
fn ordered(strategy: ExecutionStrategy) -> Result<ExecutionStrategy> {
    match strategy {
        ExecutionStrategy::Auto => Ok(ordered_strategy().transpose()?.unwrap_or_default()),
        asked => Ok(asked),
    }
}

/// The GPU that the strategy gets. Auto gets a software GPU only where it was
/// asked for: it is the CPU again.
fn gpu(
    asked: &str,
    strategy: ExecutionStrategy,
    hardware: &HardwareCapabilities,
) -> Result<BatchGpu> {
    let of = |gpu: &GpuInfo| BatchGpu::Device(gpu.id.to_string());
    let best = hardware.best_gpu().or_else(|| hardware.gpus.first());
    let without = [ExecutionStrategy::Auto, ExecutionStrategy::CpuOnly];
    let wants_gpu = !without.contains(&strategy);
    let gpu = match asked {
        "cpu" if wants_gpu => bail!(
            "--strategy {strategy} wants a GPU, and --device cpu leaves it none; leave one of \
             them out"
        ),
        "cpu" => None,
        "all" if strategy == ExecutionStrategy::Auto => hardware.best_gpu().map(of),
        "all" => best.map(of),
        asked => {
            // One that is not there is refused.
            let there = devices(asked, hardware)?;
            if asked.contains(',') {
                bail!("--strategy takes one GPU beside the CPU, and --device names {asked}");
            }
            let named = there.into_iter().next().map(BatchGpu::Device);
            if asked == "gpu" { best.map(of) } else { named }
        }
    };
    Ok(match (strategy, gpu) {
        (ExecutionStrategy::CpuOnly, _) => BatchGpu::Unwanted,
        (_, Some(gpu)) => gpu,
        (ExecutionStrategy::Auto, None) => BatchGpu::Unwanted,
        (_, None) => BatchGpu::Absent(nothing_there(hardware)),
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

/// What is to be said of the strategy beside what was executed.
pub(super) fn remarks(
    args: &ProfileArgs,
    cells: &[Cell],
    hardware: &HardwareCapabilities,
    session: &Session,
) -> Vec<String> {
    let mut remarks = Vec::new();
    // What the operator orders is not Auto's to decide.
    let decided = args.strategy.and_then(|strategy| ordered(strategy).ok());
    let (auto, asked) = (decided == Some(ExecutionStrategy::Auto), &args.device);
    let unwanted =
        |cell: &Cell| matches!(cell, Cell::Batch(batch) if batch.gpu == BatchGpu::Unwanted);
    if auto && cells.iter().all(unwanted) && asked == "all" {
        let mut gpus = hardware.gpus.iter();
        let software = gpus.find(|gpu| gpu.kind == GpuKind::Software);
        remarks.push(match software {
            Some(gpu) => format!(
                "Auto leaves {} alone; --device gpu lets it decide about it",
                Device::label(gpu.id.as_str(), true),
            ),
            None => "without a GPU there is nothing to decide, and nothing was learned".to_owned(),
        });
    }
    match session.learned {
        Some(true) => {
            let device = match asked.as_str() {
                "all" | "cpu" => String::new(),
                device => format!(" --device {device}"),
            };
            remarks.push(format!(
                "the cost model has learned from these executions: the next --strategy auto \
                 decides by it, and `breakeven plan --tasks N --operation NAME{device}` shows it"
            ));
        }
        Some(false) => remarks.push(
            "the cost model was in memory only: the next --strategy auto begins anew".to_owned(),
        ),
        None => {}
    }
    remarks
}
