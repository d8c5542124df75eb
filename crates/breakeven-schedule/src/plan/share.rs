//! How many tasks of a batch each device gets by a decision.

use breakeven_profile::profile::Device;
use serde::Serialize;

use super::{Cost, Decision, Machine, OperationCosts};
use crate::WorkloadProfile;
use crate::whole;

/// The share of one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Its name; `cpu`.
    pub device: String,
    /// Its tasks.
    pub tasks: usize,
    /// Its predicted time for them, ns; none if it is not known.
    pub predicted_ns: Option<f64>,
}

impl Decision {
    /// Returns the share of each device, the CPU first. No share for several GPUs if the division
    /// among them is not known.
    pub fn shares(
        &self,
        workload: &WorkloadProfile,
        machine: &Machine,
        costs: &OperationCosts,
    ) -> Vec<Share> {
        let (tasks, gpus) = (workload.task_count, &machine.gpus[..]);
        let known = self.chosen().map(|chosen| &chosen.gpu_parts[..]);
        let named = [self.strategy.shares(tasks).0 as f64 / tasks.max(1) as f64];
        let parts = match known.filter(|parts| parts.len() == gpus.len()) {
            Some(parts) => parts,
            None if gpus.len() == 1 => &named,
            None => &[],
        };
        let on_gpus = match parts {
            [] if gpus.is_empty() => 0.0,
            [] => named[0],
            parts => parts.iter().sum(),
        };
        let whole = |part: f64| whole((part * tasks as f64).round()).min(tasks);
        let is_split = on_gpus > 0.0 && on_gpus < 1.0;
        // The sequential fraction of the work runs on one device, and the other devices wait for
        // it.
        let is_stated = costs.cpu.is_some_and(|cpu| cpu.observations == 0);
        let waits = is_split && is_stated && workload.parallelization < 1.0;
        let share = |device: &str, cost: Option<Cost>, (tasks, done): (usize, f64)| Share {
            device: device.to_owned(),
            tasks,
            predicted_ns: match cost {
                _ if done <= 0.0 => Some(0.0),
                _ if waits || !is_split && gpus.len() < 2 => self.predicted_ns(),
                cost => cost.map(|cost| {
                    let beside = if is_split { cost.beside } else { 1.0 };
                    cost.fixed_ns + done * cost.per_task_ns * beside
                }),
            },
        };
        let on_cpu = tasks.saturating_sub(whole(on_gpus));
        let workers = costs.cpu.map_or(1, |cpu| cpu.at_once.max(1));
        let waves = on_cpu.div_ceil(workers) as f64 * workers as f64;
        let before = |count: usize| whole(parts[..count].iter().sum());
        let on_gpu = |(index, part): (usize, &f64)| {
            let own = (
                before(index + 1).saturating_sub(before(index)),
                part * tasks as f64,
            );
            share(&gpus[index].name, costs.gpu(index).cost, own)
        };
        let cpu = share(Device::CPU, costs.cpu, (on_cpu, waves));
        let each = parts.iter().enumerate().map(on_gpu);
        std::iter::once(cpu).chain(each).collect()
    }
}
