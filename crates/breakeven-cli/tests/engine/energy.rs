//! Joules of calls: measured by the suite, shown, compared, advised on.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::command::{directory, line};
use crate::compare::{within, write};

/// Relative places of five runs.
const FIVE: [f64; 5] = [-1.265, -0.632, 0.0, 0.632, 1.265];

/// An operation on a device, whose calls take so many ns, and over which each counter's device
/// draws that much: id, way, part, W, and W idle.
fn drawing(device: &str, ns: f64, counters: &[(&str, &str, &str, f64, f64)]) -> String {
    let runs: Vec<String> = FIVE
        .iter()
        .map(|place| {
            let spread = (0.01 * place).exp();
            let sample = (ns * spread).round();
            let over_ns = 1_000.0 * ns;
            let each = counters.iter().map(|(of, how, covers, watts, idle)| {
                let joules = watts * over_ns / 1e9 * spread;
                format!(
                    "{{\"of\": \"{of}\", \"how\": \"{how}\", \"covers\": \"{covers}\", \"joules\": \
                     {joules}, \"idle_watts\": {idle}}}"
                )
            });
            format!(
                "{{\"samples_ns\": {:?}, \"energy\": {{\"calls\": 1000, \"over_ns\": {over_ns}, \
                 \"idle_over_ns\": 1000000000, \"counters\": [{}]}}}}",
                [sample; 5],
                each.collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    format!(
        "{{\"name\": \"blur\", \"device\": \"{device}\", \"size\": 65536, \"runs\": [{}]}}",
        runs.join(", ")
    )
}

/// A profile of an operation on the CPU and on a card that is twice as fast.
fn profile(directory: &TempDir, name: &str, cpu_watts: f64) {
    let cpu = ("cpu", "rapl", "packages and memory", cpu_watts, 30.0);
    let host = ("cpu", "rapl", "packages and memory", 40.0, 30.0);
    let card = ("cuda:0", "driver", "card", 300.0, 25.0);
    let operations = [
        drawing("cpu", 4e6, &[cpu]),
        drawing("cuda:0", 2e6, &[host, card]),
    ];
    write(directory.path(), name, &operations);
}

fn sample() -> TempDir {
    let directory = directory();
    profile(&directory, "a.json", 120.0);
    profile(&directory, "b.json", 150.0);
    directory
}

#[test]
fn show_has_joules_beside_the_times() {
    let shown = within(&sample(), "show a.json").quietly(0).stdout;
    assert!(shown.lines().all(|line| line.chars().count() <= 80));
    assert_snapshot!(shown);
}

#[test]
fn every_format_has_them() {
    let directory = sample();
    let csv = within(&directory, "show a.json --format csv")
        .quietly(0)
        .stdout;
    let mut lines = csv.lines();
    let end = ",joules_per_call,idle_joules_per_call,bound,bound_share";
    assert!(lines.next().unwrap().ends_with(end));
    let cpu = lines.next().unwrap().rsplit(',').skip(2);
    let figures: Vec<f64> = cpu.take(2).map(|cell| cell.parse().unwrap()).collect();
    assert!(
        (figures[1] - 0.48).abs() < 1e-3 && (figures[0] - 0.12).abs() < 1e-9,
        "{figures:?}"
    );
    let markdown = within(&directory, "show a.json --format markdown");
    assert!(markdown.quietly(0).stdout.contains("480mJ"));
    let json = within(&directory, "show a.json --format json")
        .quietly(0)
        .json();
    let idle = &json["operations"][1]["figures"]["idle_joules_per_call"];
    assert!((idle.as_f64().unwrap() - 0.11).abs() < 1e-9, "{idle}");
    within(&directory, "report a.json -o page.html").quietly(0);
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("data-key=\"joules_per_call\"") && page.contains("<td>480 mJ</td>"));
}

#[test]
fn compare_judges_joules() {
    let directory = sample();
    let compared = within(&directory, "compare a.json b.json --metric energy").quietly(0);
    assert_snapshot!(compared.stdout);
    within(&directory, "compare a.json b.json --metric energy --gate").quietly(1);
    within(&directory, "compare a.json a.json --metric energy").quietly(0);
}

#[test]
fn a_side_without_joules_is_named() {
    let directory = sample();
    let blur = "{\"name\": \"blur\", \"size\": 65536, \"samples_ns\": [4000000]}".to_owned();
    write(directory.path(), "old.json", &[blur]);
    let old = within(&directory, "compare a.json old.json --metric energy");
    assert_snapshot!(old.refusal(), @"error: no operation has energy on both sides: blur on cpu, size 65536 lacks it on the current side; judge another metric, or measure with it recorded (`breakeven profile` measures it where the machine has a counter)");
}

/// The suite where a folder stands for `/sys/class`; none where that is not allowed.
#[cfg(target_os = "linux")]
fn suite(tree: &Path, args: &str) -> Option<crate::command::Ended> {
    use std::process::{Command, Stdio};
    use std::time::Instant;

    let mut own = Command::new("unshare");
    own.args([
        "-rm",
        "sh",
        "-c",
        "mount --bind \"$0\" /sys/class && exec \"$@\"",
    ]);
    own.arg(tree).stdin(Stdio::null());
    let mut try_it = Command::new("unshare");
    try_it
        .args(["-rm", "mount", "--bind"])
        .arg(tree)
        .arg("/sys/class");
    if !try_it.output().is_ok_and(|tried| tried.status.success()) {
        crate::command::skipped("a process may not have a view of the file system of its own here");
        return None;
    }
    let usual = match args.contains("--device") {
        true => "profile --kernel vector_add --iterations 3",
        false => "profile --device cpu --kernel vector_add --iterations 3",
    };
    let breakeven = line(usual).args(args);
    own.arg(breakeven.command.get_program());
    own.args(breakeven.command.get_args());
    for (name, value) in breakeven.command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    let start = Instant::now();
    let output = own.output().expect("it starts");
    Some(crate::command::Ended::of(output, start.elapsed()))
}

/// What a counter of a made-up processor reports, and who moves it.
#[cfg(target_os = "linux")]
fn counting<T>(tree: &TempDir, watts: f64, while_it_counts: impl FnOnce() -> T) -> T {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    const RANGE: u64 = 262_143_328_850;
    let zone = tree.path().join("powercap/intel-rapl:0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("name"), "package-0\n").unwrap();
    fs::write(zone.join("max_energy_range_uj"), format!("{RANGE}\n")).unwrap();
    let (ends, began) = (AtomicBool::new(false), Instant::now());
    // A joule before it goes round.
    let put = || {
        let passed = u64::try_from(began.elapsed().mul_f64(watts).as_micros()).unwrap();
        let new = zone.join("new");
        fs::write(&new, format!("{}\n", (RANGE - 1_000_000 + passed) % RANGE)).unwrap();
        // In one step: a reader never sees half a number.
        fs::rename(new, zone.join("energy_uj")).unwrap();
    };
    put();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_micros(500));
                put();
            }
        });
        let reported = while_it_counts();
        ends.store(true, Ordering::Relaxed);
        reported
    })
}

