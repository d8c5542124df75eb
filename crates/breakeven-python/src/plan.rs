//! Where a batch would run, and why: the decision of `breakeven plan`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use breakeven::execute::ordered_strategy;
use breakeven::hardware::{HardwareCapabilities, SystemLoad, as_planned, gpu_spec};
use breakeven::plan::{
    Basis, Decision, ExecutionStrategy, Machine, OperationCosts, ProfilingHeuristics,
    costs_from_rates, decide, decide_for,
};
use breakeven::{Costs, Error, WorkloadProfile};
use pyo3::prelude::*;
use serde_json::json as value;

use crate::errors::{FileError, PlanError};
use crate::profile::json;

/// The preset that splits if no stage decides.
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

/// This machine now, with its GPUs, or the requested ones.
fn this_machine(device: Option<&str>) -> PyResult<Machine> {
    let (hardware, load) = (HardwareCapabilities::detect(), SystemLoad::sample());
    let mut machine = as_planned(&hardware, Some(&load));
    if let Some(device) = device {
        let gpus = hardware.gpus.iter();
        let gpus = gpus.filter(|gpu| device == "gpu" && gpu.preferred || gpu.id.as_str() == device);
        machine.gpus = gpus.map(|gpu| gpu_spec(gpu, Some(&load))).collect();
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

/// The cost model that has the operation: this process's, whose newest times may not be in the file
/// yet, else the file's; and an error of reading it.
fn model(operation: &str) -> (Arc<Costs>, Vec<String>) {
    let own = crate::run::costs(None, true);
    if !own.sizes(operation).is_empty() {
        return (own, Vec::new());
    }
    let (costs, warning) = Costs::open_default();
    (
        Arc::new(costs),
        warning.iter().map(ToString::to_string).collect(),
    )
}

/// The measurements of an operation here, on the GPUs of its batches.
fn measured(
    costs: &Costs,
    operation: &str,
    workload: &WorkloadProfile,
    machine: &Machine,
) -> (OperationCosts, Option<String>) {
    for gpu in &machine.gpus {
        if let Some(driver) = gpu.driver.known() {
            costs.declare_driver(&gpu.name, driver);
        }
    }
    let gpus: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let known = costs.lookup(operation, workload.memory_per_task, &gpus, machine.cores);
    let is_unknown = known.cpu.is_none() && known.gpus.iter().all(|gpu| gpu.cost.is_none());
    let note = is_unknown.then(|| match costs.sizes(operation).is_empty() {
        true => format!("nothing was measured of {operation:?} here"),
        false => format!("{operation:?} was measured here with tasks of other sizes only"),
    });
    (known, note)
}

/// Decides. Returns JSON.
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
    // Measurements are always from this machine.
    let operation = operation.filter(|_| hardware.is_none());
    let (known, mut notes) = operation
        .as_ref()
        .map_or_else(Default::default, |operation| {
            let (costs, notes) = py.detach(|| model(operation));
            (Some((costs, operation)), notes)
        });
    let mut workload = WorkloadProfile::from_task_count(tasks)
        .with_complexity(complexity)
        .with_parallelization(parallel);
    let sizes = known
        .as_ref()
        .map(|(costs, operation)| costs.sizes(operation));
    let only = sizes.and_then(|sizes| <[usize; 1]>::try_from(sizes).ok());
    if let Some(bytes) = task_bytes.or(only.map(|[size]| size)) {
        workload = workload.with_memory_per_task(bytes);
    }
    workload.check().map_err(refused)?;
    let heuristics = match heuristics.as_deref() {
        None => ProfilingHeuristics::default(),
        Some(name) if name.as_os_str() == HYBRID_FIRST => ProfilingHeuristics::hybrid_first(),
        Some(path) => read(path, ProfilingHeuristics::from_toml)?,
    };
    let mut machine = match hardware.as_deref() {
        Some(path) => read(path, Machine::from_toml)?,
        None => py.detach(|| this_machine(device.as_deref()))?,
    };
    let mut costs = OperationCosts::default();
    if let Some((model, operation)) = &known {
        let slots = model.slots(operation);
        if device.is_none() && !slots.is_empty() {
            machine.gpus = slots;
        }
        let note;
        (costs, note) = measured(model, operation, &workload, &machine);
        notes.extend(note);
    }
    notes.extend(machine.unfit(&workload).map_err(refused)?);
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
    document(&decision, &workload, &machine, &costs, notes)
}

fn document(
    decision: &Decision,
    workload: &WorkloadProfile,
    machine: &Machine,
    costs: &OperationCosts,
    notes: Vec<String>,
) -> PyResult<String> {
    let shares = decision.shares(workload, machine, costs);
    let cpu_tasks = shares.first().map_or(0, |cpu| cpu.tasks);
    let mut reasons = decision.reasons();
    if machine.gpu().is_none() && decision.strategy != ExecutionStrategy::CpuOnly {
        reasons.push("there is no GPU: every task falls back to the CPU".to_owned());
    }
    let candidates = decision.candidates.iter().map(|candidate| {
        value!({
            "strategy": candidate.strategy,
            "predicted_ns": candidate.predicted_ns,
            "evidence": candidate.evidence,
        })
    });
    json(&value!({
        "strategy": decision.strategy,
        "predicted_ns": decision.predicted_ns(),
        "evidence": decision.evidence(),
        "batch_size": decision.batch_size,
        "estimated_gpu_tasks": workload.task_count - cpu_tasks,
        "estimated_cpu_tasks": cpu_tasks,
        "reasoning": reasons,
        "margin": decision.margin,
        "candidates": candidates.collect::<Vec<_>>(),
        "workload": workload.to_string(),
        "machine": machine.to_string(),
        "notes": notes,
    }))
}
