//! AMD's and Intel's GPUs, as their kernel drivers show them in `sysfs`
//! (`Documentation/gpu/amdgpu/thermal.rst`, `ABI/testing/sysfs-driver-intel-i915-hwmon`,
//! `sysfs-driver-intel-xe-hwmon`), and the processes that use them: the lines `drm-…` in
//! `/proc/<pid>/fdinfo` (`Documentation/gpu/drm-usage-stats.rst`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{ClockLimit, GpuProcess, GpuReading, GpuState, Source};
use crate::Fact;
use crate::linux::{entries, highest, hwmon, name, number, scaled, text};

/// One card.
#[derive(Debug)]
pub(crate) struct Card {
    /// `/sys/class/drm/card0`.
    drm: PathBuf,
    source: Source,
    pci: Option<String>,
    name: Option<String>,
    /// Microjoules when they were read last, for power.
    energy: Option<(f64, Instant)>,
}

/// The cards whose driver is read here. NVIDIA's are NVML's.
pub(crate) fn cards(root: &Path) -> Vec<Card> {
    let mut drm = entries(root.join("sys/class/drm"));
    // `card0-DP-1` is a connector.
    drm.retain(|path| {
        let number = name(path).strip_prefix("card");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    drm.into_iter().filter_map(card).collect()
}

fn card(drm: PathBuf) -> Option<Card> {
    let uevent = fs::read_to_string(drm.join("device/uevent")).ok()?;
    let value = |key: &str| {
        let mut lines = uevent.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let source = match value("DRIVER")? {
        "amdgpu" => Source::Amdgpu,
        "i915" => Source::I915,
        "xe" => Source::Xe,
        _ => return None,
    };
    let product = text(drm.join("device/product_name")).filter(|name| !name.is_empty());
    let numbers = value("PCI_ID").map(|id| format!("{} {id}", source.name()));
    Some(Card {
        source,
        pci: value("PCI_SLOT_NAME").map(str::to_owned),
        name: product.or(numbers),
        drm,
        energy: None,
    })
}

impl Card {
    pub(crate) fn read(&mut self, now: Instant) -> GpuReading {
        let mut gpu = GpuReading::new(self.source);
        gpu.load.name = self.name.clone().into();
        gpu.load.pci = self.pci.clone().into();
        let device = self.drm.join("device");
        if !device.join("uevent").exists() {
            gpu.state = GpuState::Lost;
            return gpu;
        }
        let sensors = hwmon(device.join("hwmon"), |_| true);
        let sensors = sensors.first().map_or(Path::new(""), PathBuf::as_path);
        // Below zero only a sensor that is not there is.
        let celsius = highest(sensors, "temp", 1e3);
        let celsius = celsius.filter(|celsius| (0.0..200.0).contains(celsius));
        #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
        let whole = celsius.map(|celsius| celsius.round() as u32);
        gpu.load.temperature_celsius = whole.into();
        let watts = |file: &str| scaled(sensors.join(file), 1e6);
        gpu.power_watts = watts("power1_average")
            .or_else(|| watts("power1_input"))
            .into();
        gpu.power_limit_watts = watts("power1_cap").or_else(|| watts("power1_max")).into();
        match self.source {
            Source::Amdgpu => amd(&mut gpu, &device, sensors),
            _ => self.intel(&mut gpu, sensors, now),
        }
        gpu
    }

    fn intel(&mut self, gpu: &mut GpuReading, sensors: &Path, now: Instant) {
        let joules = scaled(sensors.join("energy1_input"), 1e6);
        gpu.energy_joules = joules.into();
        let before = joules.and_then(|joules| self.energy.replace((joules, now)));
        if let (Some(joules), Some((then, at))) = (joules, before) {
            let (joules, seconds) = (joules - then, (now - at).as_secs_f64());
            if joules >= 0.0 && seconds > 0.0 {
                gpu.power_watts = Fact::Known(joules / seconds);
            }
        }
        let (folder, now, most, reasons) = match self.source {
            Source::I915 => ("gt/gt0", "rps_act_freq_mhz", "rps_max_freq_mhz", ""),
            _ => ("device/tile0/gt0/freq0", "act_freq", "max_freq", "throttle"),
        };
        let folder = self.drm.join(folder);
        // An Intel GPU that rests has a clock of 0.
        gpu.clock_hz = scaled(folder.join(now), 1e-6).into();
        gpu.clock_max_hz = scaled(folder.join(most), 1e-6).into();
        gpu.limits = intel_limits(&folder.join(reasons)).into();
    }
}

fn amd(gpu: &mut GpuReading, device: &Path, sensors: &Path) {
    let percent = |file: &str| {
        let percent = number::<u32>(device.join(file)).filter(|&percent| percent <= 100);
        Fact::from(percent.map(|percent| f64::from(percent) / 100.0))
    };
    gpu.load.gpu_use = percent("gpu_busy_percent");
    gpu.memory_use = percent("mem_busy_percent");
    gpu.load.memory_used_bytes = number(device.join("mem_info_vram_used")).into();
    gpu.load.memory_total_bytes = number(device.join("mem_info_vram_total")).into();
    gpu.clock_hz = scaled(sensors.join("freq1_input"), 1.0).into();
    gpu.memory_clock_hz = scaled(sensors.join("freq2_input"), 1.0).into();
    let levels = text(device.join("pp_dpm_sclk")).unwrap_or_default();
    gpu.clock_max_hz = levels
        .lines()
        .filter_map(level_hz)
        .max_by(f64::total_cmp)
        .into();
    let metrics = fs::read(device.join("gpu_metrics")).ok();
    gpu.limits = metrics.as_deref().and_then(amd_limits).into();
}

/// A level of `pp_dpm_sclk`: `1: 1725Mhz *`.
fn level_hz(line: &str) -> Option<f64> {
    let (_, level) = line.split_once(':')?;
    let level = level.trim_matches([' ', '*']).to_ascii_lowercase();
    let mhz: f64 = level.strip_suffix("mhz")?.parse().ok()?;
    mhz.is_finite().then_some(mhz * 1e6)
}

/// Reads the limits from `gpu_metrics`. Its first four bytes are its length and version (`struct
/// metrics_table_header`, `drivers/gpu/drm/amd/include/kgd_pp_interface.h`). Versions 1.1 to 1.3
/// (cards) have a word of reasons that depend on the chip, and 1.3 one that does not; other
/// versions have no reasons.
fn amd_limits(metrics: &[u8]) -> Option<Vec<ClockLimit>> {
    // Behind the fields of 1.2 and the firmware's time stamp, the voltages and their
    // padding of 1.3.
    const INDEPENDENT_STATUS: usize = 112;
    if metrics.get(2..4)? != [1, 3] {
        return None;
    }
    let word = metrics.get(INDEPENDENT_STATUS..INDEPENDENT_STATUS + 8)?;
    let status = u64::from_le_bytes(word.try_into().ok()?);
    // Bits of `SMU_THROTTLER_*_BIT` in `amdgpu_smu.h`: 0 to 31 power and current, 32 to 43
    // temperatures, behind them hot regulators, processor-hot signals and reliability.
    let groups = [
        (0x0000_0000_ffff_ffff_u64, ClockLimit::Power),
        (0x0000_0fff_0000_0000, ClockLimit::Thermal),
        (0xffff_f000_0000_0000, ClockLimit::Hardware),
    ];
    let limits = groups.iter().filter(|(bits, _)| status & bits != 0);
    Some(limits.map(|(_, limit)| *limit).collect())
}

/// The reasons, a file each, and one for all of them: `throttle_reason_pl1` and
/// `throttle_reason_status` (i915), `reason_pl1` and `status` (xe). Power limits
/// are PL1, PL2, PL4; `ratl` and `thermal` are heat, `prochot` and `vr_*` the board.
fn intel_limits(folder: &Path) -> Option<Vec<ClockLimit>> {
    let mut limits = BTreeSet::new();
    let mut is_known = false;
    for path in entries(folder) {
        let file = name(&path).trim_start_matches("throttle_");
        is_known |= ["status", "reason_status"].contains(&file);
        let limit = match file.strip_prefix("reason_") {
            None | Some("status") => continue,
            Some("pl1" | "pl2" | "pl4" | "psys_pl1" | "psys_pl2") => ClockLimit::Power,
            Some("thermal" | "ratl" | "vr_thermalert") => ClockLimit::Thermal,
            Some("prochot" | "vr_tdc" | "iccmax") => ClockLimit::Hardware,
            Some(_) => ClockLimit::Other,
        };
        if number::<u8>(&path)? != 0 {
            limits.insert(limit);
        }
    }
    is_known.then(|| limits.into_iter().collect())
}

/// The processes per PCI address.
pub(crate) fn users(root: &Path) -> BTreeMap<String, Vec<GpuProcess>> {
    let mut users: BTreeMap<String, Vec<GpuProcess>> = BTreeMap::new();
    for process in entries(root.join("proc")) {
        let Ok(pid) = name(&process).parse::<u32>() else {
            continue;
        };
        for (pci, bytes) in of_process(&process) {
            users.entry(pci).or_default().push(GpuProcess {
                pid,
                name: Fact::Unknown,
                memory_bytes: bytes.into(),
            });
        }
    }
    users
}

/// Memory per GPU that the process has open.
fn of_process(process: &Path) -> BTreeMap<String, Option<u64>> {
    let mut clients = BTreeSet::new();
    let mut memory = BTreeMap::new();
    for file in entries(process.join("fd")) {
        // Only files of GPUs are read: there may be thousands of others.
        let target = fs::read_link(&file).unwrap_or_default();
        if !target.starts_with("/dev/dri") {
            continue;
        }
        let Some(info) = text(process.join("fdinfo").join(name(&file))) else {
            continue;
        };
        let value = |key: &str| {
            let mut lines = info.lines();
            lines.find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
        };
        let Some(pci) = value("drm-pdev") else {
            continue;
        };
        // Copies of a descriptor are one client.
        if !clients.insert((pci.to_owned(), value("drm-client-id").map(str::to_owned))) {
            continue;
        }
        // `drm-memory-` is what amdgpu said first.
        let regions = ["drm-resident-vram0", "drm-resident-vram", "drm-memory-vram"];
        let local = regions.iter().find_map(|key| bytes(value(key)?));
        let sum = memory.entry(pci.to_owned()).or_insert(None);
        if let Some(local) = local {
            *sum = Some(sum.unwrap_or(0_u64).saturating_add(local));
        }
    }
    memory
}

/// `123 KiB`, as the format has it; without a unit bytes.
fn bytes(value: &str) -> Option<u64> {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    let unit = match unit.trim() {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
