//! NVIDIA's GPUs through NVML, on a thread of its own: a driver that hangs hangs there.

use std::collections::BTreeSet;

use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;

use super::watched::Watched;
use super::{ClockLimit, GpuProcess, GpuReading, GpuState, Source};
use crate::hardware::{Fact, GpuLoad, nvml};

/// No GPU draws more, W; a driver that says so is not believed.
const MOST_WATTS: f64 = 10_000.0;

/// Readings of all of them; none where there is no NVML.
pub(super) type Answer = Option<Vec<GpuReading>>;

/// Starts the thread that asks NVML, which loads its library at the first question.
pub(super) fn watch() -> Option<Watched<Answer>> {
    let mut known = BTreeSet::new();
    Watched::start("breakeven-nvml", move || {
        let mut gpus = readings(nvml::nvml()?);
        for gpu in &gpus {
            if let (Some(pci), Some(name)) = (gpu.load.pci.known(), gpu.load.name.known()) {
                known.insert((pci.clone(), name.clone()));
            }
        }
        // A card that fell off the bus: NVML lists one less, or an error in its place.
        gpus.retain(|gpu| gpu.load.pci.is_known());
        for (pci, name) in &known {
            if !gpus.iter().any(|gpu| gpu.load.pci.known() == Some(pci)) {
                let mut gpu = GpuReading::new(Source::Nvml);
                gpu.load.pci = Fact::Known(pci.clone());
                gpu.load.name = Fact::Known(name.clone());
                gpu.state = GpuState::Lost;
                gpus.push(gpu);
            }
        }
        Some(gpus)
    })
}

fn readings(nvml: &Nvml) -> Vec<GpuReading> {
    let count = nvml.device_count().unwrap_or(0);
    (0..count)
        .filter_map(|index| nvml.device_by_index(index).ok())
        .map(|device| reading(&device))
        .collect()
}

fn reading(device: &Device<'_>) -> GpuReading {
    let load = nvml::load_of(device);
    let is_lost = matches!(device.power_usage(), Err(NvmlError::GpuLost));
    if is_lost {
        let mut gpu = GpuReading::new(Source::Nvml);
        gpu.load = GpuLoad {
            name: load.name,
            pci: load.pci,
            ..GpuLoad::default()
        };
        gpu.state = GpuState::Lost;
        return gpu;
    }
    let watts = |milliwatts: Result<u32, NvmlError>| {
        let watts = milliwatts
            .ok()
            .map(|milliwatts| f64::from(milliwatts) / 1e3);
        Fact::from(watts.filter(|watts| (0.0..MOST_WATTS).contains(watts)))
    };
    let hz = |mhz: Result<u32, NvmlError>| Fact::from(mhz.ok().map(|mhz| f64::from(mhz) * 1e6));
    let memory = device.utilization_rates().ok().map(|rates| rates.memory);
    let joules = device.total_energy_consumption().ok();
    GpuReading {
        memory_use: nvml::fraction(memory),
        power_watts: watts(device.power_usage()),
        power_limit_watts: watts(device.enforced_power_limit()),
        energy_joules: joules.map(|millijoules| millijoules as f64 / 1e3).into(),
        clock_hz: hz(device.clock_info(Clock::SM)),
        clock_max_hz: hz(device.max_clock_info(Clock::SM)),
        memory_clock_hz: hz(device.clock_info(Clock::Memory)),
        limits: device.current_throttle_reasons().ok().map(limits).into(),
        processes: processes(device).into(),
        load,
        ..GpuReading::new(Source::Nvml)
    }
}

/// The reasons as NVML gives them, by what a user can do about them.
fn limits(reasons: ThrottleReasons) -> Vec<ClockLimit> {
    use ThrottleReasons as R;
    let named = [
        (R::GPU_IDLE, ClockLimit::Idle),
        (R::APPLICATIONS_CLOCKS_SETTING, ClockLimit::Setting),
        (R::DISPLAY_CLOCK_SETTING, ClockLimit::Setting),
        (R::SW_POWER_CAP, ClockLimit::Power),
        (R::SW_THERMAL_SLOWDOWN, ClockLimit::Thermal),
        (R::HW_THERMAL_SLOWDOWN, ClockLimit::Thermal),
        (R::HW_SLOWDOWN, ClockLimit::Hardware),
        (R::HW_POWER_BRAKE_SLOWDOWN, ClockLimit::Hardware),
        (R::SYNC_BOOST, ClockLimit::Group),
    ];
    let mut limits: Vec<ClockLimit> = named
        .iter()
        .filter(|(reason, _)| reasons.contains(*reason))
        .map(|(_, limit)| *limit)
        .collect();
    limits.sort_unstable();
    limits.dedup();
    limits
}

/// The processes that compute or draw on it; none where the driver does not tell.
fn processes(device: &Device<'_>) -> Option<Vec<GpuProcess>> {
    let compute = device.running_compute_processes();
    let graphics = device.running_graphics_processes();
    if compute.is_err() && graphics.is_err() {
        return None;
    }
    let lists = [compute.unwrap_or_default(), graphics.unwrap_or_default()];
    let mut processes: Vec<GpuProcess> = Vec::new();
    for process in lists.into_iter().flatten() {
        // One that does both is in both lists, with the same memory.
        if processes.iter().all(|known| known.pid != process.pid) {
            let memory_bytes = match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Fact::Known(bytes),
                UsedGpuMemory::Unavailable => Fact::Unknown,
            };
            processes.push(GpuProcess {
                pid: process.pid,
                name: Fact::Unknown,
                memory_bytes,
            });
        }
    }
    Some(processes)
}
