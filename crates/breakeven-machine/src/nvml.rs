//! NVIDIA's GPUs through NVML, its management library: use, memory, temperature, power, clocks
//! and why they are limited, processes.
//!
//! The library is loaded at run time; without it there is nothing to report, and
//! that is no error. It stays loaded and initialised for the rest of the
//! process, as does the finding that it is not there. For the sensors it is asked on a thread
//! of its own: a driver that hangs hangs there.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::sensors::{ClockLimit, GpuProcess, GpuReading, GpuState, Source};

/// How busy one GPU is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuLoad {
    /// The device's name, as its driver gives it.
    pub name: Fact<String>,
    /// PCI address, `0000:01:00.0`; what a [`crate::GpuInfo`] is matched by.
    pub pci: Fact<String>,
    /// Share of the driver's last sampling period (1/6 s to 1 s) in which a
    /// kernel ran, 0 to 1. By whatever process; it says nothing of how many of
    /// the multiprocessors were busy.
    pub gpu_use: Fact<f64>,
    /// Memory held by any process and by the driver, in bytes.
    pub memory_used_bytes: Fact<u64>,
    /// Memory installed, in bytes.
    pub memory_total_bytes: Fact<u64>,
    /// Temperature of the die, in degrees Celsius.
    pub temperature_celsius: Fact<u32>,
}

/// The library, initialised on the first call.
fn nvml() -> Option<&'static Nvml> {
    static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
    NVML.get_or_init(|| Nvml::init().ok()).as_ref()
}

/// The load of every GPU that NVML sees; empty without NVML.
pub(crate) fn loads() -> Vec<GpuLoad> {
    // A count that cannot be read is a library that does not answer.
    let count = nvml().and_then(|nvml| nvml.device_count().ok());
    let load = |index| Some(load_of(&nvml()?.device_by_index(index).ok()?));
    let all = (0..count.unwrap_or(0)).map(|index| load(index).unwrap_or_default());
    all.collect()
}

/// The load of one device. A driver that says what cannot be is not believed.
fn load_of(device: &Device<'_>) -> GpuLoad {
    let memory = device.memory_info().ok().filter(|m| m.used <= m.total);
    let percent = device.utilization_rates().ok().map(|rates| rates.gpu);
    let pci = device.pci_info().ok();
    let celsius = device.temperature(TemperatureSensor::Gpu).ok();
    GpuLoad {
        name: device.name().ok().into(),
        // NVML does not report the function: a GPU is function 0 of its card.
        pci: pci
            .map(|pci| format!("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device))
            .into(),
        gpu_use: fraction(percent),
        memory_used_bytes: memory.as_ref().map(|m| m.used).into(),
        memory_total_bytes: memory.as_ref().map(|m| m.total).into(),
        temperature_celsius: celsius.filter(|&celsius| celsius < MOST_CELSIUS).into(),
    }
}

/// Silicon does not live at this temperature.
const MOST_CELSIUS: u32 = 200;

/// A share of a time that is given in percent.
fn fraction(percent: Option<u32>) -> Fact<f64> {
    let percent = percent.filter(|&percent| percent <= 100);
    percent.map(|percent| f64::from(percent) / 100.0).into()
}

/// The version of NVIDIA's kernel driver, such as `570.86.15`.
#[cfg(feature = "gpu")]
pub(crate) fn driver_version() -> Fact<String> {
    nvml()
        .and_then(|nvml| nvml.sys_driver_version().ok())
        .into()
}

/// No GPU draws more, W; a driver that says so is not believed.
const MOST_WATTS: f64 = 10_000.0;

/// Reads all GPUs; none without NVML. `known` has the names by the addresses of the GPUs observed
/// before.
fn readings(known: &mut BTreeMap<String, String>) -> Option<Vec<GpuReading>> {
    let nvml = nvml()?;
    let count = nvml.device_count().unwrap_or(0);
    let devices = (0..count).filter_map(|index| nvml.device_by_index(index).ok());
    let mut gpus: Vec<GpuReading> = devices.map(|device| reading(&device)).collect();
    // A card that fell off the bus: NVML lists one less, or an error in its place.
    gpus.retain(|gpu| gpu.load.pci.is_known());
    for gpu in &gpus {
        if let (Some(pci), Some(name)) = (gpu.load.pci.known(), gpu.load.name.known()) {
            known.insert(pci.clone(), name.clone());
        }
    }
    for (pci, name) in known {
        if !gpus.iter().any(|gpu| gpu.load.pci.known() == Some(pci)) {
            gpus.push(lost(Fact::Known(name.clone()), Fact::Known(pci.clone())));
        }
    }
    Some(gpus)
}

fn lost(name: Fact<String>, pci: Fact<String>) -> GpuReading {
    let load = GpuLoad {
        name,
        pci,
        ..GpuLoad::default()
    };
    GpuReading {
        load,
        state: GpuState::Lost,
        ..GpuReading::new(Source::Nvml)
    }
}

fn reading(device: &Device<'_>) -> GpuReading {
    let load = load_of(device);
    if matches!(device.power_usage(), Err(NvmlError::GpuLost)) {
        return lost(load.name, load.pci);
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
        memory_use: fraction(memory),
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
    let named = named.iter().filter(|(reason, _)| reasons.contains(*reason));
    let limits: BTreeSet<ClockLimit> = named.map(|(_, limit)| *limit).collect();
    limits.into_iter().collect()
}

/// Returns the processes that compute or draw on it; none if the driver does not report them.
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

/// NVML on a thread of its own: what it answered last, and whether it still answers.
#[derive(Debug)]
pub(crate) struct Watched {
    questions: SyncSender<()>,
    answers: Receiver<Option<Vec<GpuReading>>>,
    last: Vec<GpuReading>,
    /// When the question was asked that is not answered.
    asked: Option<Instant>,
}

impl Watched {
    /// Starts the thread, which loads the library at the first question.
    pub(crate) fn start() -> Option<Self> {
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let serve = move || {
            let mut known = BTreeMap::new();
            while asked.recv().is_ok() {
                // A panic of the library is silence.
                let latest = catch_unwind(AssertUnwindSafe(|| readings(&mut known)));
                if latest.map_or(true, |latest| answer.send(latest).is_err()) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("breakeven-nvml".to_owned());
        thread.spawn(serve).ok()?;
        Some(Self {
            questions,
            answers,
            last: Vec::new(),
            asked: None,
        })
    }

    /// Returns the GPUs. If NVML does not answer within `patience`: those of its last answer, and
    /// how long ago that was, s. None without NVML.
    pub(crate) fn ask(&mut self, patience: Duration) -> Option<(Vec<GpuReading>, Option<f64>)> {
        // An answer that came too late is outdated; a thread that hangs is not waited for again.
        if self.asked.is_none() || self.answers.try_recv().is_ok() {
            self.asked = Some(Instant::now());
            let sent = self.questions.try_send(()).ok();
            if let Some(latest) = sent.and_then(|()| self.answers.recv_timeout(patience).ok()) {
                self.asked = None;
                self.last = latest?;
                return Some((self.last.clone(), None));
            }
        }
        let seconds = self
            .asked
            .map_or(0.0, |asked| asked.elapsed().as_secs_f64());
        let mut gpus = self.last.clone();
        for gpu in &mut gpus {
            gpu.state = GpuState::Silent { seconds };
        }
        Some((gpus, Some(seconds)))
    }
}
