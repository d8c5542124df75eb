//! What a sweep found, for the cost model: `plan`, Auto and later sweeps use it.

use std::time::SystemTime;

use breakeven::plan::{Costs, Observation, RanOn};
use breakeven_profile::profile::{Profile, Run};
use breakeven_profile::stats::median;

use super::{Axis, Found};

/// Tells the cost model of every round; what went wrong.
pub(super) fn learn(axis: &Axis, found: &Found, profile: &Profile) -> Vec<String> {
    let (costs, warning) = Costs::open_default();
    let mut warnings: Vec<String> = warning.iter().map(ToString::to_string).collect();
    let gpus = &profile.environment.gpus;
    for gpu in gpus {
        if let Some(driver) = &gpu.driver {
            costs.declare_driver(&gpu.id, driver);
        }
    }
    let cpu = profile.environment.cpu.as_ref();
    let workers = cpu.and_then(|cpu| cpu.usable_cores).map_or(1.0, f64::ceil);
    let rounds = found.points.iter().flat_map(|point| &point.rounds_ns);
    let rounds = rounds.map(Vec::len).max().unwrap_or(0);
    let at = SystemTime::now();
    // Round by round: the model remembers the newest, of all values.
    for round in 0..rounds {
        for point in &found.points {
            let Ok(workload) = axis.workload(point.value) else {
                continue;
            };
            let tasks = workload.profile();
            for (index, device) in found.devices.iter().enumerate() {
                let Some(ns) = point.rounds_ns[index].get(round) else {
                    continue;
                };
                let on = match device.as_str() {
                    "cpu" => RanOn::Cpu,
                    gpu => RanOn::Gpu(gpu),
                };
                let seen = Observation {
                    at,
                    tasks: tasks.task_count as u64,
                    ns: whole(*ns),
                    transfer_ns: transfer_ns(profile, point.elements, device, round),
                    workers: usize::try_from(whole(workers)).unwrap_or(1),
                };
                costs.observe(axis.kernel, tasks.memory_per_task, on, &seen);
            }
        }
    }
    if let Err(error) = costs.save() {
        warnings.push(format!("what was learned was not kept: {error}"));
    }
    warnings
}

/// Time of uploads and downloads of that round, ns.
fn transfer_ns(profile: &Profile, elements: u64, device: &str, round: usize) -> Option<u64> {
    let mut operations = profile.operations.iter();
    let operation = operations
        .find(|operation| operation.device == device && operation.size == Some(elements))?;
    let run = operation.runs.get(round)?;
    let phase = |run: &Run, name: &str| {
        let times: Vec<f64> = run
            .phases_ns
            .get(name)?
            .iter()
            .map(|ns| *ns as f64)
            .collect();
        median(&times).ok()
    };
    Some(whole(phase(run, "upload")? + phase(run, "download")?))
}

#[expect(clippy::cast_sign_loss, reason = "a time, or a count")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
