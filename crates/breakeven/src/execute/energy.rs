//! Measures the energy of batches: the idle power of a manager's devices, measured once, and the
//! additional power during an operation.
//!
//! Counters are read between batches, at least ten of their resolutions apart: consecutive batches
//! of one operation are measured together. The energy above idle in that time, divided by the time
//! that the device worked, is its power during the operation. The CPU's time is that of its
//! workers, divided by their number. If the CPU has no share of such batches, its energy above idle
//! feeds the GPUs, and is attributed to them. Nothing is learned while batches overlap, or when
//! none ran for most of the time.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::counts::Counts;
use crate::error::{Error, ErrorKind};
use crate::hardware::sensors::{
    EnergyCounter, EnergyDomain, EnergyMeter, EnergyUnknown, IdlePower, joules_of, least_time,
};
use crate::hardware::{Fact, HardwareCapabilities};
use crate::locked;
use crate::plan::{Machine, OperationCosts, Power, RanOn};
use crate::store::Costs;

/// Least time between two readings if no counter states a resolution.
const LEAST: Duration = Duration::from_millis(10);

/// Fraction of a measured time that a device must have worked for its power to be known.
const LEAST_BUSY: f64 = 0.05;

/// A device of a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device<'d> {
    Cpu,
    /// By its name.
    Gpu(&'d str),
}

/// Energy measurements of a manager's devices.
#[derive(Debug)]
pub(super) struct DeviceEnergy {
    meter: Arc<EnergyMeter>,
    /// Idle power of each device.
    idle: IdlePower,
    /// Least time between two readings.
    least: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of running batches.
    running: usize,
    open: Option<Interval>,
}

/// Consecutive batches that are measured together.
#[derive(Debug)]
struct Interval {
    operation: String,
    memory_per_task: usize,
    began: Instant,
    counters: Vec<EnergyCounter>,
    last_end: Instant,
    /// Total time of its batches.
    took: Duration,
    cpu_busy: Duration,
    gpus_busy: Vec<(String, Duration)>,
    /// Batches overlapped.
    is_mixed: bool,
}

/// A batch that ended.
pub(super) struct Measured<'m> {
    pub(super) took: Duration,
    pub(super) counts: &'m Counts,
    pub(super) names: &'m [String],
    pub(super) workers: usize,
}

impl DeviceEnergy {
    /// Starts by measuring the idle power of the devices: for 0.2 s, or a second if a GPU's driver
    /// reports power.
    pub(super) fn start(meter: Arc<EnergyMeter>) -> Self {
        let counters = meter.read();
        let idle = meter.measure_idle();
        Self {
            least: least_time(&counters).unwrap_or(LEAST),
            idle,
            meter,
            state: Mutex::default(),
        }
    }

    /// Returns a device's idle power, W.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unmeasured`], with the reason and how to measure it.
    pub(super) fn idle_watts(
        &self,
        device: Device<'_>,
        hardware: &OnceLock<HardwareCapabilities>,
    ) -> Result<f64, Error> {
        let unknown = |why: &EnergyUnknown| {
            let who = match device {
                Device::Cpu => "the CPU",
                Device::Gpu(name) => name,
            };
            let what = format!(
                "the energy of {who} cannot be measured: {why}; or state its power \
                 (`watts` and `idle_watts`)"
            );
            Error::new(ErrorKind::Unmeasured, what)
        };
        let domain = self.domain(device, hardware);
        match domain.and_then(|domain| self.idle.of(&domain)) {
            Some(Ok(watts)) => Ok(*watts),
            Some(Err(why)) => Err(unknown(why)),
            None => Err(unknown(&EnergyUnknown::NoDriver)),
        }
    }

    /// Returns the counter of a device's energy; none for a GPU that no driver here reports.
    fn domain(
        &self,
        device: Device<'_>,
        hardware: &OnceLock<HardwareCapabilities>,
    ) -> Option<EnergyDomain> {
        let name = match device {
            Device::Cpu => return Some(EnergyDomain::Cpu),
            Device::Gpu(name) => name,
        };
        let is_cpu = |(domain, _): &(EnergyDomain, _)| *domain == EnergyDomain::Cpu;
        if self.idle.watts.iter().all(is_cpu) {
            return None;
        }
        let hardware = hardware.get_or_init(HardwareCapabilities::detect);
        let gpu = hardware.gpus.iter().find(|gpu| gpu.id.as_str() == name)?;
        let pci = gpu.pci.known()?.clone();
        Some(EnergyDomain::Gpu { pci })
    }

