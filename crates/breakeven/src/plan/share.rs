//! What each device has of a batch that was decided about, in whole tasks.

use breakeven_profile::profile::Device;
use serde::Serialize;

use super::{Cost, Decision, GpuSpec, Machine, OperationCosts};
use crate::whole;
use crate::workload::WorkloadProfile;

/// What one device has of a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Its name; `cpu`.
    pub device: String,
    /// Its tasks.
    pub tasks: usize,
    /// Time that it should take for them, ns; none where that is not known.
    pub predicted_ns: Option<f64>,
}

impl Decision {
    /// What each device has of the batch that was decided about, the CPU first; of several
    /// GPUs nothing where it is not known which has how much.
    pub fn shares(
        &self,
        workload: &WorkloadProfile,
        machine: &Machine,
        costs: &OperationCosts,
    ) -> Vec<Share> {
        let (all, gpus) = (workload.task_count, &machine.gpus[..]);
        let parts = self.chosen().map_or(&[][..], |chosen| &chosen.gpu_parts);
        let parts = Some(parts).filter(|parts| parts.len() == gpus.len());
        let on_gpus = match parts {
            _ if gpus.is_empty() => 0,
            Some(parts) => whole((parts.iter().sum::<f64>() * all as f64).round()).min(all),
            None => self.strategy.shares(all).0,
        };
        let on_cpu = all - on_gpus;
        let is_split = on_cpu > 0 && on_gpus > 0;
        // The sequential part of the work is one device's, and the others wait for it.
        let is_stated = costs.cpu.is_some_and(|cpu| cpu.observations == 0);
        let waits = is_split && is_stated && workload.parallelization < 1.0;
        let time = |cost: Option<Cost>, tasks: f64| match cost {
            _ if tasks <= 0.0 => Some(0.0),
            _ if waits || !is_split && gpus.len() < 2 => self.predicted_ns(),
            cost => {
                let cost = cost?;
                let beside = if is_split { cost.beside } else { 1.0 };
                let at_once = cost.at_once.max(1) as f64;
                let done = if at_once > 1.0 {
                    (tasks / at_once).ceil() * at_once
                } else {
                    tasks
                };
                Some(cost.fixed_ns + done * cost.per_task_ns * beside)
            }
        };
        let cpu = Share {
            device: Device::CPU.to_owned(),
            tasks: on_cpu,
            predicted_ns: time(costs.cpu, on_cpu as f64),
        };
        let mut given = 0;
        let mut before = 0.0;
        let of_gpu = |(index, gpu): (usize, &GpuSpec)| {
            let part = match parts {
                Some(parts) => parts[index] * all as f64,
                None if gpus.len() == 1 => on_gpus as f64,
                None => return None,
            };
            before += part;
            let until = whole(before.round()).min(on_gpus);
            let tasks = until - given;
            given = until;
            Some(Share {
                device: gpu.name.clone(),
                tasks,
                predicted_ns: time(costs.gpu(index).cost, part),
            })
        };
        let each = gpus
            .iter()
            .enumerate()
            .map_while(of_gpu)
            .collect::<Vec<_>>();
        std::iter::once(cpu).chain(each).collect()
    }
}
