//! Machines as trees of files: the readings of each.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::rapl::Rapl;
use super::*;

/// Writes files, `path = text` a line; ` | ` separates the lines of a text.
pub(crate) fn write(root: &Path, files: &str) {
    for line in files.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (path, text) = line.split_once(" =").expect("path = text");
        let text = text.trim_start();
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text.replace(" | ", "\n") + "\n").expect("a file");
    }
}

pub(crate) fn tree(files: &str) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), files);
    root
}

const PROCESSOR: &str = "
    proc/stat = cpu  100 0 0 100 0 0 0 0 | cpu0 50 0 0 50 0 0 0 0 | cpu1 50 0 0 50 0 0 0 0 | intr 1
    proc/loadavg = 0.5 0.5 0.5 4/80 1
    proc/meminfo = MemTotal: 1000 kB | MemFree: 1 kB | MemAvailable: 250 kB
    proc/cpuinfo = processor : 0 | cpu MHz : 2400.5 | processor : 1 | cpu MHz : 1200
    sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq = 3100000
    sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 7
    sys/class/hwmon/hwmon0/name = nvme
    sys/class/hwmon/hwmon0/temp1_input = 99000
    sys/class/hwmon/hwmon1/name = k10temp
    sys/class/hwmon/hwmon1/temp1_input = 61250
    sys/class/hwmon/hwmon1/temp3_input = 70125
";

#[test]
fn a_processor_is_read_from_its_files() {
    let root = tree(PROCESSOR);
    let mut sensors = Sensors::of_files(root.path());
    let first = sensors.read().cpu;
    assert_eq!(first.used, Fact::Unknown, "a rate needs two readings");
    assert_eq!(first.limits, Fact::Unknown);
    assert_eq!(first.run_queue_per_core, Fact::Known(1.5));
    assert_eq!(first.memory_used_bytes, Fact::Known(750 * 1024));
    assert_eq!(first.temperature_celsius, Fact::Known(70.125));
    let clocks: Vec<_> = first.cores.iter().map(|core| core.clock_hz).collect();
    assert_eq!(clocks, [Fact::Known(3.1e9), Fact::Known(1.2e9)]);
    assert_eq!(first.clock_hz(), Fact::Known(2.15e9));
    write(
        root.path(),
        "proc/stat = cpu  140 0 0 160 0 0 0 0 | cpu0 80 0 0 70 0 0 0 0 | cpu1 60 0 0 90 0 0 0 0
         sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 9",
    );
    let second = sensors.read().cpu;
    assert_eq!(second.used, Fact::Known(0.4));
    let used: Vec<_> = second.cores.iter().map(|core| core.used).collect();
    assert_eq!(used, [Fact::Known(0.6), Fact::Known(0.2)]);
    assert_eq!(second.limits, Fact::Known(vec![ClockLimit::Thermal]));
    assert_eq!(sensors.read().cpu.limits, Fact::Known(Vec::new()));
}

#[test]
fn nothing_readable_is_unknown_and_never_zero() {
    let mut sensors = Sensors::of_files(Path::new("/proc/nonexistent"));
    for _ in 0..2 {
        let reading = sensors.read();
        assert_eq!(reading.cpu.used, Fact::Unknown);
        assert_eq!(reading.cpu.power_watts, Fact::Unknown);
        assert_eq!(reading.cpu.memory_used_bytes, Fact::Unknown);
        assert!(reading.gpus.is_empty());
    }
    let meter = EnergyMeter::of_files(Path::new("/proc/nonexistent"));
    assert_eq!(meter.read()[0].joules, Err(EnergyUnknown::NoCounter));
}

#[test]
fn a_thermal_zone_is_taken_where_no_driver_of_a_processor_is() {
    let zone = "sys/class/thermal/thermal_zone";
    let root = tree(&format!(
        "{zone}0/type = battery
         {zone}0/temp = 30000
         {zone}1/type = cpu-big-thermal
         {zone}1/temp = 55500"
    ));
    let celsius = Sensors::of_files(root.path())
        .read()
        .cpu
        .temperature_celsius;
    assert_eq!(celsius, Fact::Known(55.5));
}

const RAPL: &str = "sys/class/powercap/intel-rapl:0";

fn rapl(package: u64, dram: u64) -> String {
    format!(
        "{RAPL}/name = package-0
         {RAPL}/energy_uj = {package}
         {RAPL}/max_energy_range_uj = 262143328850
         sys/class/powercap/intel-rapl:0:0/name = core
         sys/class/powercap/intel-rapl:0:0/energy_uj = 123
         sys/class/powercap/intel-rapl:0:1/name = dram
         sys/class/powercap/intel-rapl:0:1/energy_uj = {dram}
         sys/class/powercap/intel-rapl:0:1/max_energy_range_uj = 65532610987
         sys/class/powercap/intel-rapl:1/name = psys
         sys/class/powercap/intel-rapl:1/energy_uj = 9"
    )
}