    /// Records the begin of a batch.
    pub(super) fn begins(&self, operation: &str, memory_per_task: usize) {
        let mut state = locked(&self.state);
        state.running += 1;
        let is_alone = state.running == 1;
        let goes_on = state.open.as_mut().is_some_and(|open| {
            open.is_mixed |= !is_alone;
            let is_same = open.operation == operation && open.memory_per_task == memory_per_task;
            !is_alone || is_same && open.last_end.elapsed() <= open.took
        });
        if !goes_on {
            let counters = self.meter.read();
            state.open = Some(Interval::new(operation, memory_per_task, counters));
        }
    }

    /// Records the end of a batch; none if it failed.
    pub(super) fn ended(
        &self,
        batch: Option<&Measured<'_>>,
        costs: Option<&Costs>,
        hardware: &OnceLock<HardwareCapabilities>,
    ) {
        let mut state = locked(&self.state);
        state.running -= 1;
        let is_alone = state.running == 0;
        let Some(open) = &mut state.open else { return };
        match batch {
            Some(batch) => open.add(batch),
            None => open.is_mixed = true,
        }
        if open.began.elapsed() < self.least {
            return;
        }
        let counters = self.meter.read();
        if !open.is_mixed
            && let Some(costs) = costs
        {
            self.learn(open, &counters, costs, hardware);
        }
        let mut next = Interval::new(&open.operation, open.memory_per_task, counters);
        next.is_mixed = !is_alone;
        state.open = Some(next);
    }

    /// Records each device's power during the operation in the cost model.
    fn learn(
        &self,
        open: &Interval,
        now: &[EnergyCounter],
        costs: &Costs,
        hardware: &OnceLock<HardwareCapabilities>,
    ) {
        let seconds = open.began.elapsed().as_secs_f64();
        if open.took.as_secs_f64() < 0.5 * seconds {
            return;
        }
        // Energy of a device above idle, J.
        let above = |device| {
            let domain = self.domain(device, hardware)?;
            let spent = joules_of(now, &domain)? - joules_of(&open.counters, &domain)?;
            let idle = self.idle.of(&domain)?.as_ref().ok()?;
            Some((spent - idle * seconds).max(0.0))
        };
        let note = |on, watts| {
            costs.change(|model| {
                model.note_watts(&open.operation, open.memory_per_task, on, watts);
            });
        };
        let worked = |busy: Duration| busy.as_secs_f64() >= LEAST_BUSY * seconds;
        let of_cpu = above(Device::Cpu);
        let cpu_works = worked(open.cpu_busy);
        if let (Some(joules), true) = (of_cpu, cpu_works) {
            note(RanOn::Cpu, joules / open.cpu_busy.as_secs_f64());
        }
        let all: f64 = (open.gpus_busy.iter())
            .map(|(_, busy)| busy.as_secs_f64())
            .sum();
        for (name, busy) in open.gpus_busy.iter().filter(|(_, busy)| worked(*busy)) {
            let busy = busy.as_secs_f64();
            let host = of_cpu.filter(|_| !cpu_works).unwrap_or(0.0) * busy / all;
            if let Some(joules) = above(Device::Gpu(name)) {
                note(RanOn::Gpu(name), (joules + host) / busy.min(seconds));
            }
        }
    }
}

/// Fills in the power of a machine's devices that is not stated: the measured idle power plus the
/// measured power of this operation. Returns the devices whose power during the operation is not
/// measured yet.
pub(super) fn fill<'l>(
    machine: &mut Machine,
    costs: &OperationCosts,
    hardware: &OnceLock<HardwareCapabilities>,
    energy_of: impl Fn() -> &'l DeviceEnergy,
) -> Result<Vec<String>, Error> {
    let mut unmeasured = Vec::new();
    let measured = |device, above: Option<f64>| {
        let idle_watts = energy_of().idle_watts(device, hardware)?;
        let power = above.map(|above| Power {
            busy_watts: idle_watts + above,
            idle_watts,
        });
        Ok::<_, Error>(Fact::from(power))
    };
    if machine.cpu_power.is_unknown() {
        machine.cpu_power = measured(Device::Cpu, costs.cpu_watts)?;
        unmeasured.extend((machine.cpu_power.is_unknown()).then(|| "the CPU".to_owned()));
    }
    for (index, gpu) in machine.gpus.iter_mut().enumerate() {
        if gpu.power.is_unknown() {
            gpu.power = measured(Device::Gpu(&gpu.name), costs.gpu(index).watts)?;
            unmeasured.extend((gpu.power.is_unknown()).then(|| gpu.name.clone()));
        }
    }
    Ok(unmeasured)
}

