//! Where a batch would run, and why: what `breakeven plan` decides.

use std::path::{Path, PathBuf};

use breakeven::execute::ordered_strategy;
use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven::plan::{
    Basis, Decision, ExecutionStrategy, GpuSpec, Machine, OperationCosts, ProfilingHeuristics,
    costs_from_rates, decide, decide_for,
};
use breakeven::{Costs, Error, WorkloadProfile};
use pyo3::prelude::*;
use serde_json::json as value;

use crate::errors::{FileError, PlanError};
use crate::profile::json;

/// The name of the preset that splits where no stage decides.
const HYBRID_FIRST: &str = "hybrid-first";

fn refused(error: Error) -> PyErr {
    PlanError::new_err(error.to_string())
}

fn read<T>(path: &Path, from_toml: impl FnOnce(&str) -> Result<T, Error>) -> PyResult<T> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| FileError::new_err(format!("{name}: cannot be read: {error}")))?;
    from_toml(&text).map_err(|error| PlanError::new_err(format!("{name}: {error}")))
}

/// This machine as it is now, with its GPUs, or those that are asked for.
fn this_machine(device: Option<&str>) -> PyResult<Machine> {
    let (hardware, load) = (HardwareCapabilities::detect(), SystemLoad::sample());
    let mut machine = Machine::of(&hardware, Some(&load));
    if let Some(device) = device {
        let gpus = hardware.gpus.iter();
        let gpus = gpus.filter(|gpu| device == "gpu" && gpu.preferred || gpu.id.as_str() == device);
        machine.gpus = gpus.map(|gpu| GpuSpec::of(gpu, Some(&load))).collect();
        if machine.gpus.is_empty() {
            let known: Vec<&str> = hardware.gpus.iter().map(|gpu| gpu.id.as_str()).collect();
            return Err(PlanError::new_err(format!(
                "device {device:?}: there is no such GPU here; there is {}",
                match &known[..] {
                    [] => "none (`breakeven devices` says why)".to_owned(),
                    known => known.join(", "),
                }
            )));
        }
    }
    Ok(machine)
}

/// What is known of an operation here, and what is to be said of it.
fn measured(
    operation: &str,
    workload: &WorkloadProfile,
    machine: &Machine,
) -> (OperationCosts, Vec<String>) {
    let (costs, warning) = Costs::open_default();
    let mut notes: Vec<String> = warning.iter().map(ToString::to_string).collect();
    for gpu in &machine.gpus {
        if let Some(driver) = gpu.driver.known() {
            costs.declare_driver(&gpu.name, driver);
        }
    }
    let gpus: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let known = costs.lookup(operation, workload.memory_per_task, &gpus, machine.cores);
    if known.cpu.is_none() && known.gpus.iter().all(|gpu| gpu.cost.is_none()) {
        notes.push(match costs.sizes(operation).is_empty() {
            true => format!("nothing was measured of {operation:?} here"),
            false => format!("{operation:?} was measured here with tasks of other sizes only"),
        });
    }
    (known, notes)
}

/// Decides. The answer is JSON.
#[pyfunction]
#[pyo3(signature = (tasks, *, task_bytes, complexity, parallel, operation, task_time_ns, hardware, heuristics, device))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn plan(
    py: Python<'_>,
    tasks: usize,
    task_bytes: Option<usize>,
    complexity: f64,
    parallel: f64,
    operation: Option<String>,
    task_time_ns: Option<f64>,
    hardware: Option<PathBuf>,
    heuristics: Option<PathBuf>,
    device: Option<String>,
) -> PyResult<String> {
    let workload = match task_bytes {
        None => WorkloadProfile::from_task_count(tasks).with_complexity(complexity),
        Some(bytes) => WorkloadProfile::from_task_size(tasks, bytes, complexity),
    };
    let workload = workload.with_parallelization(parallel);
    workload.check().map_err(refused)?;
    let heuristics = match heuristics.as_deref() {
        None => ProfilingHeuristics::default(),
        Some(name) if name.as_os_str() == HYBRID_FIRST => ProfilingHeuristics::hybrid_first(),
        Some(path) => read(path, ProfilingHeuristics::from_toml)?,
    };
    let machine = match hardware.as_deref() {
        Some(path) => read(path, Machine::from_toml)?,
        None => py.detach(|| this_machine(device.as_deref()))?,
    };
    // What was measured, was measured here.
    let operation = operation.filter(|_| hardware.is_none());
    let (mut costs, notes) = match &operation {
        Some(operation) => py.detach(|| measured(operation, &workload, &machine)),
        None => (OperationCosts::default(), Vec::new()),
    };
    if let Some(ns) = task_time_ns {
        let by_rates = costs_from_rates(ns, &workload, &machine).map_err(refused)?;
        costs.cpu = costs.cpu.or(by_rates.cpu);
        costs.gpus.resize_with(machine.gpus.len(), Default::default);
        for (known, by_rates) in costs.gpus.iter_mut().zip(by_rates.gpus) {
            known.cost = known.cost.take().or(by_rates.cost);
        }
    }
    let decision = match ordered_strategy().transpose().map_err(refused)? {
        None => decide(&workload, &machine, &heuristics, &costs),
        Some(ordered) => decide_for(
            ordered,
            Basis::Operator,
            &workload,
            &machine,
            &heuristics,
            &costs,
        ),
    };
    let decision = decision.map_err(refused)?;
    document(&decision, &workload, &machine, notes)
}

fn document(
    decision: &Decision,
    workload: &WorkloadProfile,
    machine: &Machine,
    notes: Vec<String>,
) -> PyResult<String> {
    let (gpu_tasks, cpu_tasks) = match machine.gpu() {
        Some(_) => decision.strategy.shares(workload.task_count),
        None => (0, workload.task_count),
    };
    let mut reasons = decision.reasons();
    if machine.gpu().is_none() && decision.strategy != ExecutionStrategy::CpuOnly {
        reasons.push("there is no GPU: every task falls back to the CPU".to_owned());
    }
    let candidates = decision.candidates.iter().map(|candidate| {
        value!({
            "strategy": candidate.strategy.to_string(),
            "predicted_ns": candidate.predicted_ns,
            "evidence": candidate.evidence.to_string(),
        })
    });
    json(&value!({
        "strategy": decision.strategy.to_string(),
        "predicted_ns": decision.predicted_ns(),
        "evidence": decision.evidence().to_string(),
        "batch_size": decision.batch_size,
        "estimated_gpu_tasks": gpu_tasks,
        "estimated_cpu_tasks": cpu_tasks,
        "reasoning": reasons,
        "margin": decision.margin,
        "candidates": candidates.collect::<Vec<_>>(),
        "workload": workload.to_string(),
        "machine": machine.to_string(),
        "notes": notes,
    }))
}
