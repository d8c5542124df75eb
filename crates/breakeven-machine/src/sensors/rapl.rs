//! Energy counters of processors: the kernel's power-capping interface (RAPL, on Intel's
//! and AMD's processors; `Documentation/power/powercap/powercap.rst`), else `hwmon`'s
//! `amd_energy`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::EnergyUnknown;
use crate::Fact;
use crate::linux::{entries, hwmon, name, number, text};

/// Largest assumed power of a package, W: the sockets of 2025 are limited to 500 W. If a counter
/// could have wrapped more than once since the last reading, its value is unknown.
const MOST_WATTS: f64 = 1_000.0;

/// A counter of microjoules that goes round.
#[derive(Debug)]
struct Counter {
    file: PathBuf,
    /// The counter goes round behind this value, µJ.
    range: u64,
    last: Option<(u64, Instant)>,
}

impl Counter {
    /// Reads it: joules since it was read last; none in the first reading.
    fn spent(&mut self, now: Instant) -> Result<Option<f64>, EnergyUnknown> {
        let Some(value) = number::<u64>(&self.file) else {
            self.last = None;
            let path = self.file.clone();
            let why = "it is not a number".to_owned();
            return Err(EnergyUnknown::Unreadable { path, why });
        };
        let Some((last, at)) = self.last.replace((value, now)) else {
            return Ok(None);
        };
        if (now - at) > round_time(self.range) {
            let path = self.file.clone();
            return Err(EnergyUnknown::Rounds { path });
        }
        let passed = match value >= last {
            true => value - last,
            false => (self.range.saturating_sub(last)).saturating_add(value),
        };
        Ok(Some(passed as f64 / 1e6))
    }
}

/// The least time in which a counter of this range can go round.
fn round_time(range_uj: u64) -> Duration {
    Duration::from_secs_f64(range_uj as f64 / 1e6 / MOST_WATTS)
}

/// The counters of all packages and their memory.
#[derive(Debug)]
pub(crate) struct Rapl {
    /// Or why there is none.
    counters: Result<Vec<Counter>, EnergyUnknown>,
    /// One of them is the memory's.
    has_memory: bool,
}

impl Rapl {
    pub(crate) fn open(root: &Path) -> Self {
        let mut zones = entries(root.join("sys/class/powercap"));
        let kind = |zone: &PathBuf| text(zone.join("name")).unwrap_or_default();
        // Packages, and memory, which is not included in its package. `core` and `uncore` are
        // included; `psys` is the complete machine. The register (intel-rapl) and memory
        // (intel-rapl-mmio) show the same counters.
        zones.retain(|zone| {
            let is_counted = kind(zone).starts_with("package") || kind(zone) == "dram";
            name(zone).starts_with("intel-rapl:") && is_counted
        });
        let has_memory = zones.iter().any(|zone| kind(zone) == "dram");
        let counter = |file, range| Counter {
            file,
            range,
            last: None,
        };
        let of_zone = |zone: &PathBuf| {
            let range = number(zone.join("max_energy_range_uj"));
            counter(zone.join("energy_uj"), range.unwrap_or(u64::from(u32::MAX)))
        };
        let mut counters: Vec<Counter> = zones.iter().map(of_zone).collect();
        if counters.is_empty() {
            // The driver `amd_energy` counts on beyond its register's 32 bits.
            let sockets = amd_sockets(root).into_iter();
            counters = sockets.map(|file| counter(file, u64::MAX)).collect();
        }
        // All are read by the same users.
        let readable = match counters.first() {
            None => Err(EnergyUnknown::NoCounter),
            Some(Counter { file, .. }) => fs::read(file).map_err(|error| {
                let (path, why) = (file.clone(), error.to_string());
                match error.kind() {
                    ErrorKind::PermissionDenied => EnergyUnknown::Permission { path },
                    _ => EnergyUnknown::Unreadable { path, why },
                }
            }),
        };
        Self {
            counters: readable.map(|_| counters),
            has_memory,
        }
    }

    /// What is counted, in words.
    pub(crate) fn covers(&self) -> &'static str {
        match self.has_memory {
            true => "packages and memory",
            false => "packages",
        }
    }

    /// Whether energy is known here.
    pub(crate) fn check(&self) -> Result<(), EnergyUnknown> {
        self.counters.as_ref().map(drop).map_err(Clone::clone)
    }

    /// The longest time between two readings in which no counter can go round twice.
    pub(crate) fn round_time(&self) -> Duration {
        let ranges = self.counters.iter().flatten().map(|counter| counter.range);
        round_time(ranges.min().unwrap_or(u64::MAX))
    }

    /// Joules of all packages since the previous reading; none in the first.
    ///
    /// # Errors
    ///
    /// Why that is not known.
    pub(crate) fn spent(&mut self, now: Instant) -> Result<Option<f64>, EnergyUnknown> {
        let counters = self.counters.as_mut().map_err(|why| why.clone())?;
        // Every counter is read, also behind one that fails.
        let spent: Vec<_> = counters.iter_mut().map(|one| one.spent(now)).collect();
        spent.into_iter().sum()
    }

    /// Mean power since the previous reading, W.
    pub(crate) fn power_watts(&mut self, now: Instant, interval: Option<Duration>) -> Fact<f64> {
        let spent = self.spent(now).ok().flatten();
        let seconds = interval.map(|interval| interval.as_secs_f64());
        let rate = spent.zip(seconds.filter(|&seconds| seconds > 0.0));
        rate.map(|(joules, seconds)| joules / seconds).into()
    }
}

/// The counters of sockets (label `Esocket0`) of `amd_energy`.
fn amd_sockets(root: &Path) -> Vec<PathBuf> {
    let chips = hwmon(root.join("sys/class/hwmon"), |name| name == "amd_energy");
    let socket = |label: PathBuf| {
        let number = name(&label)
            .strip_prefix("energy")?
            .strip_suffix("_label")?;
        let input = label.with_file_name(format!("energy{number}_input"));
        text(&label)?.starts_with("Esocket").then_some(input)
    };
    chips.iter().flat_map(entries).filter_map(socket).collect()
}
