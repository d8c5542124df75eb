//! The energy of an operation's calls.
//!
//! Counters move every millisecond (RAPL) to every tenth of a second (a GPU's driver), so
//! calls are made one after the other for ten such steps and more, apart from the samples,
//! and share what was drawn meanwhile. What the devices draw while nothing is called is
//! measured before the process's first call; a GPU is not open then.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use breakeven::hardware::sensors::{
    EnergyCounter, EnergyDomain, EnergyMeter, IdlePower, joules_of, least_time,
};
use breakeven::hardware::{GpuKind, HardwareCapabilities};
use breakeven_profile::profile::{CountedEnergy, Device, Energy};

/// Whose counters count the energy of an operation on a device, by the device's id: the
/// device's own counter last, without which there is no energy.
pub(crate) type Counted = BTreeMap<String, Vec<EnergyDomain>>;

/// For how long calls are made at the least.
const LEAST: Duration = Duration::from_millis(200);

/// Opens what counts these: no driver's library unless a card's counter is among them.
pub(crate) fn meter(counted: &Counted) -> EnergyMeter {
    let is_of_card = |domain: &EnergyDomain| matches!(domain, EnergyDomain::Gpu { .. });
    match counted.values().flatten().any(is_of_card) {
        true => EnergyMeter::start(),
        false => EnergyMeter::of_files(Path::new("/")),
    }
}

/// The counters of these devices. The energy of a GPU that is a part of the processor, or a
/// program on it, is the processor's; on any other one the processor feeds it. A GPU of
/// which no address is known has no counter, and is not among them; nor is any card where its
/// driver's library cannot be asked.
pub(crate) fn counted(
    devices: &[String],
    hardware: &HardwareCapabilities,
    cards_tell: bool,
) -> Counted {
    let of = |device: &String| {
        if device == Device::CPU {
            return Some(vec![EnergyDomain::Cpu]);
        }
        let mut gpus = hardware.gpus.iter();
        let gpu = gpus.find(|gpu| gpu.id.as_str() == device)?;
        if matches!(gpu.kind, GpuKind::Software | GpuKind::Integrated) {
            return Some(vec![EnergyDomain::Cpu]);
        }
        let pci = gpu.pci.known().filter(|_| cards_tell)?.clone();
        Some(vec![EnergyDomain::Cpu, EnergyDomain::Gpu { pci }])
    };
    let each = devices.iter();
    each.filter_map(|device| Some((device.clone(), of(device)?)))
        .collect()
}

/// Counts the energy of calls.
pub(crate) struct CallMeter {
    meter: EnergyMeter,
    idle: IdlePower,
    counted: Counted,
}

impl CallMeter {
    /// Measures what the devices draw while they wait; none where no device's own counter
    /// tells, and then at once.
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

    /// The energy of an operation on these devices, whose calls `call` makes, so many at a
    /// time; why it is not known, where a counter has stopped to tell; none where the own
    /// counter of one of the devices told nothing from the start.
    pub(crate) fn of<E>(
        &self,
        devices: &[&str],
        lot: u32,
        call: &mut dyn FnMut(u32) -> Result<f64, E>,
    ) -> Result<Option<Result<Energy, String>>, E> {
        let told = |domain: &&EnergyDomain| matches!(self.idle.of(domain), Some(Ok(_)));
        let mut domains: Vec<(&EnergyDomain, &str)> = Vec::new();
        for device in devices {
            let counted = self.counted.get(*device).map_or(&[][..], Vec::as_slice);
            if !counted.last().is_some_and(|own| told(&own)) {
                return Ok(None);
            }
            for domain in counted.iter().filter(told) {
                let of = match domain {
                    EnergyDomain::Cpu => Device::CPU,
                    EnergyDomain::Gpu { .. } => device,
                };
                if !domains.contains(&(domain, of)) {
                    domains.push((domain, of));
                }
            }
        }
        let mut before = self.meter.read();
        before.retain(|counter| domains.iter().any(|(domain, _)| **domain == counter.domain));
        let least = least_time(&before).unwrap_or(LEAST).max(LEAST);
        let (began, mut calls) = (Instant::now(), 0);
        while began.elapsed() < least {
            call(lot)?;
            calls += u64::from(lot);
        }
        let (over, after) = (began.elapsed(), self.meter.read());
        let mut counters = Vec::new();
        for (domain, of) in domains {
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
                of: of.to_owned(),
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

/// Why a counter tells nothing that told before.
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

    /// A processor that has spent so much, µJ.
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

    /// Calls of 20 ms, each of which does that to the counter, and what they took.
    fn told(root: &Path, mut each: impl FnMut()) -> Option<Result<Energy, String>> {
        let counted = Counted::from([(Device::CPU.to_owned(), vec![EnergyDomain::Cpu])]);
        let meter = CallMeter::with(EnergyMeter::of_files(root), &counted)?;
        let mut call = |calls: u32| {
            assert_eq!(calls, 3, "as many at a time as make a sample");
            thread::sleep(Duration::from_millis(20));
            each();
            Ok::<_, Infallible>(0.0)
        };
        let Ok(told) = meter.of(&[Device::CPU], 3, &mut call);
        if let Some(Err(why)) = &told
            && why.contains(ZONE)
        {
            // What told once is missed by the operations that follow, too.
            let Ok(next) = meter.of(&[Device::CPU], 3, &mut call);
            assert_eq!(next, told);
        }
        told
    }

    #[test]
    fn calls_share_what_the_counter_told_over_them_also_where_it_goes_round() {
        let root = tempfile::tempdir().expect("a folder");
        let mut spent = 999_000_000;
        processor(root.path(), spent);
        let energy = told(root.path(), || {
            spent = (spent + 600_000) % 1_000_000_000;
            processor(root.path(), spent);
        });
        let energy = energy.expect("a counter").expect("it told");
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
    fn a_counter_that_stands_still_or_goes_away_tells_why() {
        let root = tempfile::tempdir().expect("a folder");
        processor(root.path(), 5);
        let stood = told(root.path(), || {}).expect("a counter").unwrap_err();
        assert!(
            stood.starts_with("the counters did not move in 0.2"),
            "{stood}"
        );
        let file = root.path().join(ZONE).join("energy_uj");
        let gone = told(root.path(), || {
            let _ = fs::remove_file(&file);
        });
        let gone = gone.expect("a counter").unwrap_err();
        assert!(gone.ends_with("energy_uj: it is not a number"), "{gone}");
    }

    #[test]
    fn where_nothing_counts_nobody_waits() {
        let root = tempfile::tempdir().expect("a folder");
        let start = Instant::now();
        assert_eq!(told(root.path(), || {}), None);
        assert!(start.elapsed() < LEAST, "{:?}", start.elapsed());
    }
}
