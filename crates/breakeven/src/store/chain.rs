//! What the stages of a chain take, by what the cost model knows of each.

use std::time::{Duration, SystemTime};

use breakeven_profile::profile::Peak;

use super::Costs;
use crate::operator::{Stages, Step};
use crate::plan::{
    ChainCosts, Cost, DeviceLinks, Observation, RanOn, StageCosts, StageTime, StatedWork,
    TransferTime, profile_of,
};
use crate::tensor::shape;

/// What the cost model calls moving data to a device, and back.
const UPLOAD: &str = "(upload)";
const DOWNLOAD: &str = "(download)";

/// Transfers are measured in blocks of so many bytes, so that one line is drawn through all
/// their sizes.
const BLOCK: u64 = 4096;

/// What the cost model calls an operation whose data is on the device before and after.
pub(crate) fn without_transfers(operation: &str) -> String {
    format!("{operation} (on the device)")
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transfer {
    Up,
    Down,
}

impl Costs {
    /// What the stages of a chain take on those GPUs and on a CPU with so many workers: as
    /// measured, else by the peaks that are known. `has_form` tells whether a stage can run
    /// on the GPU at that place.
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
        let steps = stages.steps(inputs);
        let of_step = |(place, step): (usize, &Step<'_>)| {
            let times = self.of_stage(step, &names, workers, &peaks);
            let gpus = (0..names.len()).map(|gpu| has_form(gpu, place));
            let runs_on: Vec<bool> = std::iter::once(true).chain(gpus).collect();
            let times = times.into_iter().zip(&runs_on);
            StageCosts {
                name: step.stage.name().to_owned(),
                output_bytes: shape::bytes(&step.output),
                times: times.map(|(time, runs)| time.filter(|_| *runs)).collect(),
                runs_on,
            }
        };
        let cpu = DeviceLinks {
            device: "cpu".to_owned(),
            up: TransferTime::default(),
            down: TransferTime::default(),
        };
        let gpus = names.iter().map(|gpu| {
            let peak = peaks.iter().find(|peak| peak.device == *gpu);
            DeviceLinks {
                device: gpu.clone(),
                up: self.transfer(UPLOAD, gpu, peak.and_then(|peak| peak.upload_bytes_per_s)),
                down: self.transfer(
                    DOWNLOAD,
                    gpu,
                    peak.and_then(|peak| peak.download_bytes_per_s),
                ),
            }
        });
        let input_bytes = inputs.iter().map(|input| shape::bytes(input));
        ChainCosts {
            devices: std::iter::once(cpu).chain(gpus).collect(),
            input_bytes: input_bytes.fold(0, u64::saturating_add),
            stages: steps.iter().enumerate().map(of_step).collect(),
        }
    }

    /// On the CPU, then on each GPU.
    fn of_stage(
        &self,
        step: &Step<'_>,
        gpus: &[String],
        workers: usize,
        peaks: &[Peak],
    ) -> Vec<Option<StageTime>> {
        let (work, name) = (step.work(), step.stage.name());
        let workload = profile_of(work);
        let (memory, tasks) = (workload.memory_per_task, workload.task_count as u64);
        let stated = StatedWork {
            work,
            inputs: 0,
            output: 0,
        };
        let stated = stated.costs(peaks, gpus, workers);
        let on_cpu = self.lookup(name, memory, gpus, workers).cpu;
        let on_gpus = self.lookup(&without_transfers(name), memory, gpus, workers);
        let time = |cost: Cost| StageTime {
            ns: cost.predict_ns(tasks),
            evidence: cost.evidence(tasks),
            observations: cost.observations,
        };
        let gpus = (0..gpus.len()).map(|gpu| on_gpus.gpu(gpu).cost.or(stated.gpu(gpu).cost));
        let all = std::iter::once(on_cpu.or(stated.cpu)).chain(gpus);
        all.map(|cost| cost.map(time)).collect()
    }

    fn transfer(&self, way: &str, gpu: &str, peak: Option<f64>) -> TransferTime {
        let seen = self.lookup(way, BLOCK as usize, &[gpu], 1);
        match seen.gpu(0).cost {
            Some(cost) => TransferTime {
                fixed_ns: cost.fixed_ns,
                per_byte_ns: cost.per_task_ns / BLOCK as f64,
            },
            None => TransferTime {
                fixed_ns: 0.0,
                per_byte_ns: peak.map_or(0.0, |rate| 1e9 / rate),
            },
        }
    }

    /// Learns what moving so many bytes took.
    pub(crate) fn moved(&self, way: Transfer, gpu: &str, bytes: u64, took: Duration) {
        let way = match way {
            Transfer::Up => UPLOAD,
            Transfer::Down => DOWNLOAD,
        };
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
