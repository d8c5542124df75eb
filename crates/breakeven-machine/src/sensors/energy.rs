//! Joules per device: counted since a meter was started, drawn while a program waits, and why
//! they are not known.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::rapl::Rapl;
use super::{GpuReading, GpuState, Sensors};
use crate::Fact;

/// How often power is read if a device has no energy counter.
const POWER_EVERY: Duration = Duration::from_millis(100);

/// Power that was not read for this long says nothing about the energy in between.
const LONGEST_GAP: Duration = Duration::from_secs(2);

/// What an energy counter counts for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergyDomain {
    /// All packages of the machine and their memory, whatever runs on them.
    Cpu,
    /// The GPU at this PCI address, whatever runs on it.
    Gpu {
        /// As in [`crate::GpuInfo::pci`].
        pci: String,
    },
}

/// How joules were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergyMethod {
    /// Counters of the packages (RAPL), which move every millisecond.
    Rapl,
    /// The driver's counter: NVML's, or that of Intel's discrete GPUs.
    Counter,
    /// Power, read every 100 ms and summed up over time. Shorter peaks are missed.
    Power,
}

impl EnergyMethod {
    /// The time below which a difference of two readings is mostly rounding.
    ///
    /// RAPL moves about every millisecond (Intel SDM, volume 3, 15.10.1); the power behind
    /// NVML's counter is renewed every 20 to 100 ms (Yang, Adamek and Armour, "Part-time
    /// Power Measurements", SC 2024).
    pub fn resolution(self) -> Duration {
        match self {
            EnergyMethod::Rapl => Duration::from_millis(1),
            EnergyMethod::Counter | EnergyMethod::Power => Duration::from_millis(100),
        }
    }

    /// In a word, as profiles name it: `rapl`, `driver` or `power`.
    pub fn name(self) -> &'static str {
        match self {
            EnergyMethod::Rapl => "rapl",
            EnergyMethod::Counter => "driver",
            EnergyMethod::Power => "power",
        }
    }
}

impl fmt::Display for EnergyMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            EnergyMethod::Rapl => "RAPL",
            EnergyMethod::Counter => "the driver's counter",
            EnergyMethod::Power => "power read every 100 ms",
        })
    }
}

/// The energy of one device since its meter was started.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyCounter {
    /// Whose.
    pub domain: EnergyDomain,
    /// Joules since [`EnergyMeter::start`], or why they are not known. A counter that failed once
    /// is unknown from then on, because some of its energy is missing.
    pub joules: Result<f64, EnergyUnknown>,
    /// How they were measured.
    pub method: EnergyMethod,
    /// What is in them, in words: `packages`, `packages and memory`, `card`.
    pub covers: &'static str,
}

/// Counts the joules of the processors and of every GPU that reports energy or power.
///
/// The figures are a device's, not a process's: what else ran there is in them. A thread
/// reads the counters often enough that none goes round unseen; it ends with the meter.
#[derive(Debug)]
pub struct EnergyMeter {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    sensors: Sensors,
    rapl: Rapl,
    cpu: EnergyCounter,
    gpus: Vec<Gpu>,
}

/// What is known of one GPU.
#[derive(Debug)]
struct Gpu {
    counter: EnergyCounter,
    /// The driver's counter, J, or the power, W, when it was read last.
    last: (f64, Instant),
}

impl EnergyMeter {
    /// Starts to count at zero. Never fails: a device without a counter says why in
    /// [`EnergyMeter::read`].
    pub fn start() -> Self {
        Self::with(Sensors::open(), Path::new("/"))
    }

    /// The counters below `root` alone, without any driver library.
    pub fn of_files(root: &Path) -> Self {
        Self::with(Sensors::of_files(root), root)
    }

    pub(crate) fn with(sensors: Sensors, root: &Path) -> Self {
        let rapl = Rapl::open(root);
        let cpu = EnergyCounter {
            domain: EnergyDomain::Cpu,
            joules: rapl.check().map(|()| 0.0),
            method: EnergyMethod::Rapl,
            covers: rapl.covers(),
        };
        let mut state = State {
            sensors,
            rapl,
            cpu,
            gpus: Vec::new(),
        };
        state.read();
        let every = state.every();
        let state = Arc::new(Mutex::new(state));
        if let Some(every) = every {
            let weak = Arc::downgrade(&state);
            // Without it long pauses between readings are reported as errors.
            let _ = thread::Builder::new()
                .name("breakeven-energy".to_owned())
                .spawn(move || keep_reading(&weak, every));
        }
        Self { state }
    }