#[test]
fn counters_that_go_round_are_counted_on() {
    let root = tree(&rapl(262_143_000_000, 65_532_000_000));
    let mut counters = Rapl::open(root.path());
    let start = Instant::now();
    assert_eq!(counters.spent(start), Ok(None));
    // The package: 328 850 µJ to its end and 671 150 beyond; memory: 0.5 J.
    write(root.path(), &rapl(671_150, 65_532_500_000));
    let later = start + Duration::from_secs(2);
    let spent = counters
        .spent(later)
        .expect("readable")
        .expect("a second reading");
    assert!((spent - 1.5).abs() < 1e-9, "{spent}");
    write(root.path(), &rapl(2_671_150, 65_532_500_000));
    let watts = counters.power_watts(later + Duration::from_secs(1), Some(Duration::from_secs(1)));
    assert!((watts.get().expect("power") - 2.0).abs() < 1e-9, "{watts}");
}

#[test]
fn a_counter_that_may_have_gone_round_twice_shows_nothing_once() {
    let root = tree(&rapl(5, 5));
    let mut counters = Rapl::open(root.path());
    let start = Instant::now();
    assert_eq!(
        counters.round_time(),
        Duration::from_secs_f64(65.532_610_987)
    );
    assert_eq!(counters.spent(start), Ok(None));
    let long = counters.spent(start + Duration::from_secs(70));
    assert!(
        matches!(long, Err(EnergyUnknown::Rounds { .. })),
        "{long:?}"
    );
    let next = counters.spent(start + Duration::from_secs(71));
    assert_eq!(next, Ok(Some(0.0)));
}