#[cfg(target_os = "linux")]
#[test]
fn the_suite_measures_joules_where_counters_count() {
    let (tree, out) = (directory(), directory());
    let file = out.path().join("p.json");
    let args = format!("--runs 2 -o {}", file.display());
    let ended = counting(&tree, 20.0, || suite(tree.path(), &args));
    let Some(ended) = ended else { return };
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:#?}");
    assert!(
        ended
            .said()
            .contains("idle power included: cpu by rapl (packages)"),
        "{ended:#?}"
    );
    let profile = breakeven_profile::file::read(&file).unwrap();
    let runs = &profile.operations[0].runs;
    assert_eq!(runs.len(), 2);
    for run in runs {
        let energy = run.energy.as_ref().expect("it was measured");
        // Two hundred ms at the least, and calls without a pause.
        let seconds = energy.over_ns / 1e9;
        assert!(seconds >= 0.2 && energy.calls > 10, "{energy:?}");
        let watts = energy.counters[0].joules / seconds;
        let idle = energy.counters[0].idle_watts.unwrap();
        // The writer shares two cores with what is measured.
        assert!((10.0..30.0).contains(&watts), "{energy:?}");
        assert!((10.0..30.0).contains(&idle), "{energy:?}");
        assert_eq!(energy.idle_over_ns.map(|ns| ns >= 2e8), Some(true));
    }
    let never = counting(&tree, 20.0, || {
        suite(tree.path(), &format!("{args} --energy=never"))
    });
    assert_eq!(never.unwrap().code, Some(0));
    let profile = breakeven_profile::file::read(&file).unwrap();
    assert_eq!(profile.operations[0].energy(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn energy_that_was_asked_for_and_cannot_be_reported() {
    let tree = directory();
    let Some(ended) = suite(tree.path(), "--energy") else {
        return;
    };
    assert_snapshot!(ended.refusal(), @"error: --energy: the energy of calls on cpu cannot be measured: no energy counter of the processor: neither /sys/class/powercap/intel-rapl:* nor amd_energy is there (load the module intel_rapl_msr; virtual machines have none)");
    // Unasked, the suite measures times alone.
    let ended = suite(tree.path(), "").unwrap();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:#?}");
    assert!(!ended.stdout.contains("J/call"), "{ended:#?}");
    // A counter that is there and cannot be read.
    let zone = tree.path().join("powercap/intel-rapl:0");
    fs::create_dir_all(zone.join("energy_uj")).unwrap();
    fs::write(zone.join("name"), "package-0\n").unwrap();
    let ended = suite(tree.path(), "--energy").unwrap();
    assert_snapshot!(ended.refusal(), @"error: --energy: the energy of calls on cpu cannot be measured: /sys/class/powercap/intel-rapl:0/energy_uj: Is a directory (os error 21)");
}
