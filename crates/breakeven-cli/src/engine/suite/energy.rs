//! Measures the energy of an operation's calls.
//!
//! Counters advance every millisecond (RAPL) to every tenth of a second (a GPU's driver). Therefore
//! calls run back to back for at least ten such steps, separately from the samples, and share the
//! energy. The idle power of the devices is measured before the process's first call, while no GPU
//! is open.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use breakeven::hardware::sensors::{
    EnergyCounter, EnergyDomain, EnergyMeter, IdlePower, joules_of, least_time,
};
use breakeven::hardware::{GpuKind, HardwareCapabilities};
use breakeven_profile::profile::{CountedEnergy, Device, Energy};

/// The counters that measure an operation's energy, by device id: the device's own counter last.
/// Without that one the energy is unknown.
pub(crate) type Counted = BTreeMap<String, Vec<EnergyDomain>>;

/// Shortest time of back-to-back calls.
const LEAST: Duration = Duration::from_millis(200);

/// Opens the counters; loads a driver's library only if a card's counter is among them.
pub(crate) fn meter(counted: &Counted) -> EnergyMeter {
    let is_of_card = |domain: &EnergyDomain| matches!(domain, EnergyDomain::Gpu { .. });
    match counted.values().flatten().any(is_of_card) {
        true => EnergyMeter::start(),
        false => EnergyMeter::of_files(Path::new("/")),
    }
}

/// The counters of these devices. The processor's counter covers an integrated GPU and a software
/// GPU; for any other GPU, the processor's energy is added. A GPU without a known address has no
/// counter and is omitted.
pub(crate) fn counted(devices: &[String], hardware: &HardwareCapabilities) -> Counted {
    let of = |device: &String| {
        if device == Device::CPU {
            return Some(vec![EnergyDomain::Cpu]);
        }
        let mut gpus = hardware.gpus.iter();
        let gpu = gpus.find(|gpu| gpu.id.as_str() == device)?;
        if matches!(gpu.kind, GpuKind::Software | GpuKind::Integrated) {
            return Some(vec![EnergyDomain::Cpu]);
        }
        let pci = gpu.pci.known()?.clone();
        Some(vec![EnergyDomain::Cpu, EnergyDomain::Gpu { pci }])
    };
    let each = devices.iter();
    each.filter_map(|device| Some((device.clone(), of(device)?)))
        .collect()
}

/// Measures the energy of calls.
pub(crate) struct CallMeter {
    meter: EnergyMeter,
    idle: IdlePower,
    counted: Counted,
}

impl CallMeter {
    /// Measures the idle power of the devices; none, at once, if no device's own counter works.
    pub(crate) fn start(counted: &Counted) -> Option<Self> {
        Self::with(meter(counted), counted)
    }

    fn with(meter: EnergyMeter, counted: &Counted) -> Option<Self> {
        let counters = meter.read();
        let mut own = counted.values().filter_map(|domains| domains.last());
        own.any(|domain| joules_of(&counters, domain).is_some())
            .then(|| Self {
                idle: meter.measure_idle(),
                counted: counted.clone(),
                meter,
            })
    }

    /// Returns the energy of an operation on this device. `call` makes the given number of calls.
    /// An error says why a counter stopped reporting; none if a device's own counter never reported
    /// anything.
    pub(crate) fn of<E>(
        &self,
        device: &str,
        lot: u32,
        call: &mut dyn FnMut(u32) -> Result<f64, E>,
    ) -> Result<Option<Result<Energy, String>>, E> {
        let reported = |domain: &&EnergyDomain| matches!(self.idle.of(domain), Some(Ok(_)));
        let counted = self.counted.get(device).map_or(&[][..], Vec::as_slice);
        if !counted.last().is_some_and(|own| reported(&own)) {
            return Ok(None);
        }
        let domains: Vec<&EnergyDomain> = counted.iter().filter(reported).collect();
        let mut before = self.meter.read();
        before.retain(|counter| domains.contains(&&counter.domain));
        let least = least_time(&before).unwrap_or(LEAST).max(LEAST);
        let (began, mut calls) = (Instant::now(), 0);
        while began.elapsed() < least {
            call(lot)?;
            calls += u64::from(lot);
        }
        let (over, after) = (began.elapsed(), self.meter.read());
        let mut counters = Vec::new();
        for domain in domains {
            let now = after.iter().find(|now| now.domain == *domain);
            let (was, now) = match (joules_of(&before, domain), now) {
                (Some(was), Some(now)) => (was, now),
                _ => return Ok(Some(Err(gone(now)))),
            };
            let Ok(is) = now.joules else {
                return Ok(Some(Err(gone(Some(now)))));
            };
            let idle = self.idle.of(domain).and_then(|idle| idle.as_ref().ok());
            counters.push(CountedEnergy {
                of: match domain {
                    EnergyDomain::Cpu => Device::CPU.to_owned(),
                    EnergyDomain::Gpu { .. } => device.to_owned(),
                },
                how: now.method.name().to_owned(),
                covers: Some(now.covers.to_owned()),
                // No counter counts less than a microjoule.
                joules: ((is - was).max(0.0) * 1e6).round() / 1e6,
                idle_watts: idle.map(|watts| (watts * 1e3).round() / 1e3),
            });
        }
        let energy = Energy {
            calls,
            over_ns: over.as_nanos() as f64,
            idle_over_ns: Some(self.idle.over.as_nanos() as f64),
            counters,
        };
        let stood = format!("the counters did not move in {:.1} s", over.as_secs_f64());
        Ok(Some(match energy.joules_per_call() {
            Some(_) => Ok(energy),
            None => Err(stood),
        }))
    }
}

