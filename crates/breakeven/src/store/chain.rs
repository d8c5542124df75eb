//! Costs of the stages of a chain, from the cost model.

use std::iter;
use std::time::{Duration, SystemTime};

use breakeven_profile::profile::Peak;

use super::Costs;
use crate::operator::{Stages, Step};
use crate::plan::{
    ChainCosts, Cost, DeviceLinks, Observation, RanOn, StageCosts, StageTime, StatedWork,
    TransferTime, profile_of,
};
use crate::tensor::shape;

/// The cost model's names of transfers to a device, and back.
const UPLOAD: &str = "(upload)";
const DOWNLOAD: &str = "(download)";

/// Unit in which transfers are measured, bytes, so that one line fits all their sizes.
const BLOCK: u64 = 4096;

/// Returns the cost model's name of an operation whose data stays on the device.
pub(crate) fn without_transfers(operation: &str) -> String {
    format!("{operation} (on the device)")
}

impl Costs {
    /// Returns the costs of a chain's stages on those GPUs and on a CPU with that many workers: as
    /// measured, else by the known peaks. `has_form` returns whether a stage can run on the GPU
    /// with that index.
    pub fn of_chain(
        &self,
        stages: &Stages,
        inputs: &[&[usize]],
        gpus: &[impl AsRef<str>],
        workers: usize,
        has_form: impl Fn(usize, usize) -> bool,
    ) -> ChainCosts {
        let names: Vec<String> = gpus.iter().map(|gpu| gpu.as_ref().to_owned()).collect();
        let peaks = self.peaks();
        let of_stage = |(place, step): (usize, &Step<'_>)| {
            let (work, name) = (step.work(), step.stage.name());
            let workload = profile_of(work);
            let (memory, tasks) = (workload.memory_per_task, workload.task_count as u64);
            let (inputs, output) = (0, 0);
            let stated = StatedWork {
                work,
                inputs,
                output,
            }
            .costs(&peaks, &names, workers);
            let on_cpu = self.lookup(name, memory, &names, workers).cpu;
            let on_gpus = self.lookup(&without_transfers(name), memory, &names, workers);
            let gpus = (0..names.len()).map(|gpu| {
                let cost = on_gpus.gpu(gpu).cost.or(stated.gpu(gpu).cost);
                (cost, has_form(gpu, place))
            });
            let all = iter::once((on_cpu.or(stated.cpu), true)).chain(gpus);
            let time = |cost: Cost| StageTime {
                ns: cost.predict_ns(tasks),
                evidence: cost.evidence(tasks),
                observations: cost.observations,
            };
            let all = all.map(|(cost, runs)| (cost.filter(|_| runs).map(time), runs));
            let (times, runs_on) = all.unzip();
            StageCosts {
                name: name.to_owned(),
                output_bytes: shape::bytes(&step.output),
                times,
                runs_on,
            }
        };
        let transfer = |way: &str, gpu: &str, rate: fn(&Peak) -> Option<f64>| {
            let peak = peaks.iter().find(|peak| peak.device == gpu).and_then(rate);
            let seen = self.lookup(way, BLOCK as usize, &[gpu], 1).gpu(0).cost;
            let measured = seen.map(|cost| TransferTime {
                fixed_ns: cost.fixed_ns,
                per_byte_ns: cost.per_task_ns / BLOCK as f64,
            });
            measured.unwrap_or_else(|| TransferTime::at_rate(peak))
        };
        let links = names.iter().map(|gpu| DeviceLinks {
            device: gpu.clone(),
            up: transfer(UPLOAD, gpu, |peak| peak.upload_bytes_per_s),
            down: transfer(DOWNLOAD, gpu, |peak| peak.download_bytes_per_s),
        });
        // The CPU uses the host's memory.
        let cpu = DeviceLinks {
            device: "cpu".to_owned(),
            ..DeviceLinks::default()
        };
        let input_bytes = inputs.iter().map(|input| shape::bytes(input));
        let steps = stages.steps(inputs);
        ChainCosts {
            devices: iter::once(cpu).chain(links).collect(),
            input_bytes: input_bytes.fold(0, u64::saturating_add),
            stages: steps.iter().enumerate().map(of_stage).collect(),
        }
    }

    /// Learns the time of a transfer to a GPU, or back.
    pub(crate) fn moved(&self, is_up: bool, gpu: &str, bytes: u64, took: Duration) {
        let way = if is_up { UPLOAD } else { DOWNLOAD };
        let seen = Observation {
            at: SystemTime::now(),
            tasks: bytes.div_ceil(BLOCK),
            ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            transfer_ns: None,
            workers: 1,
            shared: false,
        };
        self.observe(way, BLOCK as usize, RanOn::Gpu(gpu), &seen);
    }
}
