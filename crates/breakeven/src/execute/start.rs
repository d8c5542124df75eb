//! How a batch begins: what is decided, and whether its device may be used.

use std::time::Instant;

use super::driver::caught;
use super::executor::{CpuExecutor, GpuExecutor};
use super::quarantine::{self, Standing, Trial};
use super::run::Asked;
use super::schedule::Mode;
use super::terms::mode_of;
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::hardware::Fact;
use crate::plan::{Decision, ExecutionStrategy, GpuSpec, Machine, OperationCosts, decide_for};
use crate::workload::WorkloadProfile;

/// The device of a batch.
pub(super) struct Device {
    /// Its name in profiles and in the cost model.
    pub(super) name: Option<String>,
    /// What it goes by in quarantine.
    pub(super) key: String,
    pub(super) launch_ns: Option<f64>,
    /// Most tasks whose memory it has.
    pub(super) fits: usize,
    /// Launches that may be in flight at once.
    pub(super) depth: usize,
}

/// How a batch begins.
pub(super) struct Start {
    pub(super) decision: Decision,
    pub(super) costs: OperationCosts,
    pub(super) device: Device,
    /// What kept the device from being used.
    pub(super) refused: Option<DeviceError>,
    /// Trials of the device, until the batch has ended.
    pub(super) trials: Vec<Trial>,
}

/// What a device says of itself.
struct Told<'g> {
    spec: Option<&'g GpuSpec>,
    memory_used: Fact<u64>,
    depth: usize,
}

impl<C: CpuExecutor, G, V> Asked<'_, C, G, V> {
    /// Decides, and asks whether the device may be used.
    pub(super) fn start<I, T>(
        &self,
        workload: &WorkloadProfile,
        tasks: &[I],
    ) -> Result<Start, Error>
    where
        G: GpuExecutor<I, T>,
    {
        let manager = self.manager;
        let gpu = manager.gpu.as_deref();
        let (strategy, basis) = manager.asked()?;
        let mut refused = None;
        let told = gpu.and_then(|gpu| {
            let told = caught(|| {
                Ok(Told {
                    spec: gpu.device(),
                    memory_used: manager.memory_used(gpu),
                    depth: gpu.depth().max(1),
                })
            });
            told.map_err(|error| refused = Some(error)).ok()
        });
        let spec = told.as_ref().and_then(|told| told.spec);
        let memory_used = told.as_ref().map_or(Fact::Unknown, |told| told.memory_used);
        let mut machine = manager.machine(spec, memory_used);
        if let Some(spec) = spec {
            manager.saw_device(spec);
        }
        if let Some(spec) = spec.or(manager.described()) {
            manager.declare_driver(spec);
        }
        let name = gpu.map(|_| manager.device_name(spec).to_owned());
        let costs = match manager.learns() {
            false => OperationCosts::default(),
            true => manager.costs().lookup(
                self.operation,
                workload.memory_per_task,
                name.as_deref(),
                manager.cpu.workers(),
            ),
        };
        let decide = |machine: &Machine| {
            let heuristics = &manager.heuristics;
            decide_for(strategy, basis, workload, machine, heuristics, &costs)
        };
        let mut decision = decide(&machine)?;
        let mut device = Device {
            key: manager.quarantine_key(spec).to_owned(),
            name,
            launch_ns: None,
            fits: usize::MAX,
            depth: told.as_ref().map_or(1, |told| told.depth),
        };
        let mut trials = Vec::new();
        let (mode, _) = mode_of(&decision, &costs, tasks.len());
        match gpu.filter(|_| refused.is_none()) {
            _ if mode == Mode::Cpu => {}
            None => {
                refused.get_or_insert_with(no_gpu);
            }
            Some(gpu) => {
                let known = spec.or(manager.described());
                device.launch_ns = known
                    .and_then(|spec| spec.launch.get())
                    .map(|time| time.as_nanos() as f64)
                    .or(costs.launch_ns);
                match caught(|| Ok(gpu.batch_bytes(tasks))) {
                    Ok(bytes) => {
                        let task = bytes.map_or(workload.memory_per_task as u64, |bytes| {
                            bytes.div_ceil(tasks.len() as u64)
                        });
                        device.fits = fits(&machine, &device, task, costs.fits);
                    }
                    Err(error) => refused = Some(error),
                }
                let keys = [
                    device.key.clone(),
                    operation_key(&device.key, self.operation),
                ];
                let now = Instant::now();
                for key in &keys {
                    match quarantine::standing(key, now) {
                        Standing::Good => {}
                        Standing::OnProbation => trials.push(Trial::of(key)),
                        Standing::Until(until) => refused = Some(left_alone(key, until, now)),
                    }
                }
            }
        }
        if refused.is_some() {
            trials.clear();
            if strategy == ExecutionStrategy::Auto {
                machine.gpus.clear();
                decision = decide(&machine)?;
            }
        }
        Ok(Start {
            decision,
            costs,
            device,
            refused,
            trials,
        })
    }
}

/// Most tasks in a launch, each of so many bytes: as many as fit the free memory
/// with all launches in flight, or as were seen to fit.
fn fits(machine: &Machine, device: &Device, task_bytes: u64, seen: Option<u64>) -> usize {
    let free = machine.gpu().and_then(|gpu| gpu.free_bytes());
    let at_once = free.map(|free| free / device.depth as u64 / task_bytes.max(1));
    let fits = [at_once, seen].into_iter().flatten().min();
    fits.map_or(usize::MAX, |fits| {
        usize::try_from(fits).unwrap_or(usize::MAX)
    })
}

/// What an operation on a device goes by in quarantine.
pub(super) fn operation_key(device: &str, operation: &str) -> String {
    format!("{device}: {operation}")
}

fn no_gpu() -> DeviceError {
    DeviceError::new(
        DeviceErrorKind::Unavailable { until: None },
        "there is no GPU: `StrategyManager::new` takes one",
    )
}

fn left_alone(key: &str, until: Instant, now: Instant) -> DeviceError {
    let left = until.saturating_duration_since(now);
    DeviceError::new(
        DeviceErrorKind::Unavailable { until: Some(until) },
        format!("{key} failed lately and is left alone for another {left:.1?}"),
    )
}