/// Why a counter that worked before reports nothing.
fn gone(now: Option<&EnergyCounter>) -> String {
    let why = now.and_then(|now| now.joules.as_ref().err());
    why.map_or_else(|| "its counter is gone".to_owned(), ToString::to_string)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::convert::Infallible;
    use std::fs;
    use std::thread;

    use super::*;

    const ZONE: &str = "sys/class/powercap/intel-rapl:0";

    /// A simulated processor whose counter has this value, µJ.
    fn processor(root: &Path, spent: u64) {
        let zone = root.join(ZONE);
        fs::create_dir_all(&zone).expect("a folder");
        for (name, text) in [
            ("name", "package-0".to_owned()),
            ("max_energy_range_uj", "1000000000".to_owned()),
            ("energy_uj", spent.to_string()),
        ] {
            fs::write(zone.join(name), text + "\n").expect("a file");
        }
    }

    /// Makes calls of 20 ms, each of which runs `each`, and returns their energy.
    fn reported(root: &Path, mut each: impl FnMut()) -> Option<Result<Energy, String>> {
        let counted = Counted::from([(Device::CPU.to_owned(), vec![EnergyDomain::Cpu])]);
        let meter = CallMeter::with(EnergyMeter::of_files(root), &counted)?;
        let mut call = |calls: u32| {
            assert_eq!(calls, 3, "as many at a time as make a sample");
            thread::sleep(Duration::from_millis(20));
            each();
            Ok::<_, Infallible>(0.0)
        };
        let Ok(reported) = meter.of(Device::CPU, 3, &mut call);
        if let Some(Err(why)) = &reported
            && why.contains(ZONE)
        {
            // A lost counter affects the operations that follow, too.
            let Ok(next) = meter.of(Device::CPU, 3, &mut call);
            assert_eq!(next, reported);
        }
        reported
    }

    #[test]
    fn calls_share_what_the_counter_reported_over_them_also_where_it_goes_round() {
        let root = tempfile::tempdir().expect("a folder");
        let mut spent = 999_000_000;
        processor(root.path(), spent);
        let energy = reported(root.path(), || {
            spent = (spent + 600_000) % 1_000_000_000;
            processor(root.path(), spent);
        });
        let energy = energy.expect("a counter").expect("it counted");
        let per_call = energy.joules_per_call().expect("it moved");
        assert!((per_call - 0.2).abs() < 1e-9, "{energy:?}");
        assert!(energy.over_ns >= 2e8 && energy.calls >= 3, "{energy:?}");
        let counter = &energy.counters[0];
        assert_eq!((&*counter.of, &*counter.how), ("cpu", "rapl"));
        assert_eq!(counter.covers.as_deref(), Some("packages"));
        assert_eq!(
            counter.idle_watts,
            Some(0.0),
            "it stood while nothing was called"
        );
    }

    #[test]
    fn a_counter_that_stands_still_or_goes_away_reports_why() {
        let root = tempfile::tempdir().expect("a folder");
        processor(root.path(), 5);
        let stood = reported(root.path(), || {})
            .expect("a counter")
            .unwrap_err();
        assert!(
            stood.starts_with("the counters did not move in 0.2"),
            "{stood}"
        );
        let file = root.path().join(ZONE).join("energy_uj");
        let gone = reported(root.path(), || {
            let _ = fs::remove_file(&file);
        });
        let gone = gone.expect("a counter").unwrap_err();
        assert!(gone.ends_with("energy_uj: it is not a number"), "{gone}");
    }

    #[test]
    fn where_nothing_counts_nobody_waits() {
        let root = tempfile::tempdir().expect("a folder");
        let start = Instant::now();
        assert_eq!(reported(root.path(), || {}), None);
        assert!(start.elapsed() < LEAST, "{:?}", start.elapsed());
    }
}
