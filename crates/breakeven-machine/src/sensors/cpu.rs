//! The processors: use, clocks, temperature, and whether they were slowed down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{ClockLimit, CoreReading, CpuReading};
use crate::Fact;
use crate::linux::{self, CpuTimes, entries, highest, hwmon, name, number, scaled, text};

/// Drivers whose temperatures are a processor's (the kernel's `Documentation/hwmon`).
const PROCESSORS: [&str; 5] = [
    "coretemp",
    "k10temp",
    "zenpower",
    "cpu_thermal",
    "soc_thermal",
];

/// What a reading needs of the one before.
#[derive(Debug, Default)]
pub(crate) struct CpuSensors {
    times: Option<(CpuTimes, BTreeMap<u32, CpuTimes>)>,
    throttled: Option<u64>,
}

impl CpuSensors {
    pub(crate) fn read(&mut self, root: &Path) -> CpuReading {
        let read = |file: &str| fs::read_to_string(root.join(file)).ok();
        let stat = read("proc/stat").unwrap_or_default();
        let (all, cores) = (linux::cpu_times(&stat), linux::core_times(&stat));
        let before = self.times.take();
        let used = |now: Option<CpuTimes>, then: Option<CpuTimes>| -> Fact<f64> {
            let pair = now.zip(then);
            pair.and_then(|(now, then)| now.use_since(then)).into()
        };
        let cpuinfo = read("proc/cpuinfo").unwrap_or_default();
        let clocks = info_clocks(&cpuinfo);
        let core = |(number, now): (&u32, &CpuTimes)| {
            let then = before.as_ref().and_then(|(_, cores)| cores.get(number));
            let clock_hz = clock(root, *number).or_else(|| clocks.get(number).copied());
            CoreReading {
                number: *number,
                used: used(Some(*now), then.copied()),
                clock_hz: clock_hz.into(),
            }
        };
        let meminfo = read("proc/meminfo").unwrap_or_default();
        let total = kib(&meminfo, "MemTotal:");
        let available = kib(&meminfo, "MemAvailable:");
        let logical = cores.len();
        let runnable = read("proc/loadavg").and_then(|text| linux::runnable(&text));
        let reading = CpuReading {
            used: used(all, before.as_ref().map(|(all, _)| *all)),
            cores: cores.iter().map(core).collect(),
            run_queue_per_core: runnable
                .filter(|_| logical > 0)
                .map(|threads| threads as f64 / logical as f64)
                .into(),
            pressure: read("proc/pressure/cpu")
                .and_then(|text| linux::pressure(&text))
                .into(),
            memory_used_bytes: total
                .zip(available)
                .map(|(total, available)| total.saturating_sub(available))
                .into(),
            memory_total_bytes: total.into(),
            temperature_celsius: temperature(root).into(),
            power_watts: Fact::Unknown,
            limits: self.limits(root).into(),
        };
        self.times = all.map(|all| (all, cores));
        reading
    }

    /// Whether a core was throttled for its heat since the previous reading, by the counters of
    /// Intel's thermal interrupts; none if there are none.
    fn limits(&mut self, root: &Path) -> Option<Vec<ClockLimit>> {
        let cpus = entries(root.join("sys/devices/system/cpu"));
        let counts = cpus.iter().flat_map(|cpu| {
            ["core_throttle_count", "package_throttle_count"]
                .map(|file| number::<u64>(cpu.join("thermal_throttle").join(file)))
        });
        let now = counts.flatten().fold(None, |sum: Option<u64>, count| {
            Some(sum.unwrap_or(0).saturating_add(count))
        });
        let before = std::mem::replace(&mut self.throttled, now)?;
        let is_hot = now? > before;
        Some(is_hot.then_some(ClockLimit::Thermal).into_iter().collect())
    }
}

/// The actual clock of a core by `cpufreq`, Hz, rather than the requested one, if the driver
/// reports it.
fn clock(root: &Path, core: u32) -> Option<f64> {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{core}/cpufreq"));
    let file = |file: &str| scaled(folder.join(file), 1e-3);
    file("cpuinfo_avg_freq").or_else(|| file("scaling_cur_freq"))
}

/// The lines `cpu MHz` of `/proc/cpuinfo`, Hz per core.
fn info_clocks(cpuinfo: &str) -> BTreeMap<u32, f64> {
    let mut clocks = BTreeMap::new();
    let mut core = None;
    for (key, value) in cpuinfo.lines().filter_map(|line| line.split_once(':')) {
        match (key.trim(), value.trim().parse::<f64>()) {
            ("processor", _) => core = value.trim().parse().ok(),
            ("cpu MHz", Ok(mhz)) if mhz.is_finite() => {
                clocks.extend(core.map(|core| (core, mhz * 1e6)));
            }
            _ => {}
        }
    }
    clocks
}

/// A line of `/proc/meminfo` (`MemTotal:  2048 kB`), bytes.
fn kib(meminfo: &str, key: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The hottest sensor of a processor, °C.
fn temperature(root: &Path) -> Option<f64> {
    let chips = hwmon(root.join("sys/class/hwmon"), |name| {
        PROCESSORS.contains(&name)
    });
    let hottest = |chip: &std::path::PathBuf| highest(chip, "temp", 1e3);
    let of_chips = chips.iter().filter_map(hottest).max_by(f64::total_cmp);
    // Boards without such a driver have thermal zones (the kernel's sysfs-api.rst).
    of_chips.or_else(|| {
        let mut zones = entries(root.join("sys/class/thermal"));
        zones.retain(|zone| {
            let kind = text(zone.join("type")).unwrap_or_default();
            name(zone).starts_with("thermal_zone")
                && (kind.contains("cpu") || kind == "x86_pkg_temp")
        });
        let temperatures = zones
            .iter()
            .filter_map(|zone| scaled(zone.join("temp"), 1e3));
        temperatures.max_by(f64::total_cmp)
    })
}
