//! Drivers' NVML libraries: complete, old, hanging, lying, missing. The library is found through
//! the environment of a process, so each case is a child process.

#![allow(clippy::print_stdout, reason = "the child reports on stdout")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::compile;
use crate::nvml::Watched;
use crate::sensors::{EnergyMeter, EnergyMethod, GpuReading, GpuState, Sensors};

/// Two cards. `WAY` says how the driver behaves from the second reading on.
const NVML: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef void *D;
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
struct use { unsigned gpu, memory; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
struct process { unsigned pid; unsigned long long memory; unsigned gi, ci; };
static int is(const char *way) { return !strcmp(getenv("WAY"), way); }
static int round_;
int nvmlInit_v2() { if (is("hangs at once")) sleep(60); return is("refuses") ? 999 : 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { round_++; *n = is("falls off the bus") && round_ > 1 ? 1 : 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, D *d) { *d = (D)(8L + i); return 0; }
int nvmlDeviceGetName(D d, char *s, unsigned n) { strcpy(s, d == (D)8 ? "Made-up A" : "Made-up B"); return 0; }
int nvmlDeviceGetPciInfo_v3(D d, struct pci *p) { memset(p, 0, sizeof *p); p->bus = d == (D)8 ? 1 : 0x41; strcpy(p->bus_id, "x"); return 0; }
int nvmlDeviceGetMemoryInfo_v2(D d, struct memory *m) { m->total = 4096; m->used = is("lies") ? 5000 : 1024; return 0; }
int nvmlDeviceGetUtilizationRates(D d, struct use *u) { if (is("hangs") && round_ > 1) sleep(60); u->gpu = is("lies") ? 250 : 25; u->memory = 10; return 0; }
int nvmlDeviceGetTemperature(D d, int sensor, unsigned *t) { *t = is("lies") ? 4000 : 61; return 0; }
int nvmlDeviceGetPowerUsage(D d, unsigned *mw) { if (is("loses a card") && round_ > 1 && d == (D)9) return 15; *mw = is("lies") ? 4000000000u : 250500; return 0; }
#ifndef OLD
int nvmlDeviceGetEnforcedPowerLimit(D d, unsigned *mw) { *mw = 300000; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(D d, unsigned long long *mj) { *mj = 1000500 + 2000 * round_; return 0; }
int nvmlDeviceGetClockInfo(D d, int kind, unsigned *mhz) { *mhz = kind == 1 ? 1410 : 9501; return 0; }
int nvmlDeviceGetMaxClockInfo(D d, int kind, unsigned *mhz) { *mhz = 1980; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(D d, unsigned long long *r) { *r = 0x4 | 0x20 | 0x40; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(D d, unsigned *n, struct process *p) {
  if (*n < 1 || !p) { *n = 1; return 7; }
  memset(p, 0, sizeof *p); *n = 1; p->pid = getpid(); p->memory = 512; return 0; }
int nvmlDeviceGetGraphicsRunningProcesses_v3(D d, unsigned *n, struct process *p) { *n = 0; return 0; }
#endif
"#;

/// Longer than a driver that works takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

const CHILD: &str = "BREAKEVEN_SENSORS_TEST_CHILD";

/// The child process; does nothing when it is run as a test.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut sensors = Sensors::at(Path::new("/proc/nonexistent"), Watched::start(), PATIENCE);
    for _ in 0..3 {
        let start = Instant::now();
        let mut reading = sensors.read();
        let was_quick = start.elapsed() < PATIENCE / 2;
        sensors.root = "/".into();
        sensors.add_processes(&mut reading);
        let silent = reading.nvml_silent_s.map_or("", |_| ", NVML is silent");
        println!("\nREADING{silent}{}", if was_quick { "" } else { ", slow" });
        for gpu in &reading.gpus {
            println!("LINE {}", line(gpu));
        }
    }
    let meter = EnergyMeter::with(
        Sensors::at(Path::new("/proc/nonexistent"), Watched::start(), PATIENCE),
        Path::new("/proc/nonexistent"),
    );
    for counter in meter.read() {
        let joules = match counter.joules {
            // Power over an unknown time.
            Ok(_) if counter.method == EnergyMethod::Power => "some".to_owned(),
            Ok(joules) => joules.to_string(),
            Err(error) => error.to_string(),
        };
        println!("METER {:?}: {joules}, {}", counter.domain, counter.method);
    }
}

/// All figures of a GPU in a line.
pub(crate) fn line(gpu: &GpuReading) -> String {
    let mut line = match gpu.state {
        GpuState::Current => String::new(),
        GpuState::Silent { .. } => "silent ".to_owned(),
        GpuState::Lost => "lost ".to_owned(),
    };
    let load = &gpu.load;
    let limits = gpu.limits.known().map(|limits| {
        let names: Vec<_> = limits.iter().map(|limit| limit.name()).collect();
        names.join("+")
    });
    let processes = gpu.processes.known().map(|processes| {
        let each = processes.iter().map(|process| {
            let is_this = process.pid == std::process::id();
            let named = process.name.is_known();
            format!(
                "{}{}{}",
                if is_this { "this" } else { "other" },
                if named { " named" } else { "" },
                process.memory_bytes
            )
        });
        each.collect::<Vec<_>>().join(" ")
    });
    write!(
        line,
        "{} {} {} use {} memory {}/{} use {}, {} °C, {}/{} W, {} J, {}/{} Hz, memory {} Hz, limits {:?}, processes {:?}",
        gpu.source.name(),
        load.name,
        load.pci,
        load.gpu_use,
        load.memory_used_bytes,
        load.memory_total_bytes,
        gpu.memory_use,
        load.temperature_celsius,
        gpu.power_watts,
        gpu.power_limit_watts,
        gpu.energy_joules,
        gpu.clock_hz,
        gpu.clock_max_hz,
        gpu.memory_clock_hz,
        limits,
        processes,
    )
    .expect("a text");
    line
}

/// What a child said with a driver that behaves this way; none without a C compiler.
fn with_driver(way: &str) -> Option<String> {
    let directory = tempfile::tempdir().expect("a folder");
    let defines = if way == "is old" { "#define OLD\n" } else { "" };
    let code = format!("{defines}{NVML}");
    compile(
        directory.path(),
        &["libnvidia-ml.so.1", "libnvidia-ml.so"],
        &code,
    )?;
    let (_, this) = module_path!()
        .split_once("::")
        .expect("a module in a crate");
    let output = Command::new(std::env::current_exe().expect("this binary"))
        .args([&format!("{this}::child"), "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env("WAY", way)
        .env("LD_LIBRARY_PATH", directory.path())
        .output()
        .expect("a child process");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|all| String::from_utf8_lossy(all));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stderr, "", "nothing is printed");
    let lines = stdout.lines().filter(|line| {
        ["READING", "LINE ", "METER "]
            .iter()
            .any(|start| line.starts_with(start))
    });
    Some(lines.fold(String::new(), |all, line| all + line + "\n"))
}

#[test]
fn drivers() {
    let ways = [
        "works",
        "is old",
        "lies",
        "hangs",
        "hangs at once",
        "loses a card",
        "falls off the bus",
        "refuses",
    ];
    let mut report = String::new();
    for way in ways {
        let Some(said) = with_driver(way) else {
            return;
        };
        writeln!(report, "== a driver that {way}\n{said}").expect("a text");
    }
    insta::assert_snapshot!(report);
}
