//! Machines as trees of files, and what is found of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use std::ops::Deref;

use breakeven_machine::Fact;
use breakeven_machine::sensors::{ClockLimit, GpuReading, Sensors, Source};
use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;

/// Writes files, `path = text` a line; ` | ` separates the lines of a text.
fn write(root: &Path, files: &str) {
    for line in files.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (path, text) = line.split_once(" =").expect("path = text");
        let text = text.trim_start();
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text.replace(" | ", "\n") + "\n").expect("a file");
    }
}

fn tree(files: &str) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), files);
    root
}

/// The facts of a tree.
struct Found {
    root: TempDir,
    facts: Facts,
}

impl Deref for Found {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

/// The facts of a tree that changes to `quiet` while it is left alone, and then to
/// `loaded`.
fn facts(before: &str, quiet: &str, loaded: &str) -> Found {
    let root = tree(before);
    let mut observer = Observer::at(root.path(), Sensors::of_files(root.path()));
    write(root.path(), quiet);
    observer.quiet_has_ended();
    write(root.path(), loaded);
    let facts = observer.end(None);
    Found { root, facts }
}

/// What was found, a paragraph a finding.
fn text_of(facts: &Facts) -> String {
    let mut text = String::new();
    for it in findings(facts) {
        let source = it.source.as_deref().unwrap_or("no source");
        let _ = writeln!(
            text,
            "{:?} {}: {} [{source}]",
            it.standing, it.subject, it.seen
        );
        if !it.effect.is_empty() {
            let _ = writeln!(text, "    {}", it.effect);
        }
        for (how, what) in it.remedy {
            let _ = writeln!(text, "    {how}: {what}");
        }
    }
    text
}

fn standing(facts: &Facts, subject: &str) -> Standing {
    let found = findings(facts);
    let of_it = found.iter().filter(|it| it.subject == subject);
    of_it
        .map(|it| it.standing)
        .max()
        .expect("something is said of it")
}

const CPU: &str = "sys/devices/system/cpu";

/// Lines for the cores `0..count`, `N` standing for the number.
fn each(count: u32, lines: &str) -> String {
    (0..count)
        .map(|core| lines.replace('N', &core.to_string()))
        .collect()
}

fn laptop() -> String {
    let cores = each(
        4,
        &format!(
            "{CPU}/cpuN/cpufreq/scaling_driver = intel_pstate
             {CPU}/cpuN/cpufreq/scaling_governor = powersave
             {CPU}/cpuN/cpufreq/energy_performance_preference = balance_performance\n"
        ),
    );
    format!(
        "{cores}
         {CPU}/cpu0/topology/thread_siblings_list = 0,2
         {CPU}/cpu1/topology/thread_siblings_list = 1,3
         {CPU}/cpu2/topology/thread_siblings_list = 0,2
         {CPU}/cpu3/topology/thread_siblings_list = 1,3
         {CPU}/online = 0-3
         {CPU}/isolated =
         {CPU}/intel_pstate/no_turbo = 0
         {CPU}/cpu0/thermal_throttle/core_throttle_count = 5
         sys/class/power_supply/AC/type = Mains
         sys/class/power_supply/AC/online = 0
         sys/class/power_supply/BAT0/type = Battery
         sys/class/power_supply/BAT0/status = Discharging
         sys/class/hwmon/hwmon0/name = coretemp
         sys/class/hwmon/hwmon0/temp1_input = 97000
         sys/devices/system/clocksource/clocksource0/current_clocksource = hpet
         sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet acpi_pm
         proc/self/status = Name: x | Uid:	1000	1000	1000	1000 | Cpus_allowed_list:	0-3
         proc/self/cgroup = 0::/user.slice
         proc/cpuinfo = processor : 0 | flags : fpu tsc constant_tsc
         proc/swaps = Filename Type Size Used Priority | /dev/nvme0n1p3 partition 8 0 -2
         proc/vmstat = pswpin 10 | pswpout 20
         proc/sys/kernel/randomize_va_space = 2
         proc/self/personality = 00000000
         proc/stat = cpu 0 0 0 0 0 0 0 0 | cpu0 0 0 0 0 | cpu1 0 0 0 0 | cpu2 0 0 0 0 | cpu3 0 0 0 0
         proc/77/stat = 77 (a (b) c) R 1 1 1 0 0 0 0 0 0 0 100 50 0 0 20 0 1 0 9000 0 0"
    )
}

/// One core in four is used, most of it by process 77; then clocks are lowered.
fn busy_laptop() -> Found {
    let quiet = "
        proc/stat = cpu 100 0 0 300 0 0 0 0 | cpu0 100 0 0 0 | cpu1 0 0 0 100 | cpu2 0 0 0 100 | cpu3 0 0 0 100
        proc/77/stat = 77 (a (b) c) R 1 1 1 0 0 0 0 0 0 0 180 60 0 0 20 0 1 0 9000 0 0";
    let loaded = format!(
        "{CPU}/cpu0/thermal_throttle/core_throttle_count = 9
         proc/vmstat = pswpin 10 | pswpout 300
         proc/stat = cpu 300 0 0 400 0 0 0 0"
    );
    facts(&laptop(), quiet, &loaded)
}

#[test]
fn a_laptop_on_its_battery() {
    assert_snapshot!(text_of(&busy_laptop()));
}

#[test]
fn a_server_with_everything_right() {
    let server = format!(
        "{}
         {CPU}/online = 0-7
         {CPU}/isolated = 2-7
         {CPU}/nohz_full = 2-7
         {CPU}/intel_pstate/no_turbo = 1
         {CPU}/cpu0/thermal_throttle/core_throttle_count = 0
         sys/class/hwmon/hwmon0/name = coretemp
         sys/class/hwmon/hwmon0/temp1_input = 61000
         sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
         sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet acpi_pm
         proc/self/status = Uid: 0 0 0 0 | Cpus_allowed_list: 2-7
         proc/self/cgroup = 0::/
         proc/cpuinfo = processor : 0 | flags : fpu tsc constant_tsc
         sys/class/dmi/id/sys_vendor = Maker
         sys/class/dmi/id/product_name = R1
         proc/swaps = Filename Type Size Used Priority
         proc/sys/kernel/randomize_va_space = 2
         proc/self/personality = 00000000
         proc/stat = cpu 0 0 0 0 0 0 0 0 | cpu0 0 0 0 0 | cpu1 0 0 0 0",
        each(
            8,
            &format!(
                "{CPU}/cpuN/cpufreq/scaling_driver = intel_pstate
                 {CPU}/cpuN/cpufreq/scaling_governor = performance
                 {CPU}/cpuN/cpufreq/energy_performance_preference = performance
                 {CPU}/cpuN/topology/thread_siblings_list = N\n"
            )
        )
    );
    let quiet = "proc/stat = cpu 2 0 0 198 0 0 0 0 | cpu0 2 0 0 98 | cpu1 0 0 0 100";
    let facts = facts(&server, quiet, "proc/stat = cpu 102 0 0 298 0 0 0 0");
    assert!(
        findings(&facts)
            .iter()
            .all(|it| it.standing == Standing::Good)
    );
    assert_snapshot!(text_of(&facts));
}

fn container() -> Found {
    let container = format!(
        "{CPU}/online = 0-3
         {CPU}/isolated =
         {CPU}/cpu0/topology/thread_siblings_list = 0
         {CPU}/cpu1/topology/thread_siblings_list = 1
         {CPU}/cpu2/topology/thread_siblings_list = 2
         {CPU}/cpu3/topology/thread_siblings_list = 3
         {CPU}/cpu0/cpufreq/scaling_governor = schedutil
         {CPU}/cpu0/cpufreq/scaling_driver = acpi-cpufreq
         {CPU}/cpu1/cpufreq/scaling_governor = schedutil
         {CPU}/cpufreq/boost = 1
         .dockerenv = x
         proc/self/status = Uid: 0 0 0 0 | Cpus_allowed_list: 0-1
         proc/self/cgroup = 0::/
         proc/self/mountinfo = 30 20 0:26 / /cg ro,nosuid - cgroup2 cgroup ro
         cg/cpu.max = 150000 100000
         cg/cpu.stat = usage_usec 5 | nr_periods 100 | nr_throttled 1
         proc/cpuinfo = flags : fpu
         sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
         proc/swaps = Filename Type Size Used Priority
         proc/sys/kernel/randomize_va_space = 0
         proc/stat = cpu 0 0 0 0 0 0 0 0 | cpu0 0 0 0 0 | cpu1 0 0 0 0"
    );
    let quiet = "proc/stat = cpu 60 0 0 140 0 0 0 0 | cpu0 60 0 0 40 | cpu1 0 0 0 100";
    let loaded = "cg/cpu.stat = usage_usec 5 | nr_periods 150 | nr_throttled 11
                  proc/stat = cpu 100 0 0 300 0 0 0 0";
    facts(&container, quiet, loaded)
}

#[test]
fn a_container_without_rights() {
    let facts = container();
    for it in findings(&facts) {
        assert!(
            !it.remedy.contains_key("type"),
            "it cannot be typed here: {it:?}"
        );
    }
    assert_snapshot!(text_of(&facts));
}

#[test]
fn a_virtual_machine_whose_host_is_busy() {
    let machine = format!(
        "{CPU}/online = 0-1
         {CPU}/isolated =
         {CPU}/cpu0/topology/thread_siblings_list = 0-1
         {CPU}/cpu1/topology/thread_siblings_list = 0-1
         proc/self/status = Uid: 0 0 0 0 | Cpus_allowed_list: 0-1
         proc/self/cgroup = 0::/
         proc/cpuinfo = processor : 0 | flags : fpu hypervisor tsc
         sys/class/dmi/id/sys_vendor = QEMU
         sys/class/dmi/id/product_name = Standard PC
         sys/devices/system/clocksource/clocksource0/current_clocksource = kvm-clock
         proc/swaps = Filename Type Size Used Priority
         proc/sys/kernel/randomize_va_space = 2
         proc/self/personality = 00040000
         proc/stat = cpu 0 0 0 0 0 0 0 0 | cpu0 0 0 0 0 | cpu1 0 0 0 0"
    );
    let quiet = "proc/stat = cpu 0 0 0 200 0 0 0 0 | cpu0 0 0 0 100 | cpu1 0 0 0 100";
    let facts = facts(&machine, quiet, "proc/stat = cpu 90 0 0 290 0 0 0 10");
    assert_eq!(facts.loaded.stolen, Fact::Known(0.1));
    assert_snapshot!(text_of(&facts));
}

#[test]
fn missing_files_and_garbage_are_unknown() {
    let nothing = Observer::at(
        Path::new("/proc/nonexistent"),
        Sensors::of_files(Path::new("/proc/nonexistent")),
    );
    let files = laptop()
        .lines()
        .chain(["cg/cpu.stat = x"])
        .fold(String::new(), |mut all, line| {
            if let Some((path, _)) = line.trim().split_once(" = ") {
                let _ = writeln!(all, "{path} = \u{fffd}\u{1b}[31m garbage -1,9e99 | | :::");
            }
            all
        });
    let garbage = facts(&files, &files, &files);
    for facts in [&nothing.end(None), &*garbage] {
        for it in findings(facts) {
            assert_eq!(it.standing, Standing::Unknown, "{it:?}");
        }
    }
    assert_snapshot!(text_of(&Facts::default()));
}

#[test]
fn the_cause_decides_and_nothing_else() {
    let facts = busy_laptop();
    for subject in ["heat", "power supply", "swap", "clock", "load"] {
        assert_eq!(standing(&facts, subject), Standing::Bad, "{subject}");
    }
    let mut cool = facts.facts.clone();
    cool.cpu.limits = Fact::Known(Vec::new());
    assert_eq!(standing(&cool, "heat"), Standing::Doubtful, "97 °C");
    cool.cpu.temperature_celsius = Fact::Known(50.0);
    assert_eq!(standing(&cool, "heat"), Standing::Good);
    let mut idle = facts.facts.clone();
    idle.quiet.busy_cores = Fact::Known(0.02);
    assert_eq!(standing(&idle, "load"), Standing::Good);
    let mut still = facts.facts.clone();
    still.loaded.swapped_pages = Fact::Known(0);
    assert_eq!(standing(&still, "swap"), Standing::Good);
}

#[test]
fn what_undoes_a_command_is_the_value_that_was_there() {
    let facts = busy_laptop();
    let demanded = format!(
        "{CPU}/cpuN/cpufreq/scaling_governor = ondemand
         {CPU}/cpuN/cpufreq/energy_performance_preference =\n"
    );
    write(facts.root.path(), &each(4, &demanded));
    let files = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let remedy = |facts: &Facts, how: &str| findings(facts)[0].remedy.get(how).cloned();
    for (user, tee) in [("1000", "sudo tee"), ("0", "tee")] {
        let status = format!("proc/self/status = Uid: 0 {user} 0 0 | Cpus_allowed_list: 0-3");
        write(facts.root.path(), &status);
        let of = |value: &str| Some(format!("echo {value} | {tee} {files}"));
        assert_eq!(remedy(&facts, "type"), of("performance"));
        assert_eq!(remedy(&facts, "undo"), of("ondemand"));
    }
}

/// A machine with one GPU in this state.
fn with_gpu(source: Source, limits: &[ClockLimit], used: f64) -> Facts {
    let mut gpu = GpuReading::new(source);
    gpu.load.name = Fact::Known("G".to_owned());
    gpu.load.pci = Fact::Known("0000:01:00.0".to_owned());
    gpu.load.gpu_use = Fact::Known(used);
    gpu.limits = Fact::Known(limits.to_vec());
    Facts {
        gpus: vec![gpu],
        ..Facts::default()
    }
}

#[test]
fn a_gpu_is_judged_by_its_limits_and_its_use() {
    for (limits, used, expected) in [
        (&[ClockLimit::Setting][..], 0.0, Standing::Good),
        (&[ClockLimit::Idle], 0.0, Standing::Doubtful),
        (&[ClockLimit::Power], 0.0, Standing::Bad),
        (
            &[ClockLimit::Setting, ClockLimit::Thermal],
            0.0,
            Standing::Bad,
        ),
        (&[ClockLimit::Setting], 0.5, Standing::Bad),
    ] {
        let facts = with_gpu(Source::Nvml, limits, used);
        assert_eq!(standing(&facts, "gpu"), expected, "{limits:?} {used}");
    }
    let gpus = |source| {
        let facts = with_gpu(source, &[ClockLimit::Idle], 0.0);
        let all = text_of(&facts);
        all.lines()
            .skip_while(|line| !line.contains(" gpu: "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(format!("{}\n{}", gpus(Source::Nvml), gpus(Source::Amdgpu)));
}

/// The facts of whatever this machine is can be read and judged.
#[test]
fn this_machine_is_examined() {
    let mut observer = Observer::start();
    std::thread::sleep(std::time::Duration::from_millis(50));
    observer.quiet_has_ended();
    let facts = observer.end(None);
    let found = findings(&facts);
    assert!(found.iter().any(|it| it.subject == "load"));
    assert!(serde_json::to_string(&(&facts, &found)).is_ok());
    if cfg!(target_os = "linux") {
        assert!(facts.allowed().is_some());
        assert!(
            facts
                .quiet
                .busy_cores
                .get()
                .is_some_and(|cores| cores >= 0.0)
        );
    }
}