    /// The joules of every device since the start, the processors' first.
    pub fn read(&self) -> Vec<EnergyCounter> {
        let mut state = lock(&self.state);
        state.read();
        let gpus = state.gpus.iter().map(|gpu| gpu.counter.clone());
        std::iter::once(state.cpu.clone()).chain(gpus).collect()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep_reading(state: &Weak<Mutex<State>>, every: Duration) {
    loop {
        // Short enough that a program's end does not wait for it.
        thread::sleep(every.min(Duration::from_secs(1)));
        match state.upgrade() {
            Some(state) => lock(&state).read(),
            None => return,
        }
    }
}

impl State {
    /// How often counters have to be read, if ever.
    fn every(&self) -> Option<Duration> {
        let mut gpus = self.gpus.iter();
        let sums_power = gpus.any(|gpu| gpu.counter.method == EnergyMethod::Power);
        match (sums_power, &self.cpu.joules) {
            (true, _) => Some(POWER_EVERY),
            (false, Ok(_)) => Some(self.rapl.round_time() / 2),
            (false, Err(_)) => None,
        }
    }

    fn read(&mut self) {
        if let Ok(sum) = &mut self.cpu.joules {
            match self.rapl.spent(Instant::now()) {
                Ok(spent) => *sum += spent.unwrap_or(0.0),
                Err(error) => self.cpu.joules = Err(error),
            }
        }
        for reading in self.sensors.read_gpus(Instant::now()).0 {
            let Fact::Known(pci) = reading.load.pci.clone() else {
                continue;
            };
            let (domain, now) = (EnergyDomain::Gpu { pci: pci.clone() }, Instant::now());
            let known = self
                .gpus
                .iter_mut()
                .find(|gpu| gpu.counter.domain == domain);
            match known {
                Some(gpu) => gpu.add(pci, &reading, now),
                None => self.gpus.push(Gpu::new(pci, &reading, now)),
            }
        }
    }
}

/// The reading's energy: a counter, J, or the power, W.
fn reported(reading: &GpuReading) -> Option<(EnergyMethod, f64)> {
    let counter = reading.energy_joules.get();
    let counter = counter.map(|joules| (EnergyMethod::Counter, joules));
    counter.or_else(|| Some((EnergyMethod::Power, reading.power_watts.get()?)))
}

impl Gpu {
    fn new(pci: String, reading: &GpuReading, now: Instant) -> Self {
        let domain = EnergyDomain::Gpu { pci: pci.clone() };
        let reported = reported(reading);
        let (method, value) = reported.unwrap_or((EnergyMethod::Power, 0.0));
        let counter = EnergyCounter {
            domain,
            joules: reported
                .map(|_| 0.0)
                .ok_or(EnergyUnknown::Unreported { pci }),
            method,
            covers: "card",
        };
        let last = (value, now);
        Self { counter, last }
    }

    fn add(&mut self, pci: String, reading: &GpuReading, now: Instant) {
        let counts = self.counter.method != EnergyMethod::Power;
        let Ok(sum) = &mut self.counter.joules else {
            return;
        };
        let (last, at) = self.last;
        let passed = now - at;
        let reported = reported(reading).filter(|(method, _)| *method == self.counter.method);
        let spent = match (reading.state, reported) {
            (GpuState::Current, Some((_, value))) => {
                self.last = (value, now);
                match counts {
                    // A counter that steps back is a driver that was loaded anew.
                    true => Some(value - last).filter(|joules| *joules >= 0.0),
                    // The trapezoidal rule.
                    false => Some((value + last) / 2.0 * passed.as_secs_f64())
                        .filter(|_| passed <= LONGEST_GAP),
                }
            }
            // A counter counts on, whether or not it can be read just now.
            (GpuState::Silent { .. }, _) if counts => return,
            _ => None,
        };
        match spent {
            Some(joules) => *sum += joules,
            None => self.counter.joules = Err(EnergyUnknown::Silent { pci }),
        }
    }
}

/// How many times the resolution of its counters a measured time lasts, so that rounding is
/// at most a tenth of it.
const READINGS: u32 = 10;

/// For how long idle power is measured at the least: what else runs comes in bursts.
const LEAST_IDLE: Duration = Duration::from_millis(200);

/// What each device drew while this program waited.
#[derive(Debug, Clone, PartialEq)]
pub struct IdlePower {
    /// Per device, W, or why that is not known.
    pub watts: Vec<(EnergyDomain, Result<f64, EnergyUnknown>)>,
    /// The measured time; zero if no device reports energy.
    pub over: Duration,
}

impl IdlePower {
    /// Returns a device's power, W, or why it is not known; none if nothing counts it.
    pub fn of(&self, domain: &EnergyDomain) -> Option<&Result<f64, EnergyUnknown>> {
        let found = self.watts.iter().find(|(known, _)| known == domain);
        found.map(|(_, watts)| watts)
    }
}

/// Returns the least time between two readings for which their difference is mostly real
/// consumption: 10 ms for the processors alone, one second if a GPU's driver reports power. None
/// without a counter.
pub fn least_time<'c>(counters: impl IntoIterator<Item = &'c EnergyCounter>) -> Option<Duration> {
    let known = (counters.into_iter()).filter(|counter| counter.joules.is_ok());
    let resolution = known.map(|counter| counter.method.resolution()).max();
    resolution.map(|resolution: Duration| READINGS * resolution)
}

impl EnergyMeter {
    /// Measures the power of each device for 0.2 s, for a second if a GPU's driver reports power,
    /// or not at all if nothing does.
    pub fn measure_idle(&self) -> IdlePower {
        let (before, began) = (self.read(), Instant::now());
        let least = least_time(&before);
        if let Some(least) = least {
            thread::sleep(least.max(LEAST_IDLE));
        }
        let over = least.map_or(Duration::ZERO, |_| began.elapsed());
        let watts = self.read().into_iter().map(|counter| {
            let at_first = joules_of(&before, &counter.domain).unwrap_or(0.0);
            let joules = counter.joules.map(|joules| (joules - at_first).max(0.0));
            (
                counter.domain,
                joules.map(|joules| joules / over.as_secs_f64().max(1e-9)),
            )
        });
        let watts = watts.collect();
        IdlePower { watts, over }
    }
}

/// Returns the joules of a device by these counters, if they are known.
pub fn joules_of(counters: &[EnergyCounter], domain: &EnergyDomain) -> Option<f64> {
    let counter = counters.iter().find(|counter| counter.domain == *domain)?;
    counter.joules.as_ref().ok().copied()
}

/// Why energy is not known, and what would make it so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnergyUnknown {
    /// The machine has no counter that the system shows.
    #[error(
        "no energy counter of the processor: neither /sys/class/powercap/intel-rapl:* nor amd_energy \
         is there (load the module intel_rapl_msr; virtual machines have none)"
    )]
    NoCounter,
    /// Only the administrator may read it.
    #[error(
        "{path}: permission denied; allow it with `sudo chmod a+r {path}` (until the next start)",
        path = path.display()
    )]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// The counter cannot be read.
    #[error("{path}: {why}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The counter may have gone round more than once between two readings.
    #[error("{path}: was not read for so long that it may have gone round twice", path = path.display())]
    Rounds {
        /// The file.
        path: PathBuf,
    },
    /// No driver here reports the GPU.
    #[error("nothing counts it here (NVML does for NVIDIA's GPUs, sysfs for AMD's and Intel's)")]
    NoDriver,
    /// The GPU's driver reports neither energy nor power.
    #[error("the driver of the GPU at {pci} reports neither its energy nor its power")]
    Unreported {
        /// Its address.
        pci: String,
    },
    /// The GPU's driver stopped to answer.
    #[error("the driver of the GPU at {pci} does not answer")]
    Silent {
        /// Its address.
        pci: String,
    },
}