/// Fills in the power of this machine's devices. Their idle power is measured now, for 0.2 s, or a
/// second if a GPU's driver reports power; the additional power of the operation was measured when
/// it ran. Returns the devices whose power is not known yet.
///
/// # Errors
///
/// [`ErrorKind::Unmeasured`](crate::ErrorKind::Unmeasured) for a device whose energy no counter
/// reports, with the reason and the remedy.
pub fn measure_power(
    machine: &mut Machine,
    costs: &OperationCosts,
    hardware: &HardwareCapabilities,
) -> Result<Vec<String>, Error> {
    let energy = OnceLock::new();
    let start = || DeviceEnergy::start(Arc::new(EnergyMeter::start()));
    let hardware = OnceLock::from(hardware.clone());
    fill(machine, costs, &hardware, || energy.get_or_init(start))
}

impl Interval {
    fn new(operation: &str, memory_per_task: usize, counters: Vec<EnergyCounter>) -> Self {
        let began = Instant::now();
        Self {
            operation: operation.to_owned(),
            memory_per_task,
            began,
            counters,
            last_end: began,
            took: Duration::ZERO,
            cpu_busy: Duration::ZERO,
            gpus_busy: Vec::new(),
            is_mixed: false,
        }
    }

    fn add(&mut self, batch: &Measured<'_>) {
        self.last_end = Instant::now();
        self.took += batch.took;
        let workers = u32::try_from(batch.workers.max(1)).unwrap_or(u32::MAX);
        self.cpu_busy += (batch.counts.cpu.busy / workers).min(batch.took);
        for (share, name) in batch.counts.gpus.iter().zip(batch.names) {
            // Launches that overlap count once.
            let busy = share.busy.min(batch.took);
            match self.gpus_busy.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += busy,
                None => self.gpus_busy.push((name.clone(), busy)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Share;
    use std::{fs, thread};

    #[test]
    fn what_an_operation_draws_is_what_is_drawn_above_idle() {
        let root = tempfile::tempdir().unwrap();
        let zone = root.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&zone).unwrap();
        let write = |name: &str, text: String| fs::write(zone.join(name), text).unwrap();
        write("name", "package-0".to_owned());
        write("max_energy_range_uj", "262143328850".to_owned());
        write("energy_uj", "0".to_owned());
        let energy = DeviceEnergy {
            meter: Arc::new(EnergyMeter::of_files(root.path())),
            idle: IdlePower {
                watts: vec![(EnergyDomain::Cpu, Ok(10.0))],
                over: Duration::from_millis(200),
            },
            least: Duration::from_millis(1),
            state: Mutex::default(),
        };
        let costs = Costs::new();
        energy.begins("drawn", 8);
        let began = Instant::now();
        thread::sleep(Duration::from_millis(20));
        let took = began.elapsed();
        // 50 W above the idle 10 W for as long as two workers were busy for half the time.
        let joules = took.as_secs_f64() * (10.0 + 0.5 * 50.0);
        write("energy_uj", format!("{:.0}", joules * 1e6));
        let counts = Counts {
            cpu: Share {
                busy: took,
                ..Share::default()
            },
            ..Counts::default()
        };
        let batch = Measured {
            took,
            counts: &counts,
            names: &[],
            workers: 2,
        };
        energy.ended(Some(&batch), Some(&costs), &OnceLock::new());
        let watts = costs.lookup("drawn", 8, &[""; 0], 2).cpu_watts;
        let watts = watts.expect("it was measured");
        // The time until the batch ends is idle.
        assert!((30.0..=50.01).contains(&watts), "{watts}");
    }
}