#[test]
fn a_meter_counts_both_packages_and_says_what_it_may_not_read() {
    let root = tree(&rapl(1_000_000, 0));
    let meter = EnergyMeter::of_files(root.path());
    write(root.path(), &rapl(3_000_000, 250_000));
    let counters = meter.read();
    assert_eq!(counters[0].joules, Ok(2.25));
    assert_eq!(counters[0].method, EnergyMethod::Rapl);
    // A counter that is taken away in the middle takes the sum with it.
    fs::remove_file(root.path().join(RAPL).join("energy_uj")).expect("a file");
    for _ in 0..2 {
        let joules = &meter.read()[0].joules;
        assert!(
            matches!(joules, Err(EnergyUnknown::Unreadable { .. })),
            "{joules:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_counter_that_only_the_administrator_may_read_says_how_to_allow_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tree(&rapl(1_000_000, 0));
    let path = root.path().join(RAPL).join("energy_uj");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a file of ours");
    if fs::read(&path).is_ok() {
        return; // The administrator may.
    }
    let error = EnergyMeter::of_files(root.path()).read()[0].joules.clone();
    assert_eq!(error, Err(EnergyUnknown::Permission { path }));
}

#[test]
fn what_a_meter_covers_and_how_idle_power_is_measured() {
    let root = tree(&rapl(1_000_000, 0));
    let meter = EnergyMeter::of_files(root.path());
    assert_eq!(meter.read()[0].covers, "packages and memory");
    assert_eq!(least_time(&meter.read()), Some(Duration::from_millis(10)));
    let idle = meter.measure_idle();
    assert_eq!(idle.of(&EnergyDomain::Cpu), Some(&Ok(0.0)));
    assert!(idle.over >= Duration::from_millis(200), "{idle:?}");
    let root = tree("proc/loadavg = 0.5 0.5 0.5 4/80 1");
    let nothing = EnergyMeter::of_files(root.path());
    let idle = nothing.measure_idle();
    assert_eq!(idle.over, Duration::ZERO, "nobody waits for nothing");
    let unknown = Some(&Err(EnergyUnknown::NoCounter));
    assert_eq!(idle.of(&EnergyDomain::Cpu), unknown);
    assert_eq!(least_time(&nothing.read()), None);
}

#[test]
fn amd_energy_counts_sockets() {
    let chip = "sys/class/hwmon/hwmon2";
    let files = |joules: u32| {
        format!(
            "{chip}/name = amd_energy
             {chip}/energy1_label = Ecore000
             {chip}/energy1_input = 77
             {chip}/energy17_label = Esocket0
             {chip}/energy17_input = {joules}000000"
        )
    };
    let root = tree(&files(10));
    let meter = EnergyMeter::of_files(root.path());
    write(root.path(), &files(14));
    assert_eq!(meter.read()[0].joules, Ok(4.0));
}

const AMD: &str = "
    sys/class/drm/card1/device/uevent = DRIVER=amdgpu | PCI_ID=1002:73BF | PCI_SLOT_NAME=0000:0b:00.0
    sys/class/drm/card1/device/gpu_busy_percent = 83
    sys/class/drm/card1/device/mem_busy_percent = 40
    sys/class/drm/card1/device/mem_info_vram_used = 2000
    sys/class/drm/card1/device/mem_info_vram_total = 8000
    sys/class/drm/card1/device/pp_dpm_sclk = 0: 500Mhz | 1: 1825Mhz * | 2: 2575Mhz
    sys/class/drm/card1/device/hwmon/hwmon4/name = amdgpu
    sys/class/drm/card1/device/hwmon/hwmon4/temp1_input = 64000
    sys/class/drm/card1/device/hwmon/hwmon4/temp2_input = 78000
    sys/class/drm/card1/device/hwmon/hwmon4/power1_average = 180500000
    sys/class/drm/card1/device/hwmon/hwmon4/power1_cap = 272000000
    sys/class/drm/card1/device/hwmon/hwmon4/freq1_input = 1825000000
    sys/class/drm/card1/device/hwmon/hwmon4/freq2_input = 1000000000
    sys/class/drm/card1-DP-1/status = connected
    sys/class/drm/card0/device/uevent = DRIVER=ast
";

const INTEL: &str = "
    sys/class/drm/card2/device/uevent = DRIVER=i915 | PCI_ID=8086:56A0 | PCI_SLOT_NAME=0000:03:00.0
    sys/class/drm/card2/gt/gt0/rps_act_freq_mhz = 1900
    sys/class/drm/card2/gt/gt0/rps_max_freq_mhz = 2400
    sys/class/drm/card2/gt/gt0/throttle_reason_status = 1
    sys/class/drm/card2/gt/gt0/throttle_reason_pl1 = 1
    sys/class/drm/card2/gt/gt0/throttle_reason_thermal = 0
    sys/class/drm/card2/device/hwmon/hwmon5/name = i915
    sys/class/drm/card2/device/hwmon/hwmon5/energy1_input = 5000000
    sys/class/drm/card2/device/hwmon/hwmon5/power1_max = 190000000
    sys/class/drm/card3/device/uevent = DRIVER=xe | PCI_ID=8086:E20B | PCI_SLOT_NAME=0000:04:00.0
    sys/class/drm/card3/device/tile0/gt0/freq0/act_freq = 2850
    sys/class/drm/card3/device/tile0/gt0/freq0/max_freq = 2850
    sys/class/drm/card3/device/tile0/gt0/freq0/throttle/status = 0
    sys/class/drm/card3/device/tile0/gt0/freq0/throttle/reason_pl1 = 0
";

#[cfg(target_os = "linux")]
#[test]
fn cards_of_amd_and_intel_are_read_from_their_files() {
    let root = tree(&format!("{AMD}{INTEL}"));
    // A table of version 1.3 whose reasons are power (bit 0) and temperature (bit 36).
    let mut metrics = vec![0_u8; 120];
    metrics[..4].copy_from_slice(&[120, 0, 1, 3]);
    metrics[112..].copy_from_slice(&(1_u64 | 1 << 36).to_le_bytes());
    let device = root.path().join("sys/class/drm/card1/device");
    fs::write(device.join("gpu_metrics"), metrics).expect("a file");
    // A process that has the AMD card open twice, as one client.
    let info =
        "drm-driver: amdgpu | drm-client-id: 5 | drm-pdev: 0000:0b:00.0 | drm-memory-vram: 300 KiB";
    write(
        root.path(),
        &format!("proc/77/comm = train\nproc/77/fdinfo/5 = {info}\nproc/77/fdinfo/6 = {info}"),
    );
    fs::create_dir_all(root.path().join("proc/77/fd")).expect("a folder");
    for descriptor in ["5", "6"] {
        let link = root.path().join("proc/77/fd").join(descriptor);
        std::os::unix::fs::symlink("/dev/dri/renderD128", link).expect("a link");
    }
    let mut sensors = Sensors::of_files(root.path());
    let first = sensors.read();
    assert_eq!(first.gpus.len(), 3);
    // The driver `xe` has one file for all reasons, too, under another name.
    assert_eq!(first.gpus[2].limits, Fact::Known(Vec::new()));
    std::thread::sleep(Duration::from_millis(20));
    let hwmon = "sys/class/drm/card2/device/hwmon/hwmon5";
    write(root.path(), &format!("{hwmon}/energy1_input = 7000000"));
    fs::remove_file(root.path().join("sys/class/drm/card3/device/uevent")).expect("a file");
    let mut reading = sensors.read();
    sensors.add_processes(&mut reading);
    let intel = &mut reading.gpus[1];
    // Two joules in some time.
    let watts = std::mem::take(&mut intel.power_watts).get().expect("power");
    let passed = (reading.at - first.at).as_secs_f64();
    assert!(
        (watts * passed - 2.0).abs() < 0.2,
        "{watts} W in {passed} s"
    );
    let lines: Vec<_> = reading.gpus.iter().map(crate::tests::nvml::line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_energy_of_a_card_without_a_counter_is_its_power_over_time() {
    let root = tree(AMD);
    let meter = EnergyMeter::of_files(root.path());
    std::thread::sleep(Duration::from_millis(350));
    let counters = meter.read();
    let gpu = EnergyDomain::Gpu {
        pci: "0000:0b:00.0".to_owned(),
    };
    let counter = counters.iter().find(|counter| counter.domain == gpu);
    let counter = counter.expect("the card");
    assert_eq!(counter.method, EnergyMethod::Power);
    let joules = counter.joules.clone().expect("power is known");
    assert!((0.3 * 180.5..10.0 * 180.5).contains(&joules), "{joules}");
}
