//! `monitor --record` and `profile --record-load`, and what the other commands make of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use breakeven_profile::file;
use breakeven_profile::profile::{DeviceLoad, LoadRecord, LoadSample, Operation, Profile, Run};
use insta::assert_snapshot;

use crate::command::{Ended, breakeven, directory, line, show};
use crate::engine::interrupt::signal;

/// Records around a command of a shell.
fn around(options: &str, file: &Path, script: &str) -> Ended {
    let record = line("monitor --interval 100ms")
        .args(options)
        .arg("--record")
        .arg(file);
    record.arg("--").arg("sh").arg("-c").arg(script).run()
}

/// Readings of the CPU.
#[track_caller]
fn readings(file: &Path) -> u64 {
    let profile = file::read(file).unwrap();
    let [record] = &profile.load[..] else {
        panic!("{:?}", profile.load)
    };
    assert!(record.began.is_some());
    assert_eq!(record.interval_ns, 100_000_000);
    let cpu = record
        .devices
        .iter()
        .find(|device| device.device == "cpu")
        .unwrap();
    cpu.samples.iter().map(|sample| sample.readings).sum()
}

#[test]
fn a_time_is_recorded() {
    let directory = directory();
    let file = directory.path().join("load.json");
    let ended = line("monitor --interval 100ms --duration 550ms --record")
        .arg(&file)
        .run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!((2..=6).contains(&readings(&file)), "{}", readings(&file));
    assert!(ended.stderr.starts_with("recorded "), "{ended:#?}");
    // Nothing was measured, so nobody was another.
    let profile = file::read(&file).unwrap();
    assert!(
        profile.load[0].devices[0]
            .samples
            .iter()
            .all(|sample| sample.other_used.is_none())
    );
    let shown = show(&file, "").quietly(0);
    assert!(
        shown.stdout.contains("Machine while measuring"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_command_is_recorded_and_its_status_counts() {
    let directory = directory();
    let file = directory.path().join("load.json");
    let ended = around("", &file, "sleep 0.3; echo done");
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), "done\n"),
        "{ended:#?}"
    );
    assert!(readings(&file) >= 2);
    let failed = around("", &file, "sleep 0.2; exit 7");
    assert_eq!(failed.code, Some(1));
    assert!(
        failed
            .stderr
            .contains("error: the command failed (exit status: 7)"),
        "{failed:#?}"
    );
    let limited = around("--duration 300ms", &file, "exec sleep 60");
    assert_eq!(limited.code, Some(0), "{limited:#?}");
    assert!(limited.took < Duration::from_secs(20));
}

#[test]
fn the_commands_own_use_is_not_that_of_others() {
    let directory = directory();
    let file = directory.path().join("load.json");
    // A child of a child that computes for a second, however busy the machine is.
    let busy = "(sh -c 'ulimit -t 1; while :; do :; done' & wait); true";
    let ended = around("", &file, busy);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cores = stat.lines().filter(core).count() as f64;
    let profile = file::read(&file).unwrap();
    let mut own_s = 0.0;
    for sample in &profile.load[0].devices[0].samples {
        let Some((all, other)) = sample.used.zip(sample.other_used) else {
            // A system that does not report a process's children.
            return;
        };
        own_s += (all.mean - other.mean) * cores * sample.duration_ns as f64 / 1e9;
    }
    assert!((0.6..2.0).contains(&own_s), "{own_s} s: {:?}", profile.load);
}

#[test]
fn a_commands_profile_gets_the_load() {
    let directory = directory();
    let (file, own) = (
        directory.path().join("all.json"),
        directory.path().join("own.json"),
    );
    let text = r#"{"format": "breakeven-profile", "version": 1, "operations": [{"name": "f", "samples_ns": [5]}]}"#;
    let script = format!("sleep 0.2; printf '%s' '{text}' > {}", own.display());
    let ended = around(&format!("--profile {}", own.display()), &file, &script);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(readings(&file) >= 1);
    assert_eq!(file::read(&file).unwrap().operations[0].name, "f");
    // What the command did not write is an error that names it.
    fs::remove_file(&own).unwrap();
    let missing = around(&format!("--profile {}", own.display()), &file, "sleep 0.2");
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("own.json"), "{missing:#?}");
}

#[test]
fn an_interruption_keeps_what_was_recorded_and_no_good_file_is_lost() {
    let directory = directory();
    let file = directory.path().join("load.json");
    fs::write(&file, "good").unwrap();
    for (script, name) in [(None, "TERM"), (Some("exec sleep 60"), "INT")] {
        let mut command = breakeven(["monitor", "--interval", "100ms", "--record"]).arg(&file);
        if let Some(script) = script {
            command = command.args("-- sh -c").arg(script);
        }
        let child = command.command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(600));
        signal(name, child.id());
        let ended = Ended::of(child.wait_with_output().unwrap(), Duration::ZERO);
        assert_eq!(ended.code, Some(130), "{ended:#?}");
        let said = "interrupted: the recording so far is written";
        assert!(ended.stderr.contains(said), "{ended:#?}");
        assert!(readings(&file) >= 2);
        assert!(file::read(&file).unwrap().interrupted);
    }
}

#[test]
fn profile_records_the_load() {
    let directory = directory();
    let file = directory.path().join("p.json");
    let args = "profile --device cpu --kernel vector_add --iterations 20 --record-load -o";
    let ended = line(args).arg(&file).run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.stdout.contains("Machine while measuring"),
        "{}",
        ended.stdout
    );
    let profile = file::read(&file).unwrap();
    assert_eq!(profile.load.len(), 1);
    assert!(profile.load[0].devices[0].samples.len() <= 64);
}

fn refused(args: &str) -> String {
    line(args).run().refusal()
}

#[test]
fn wrong_use() {
    assert_snapshot!(refused("monitor --duration 1s"), @r"
    error: the following required arguments were not provided:
      --record <FILE>

    Usage: breakeven monitor --record <FILE> --duration <TIME> [-- <CMD>...]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --record f.json --duration 0s"), @r"
    error: invalid value '0s' for '--duration <TIME>': give a time above 0

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --record f.json --once"), @r"
    error: the argument '--record <FILE>' cannot be used with '--once'

    Usage: breakeven monitor --record <FILE> [-- <CMD>...]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --record f.json --profile p.json"), @r"
    error: the following required arguments were not provided:
      <CMD>...

    Usage: breakeven monitor --record <FILE> --profile <FILE> -- <CMD>...

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor -- true"), @r"
    error: the following required arguments were not provided:
      --record <FILE>

    Usage: breakeven monitor --record <FILE> -- <CMD>...

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --record /proc/nonexistent/f.json"), @"error: /proc/nonexistent/f.json: the directory /proc/nonexistent cannot be used: No such file or directory (os error 2)");
    let directory = directory();
    let absent = directory.path().join("absent.json");
    let record = format!(
        "monitor --record {} -- /proc/nonexistent/program",
        absent.display()
    );
    assert_snapshot!(refused(&record), @"error: cannot run /proc/nonexistent/program: No such file or directory (os error 2)");
    assert!(!absent.exists());
}

/// A profile with a load that is made up.
fn loaded(others: f64, celsius: f64, limited: u64, merged: u64) -> Profile {
    let cpu = |second: u64| LoadSample {
        start_ns: second * 1_000_000_000,
        duration_ns: 1_000_000_000,
        readings: merged,
        used: Some((0.8 + second as f64 / 100.0).into()),
        other_used: Some(others.into()),
        memory_bytes: Some(12.3e9.into()),
        temperature_celsius: Some((celsius + second as f64).into()),
        power_watts: Some(65.0.into()),
        clock_hz: Some(3.2e9.into()),
        limited: Some(limited),
        limits: [("thermal".to_owned(), limited)].into(),
    };
    let gpu = LoadSample {
        used: Some(0.95.into()),
        clock_hz: Some(1.98e9.into()),
        power_watts: Some(690.5.into()),
        ..LoadSample::default()
    };
    let device = |device: &str, name: Option<&str>, samples| DeviceLoad {
        device: device.to_owned(),
        name: name.map(str::to_owned),
        samples,
    };
    let record = LoadRecord {
        began: Some("2026-01-02T03:04:05Z".to_owned()),
        interval_ns: 1_000_000_000,
        merged,
        devices: vec![
            device("cpu", None, (0..10).map(cpu).collect()),
            device("cuda:0", Some("Example H200"), vec![gpu]),
        ],
    };
    let mut operation = Operation::new("f", "cpu");
    operation.runs = vec![
        Run {
            samples_ns: vec![1e6; 9],
            ..Run::default()
        };
        5
    ];
    Profile {
        operations: vec![operation],
        load: vec![record],
        ..Profile::default()
    }
}

#[test]
fn it_is_shown_and_compared() {
    let directory = directory();
    let (quiet, busy) = (
        directory.path().join("quiet.json"),
        directory.path().join("busy.json"),
    );
    file::write(&loaded(0.01, 60.0, 0, 1), &quiet).unwrap();
    file::write(&loaded(0.31, 84.0, 3, 4), &busy).unwrap();
    assert_snapshot!(show(&busy, "").quietly(0).stdout, @r"
         calls   total     own  share    mean  median     p95     p99     max    CV
    f
    cpu     45  45.0ms  45.0ms   100%  1.00ms  1.00ms  1.00ms  1.00ms  1.00ms  0.0%
    left out: call/s, min, ± dev; a wider terminal or COLUMNS=160 shows more, JSON
    all

    Machine while measuring
    device               use  others   memory  °C    W   GHz  limited
    cpu                  85%     31%  11.5GiB  88   65  3.20      75%
    cuda:0 Example H200  95%                       690  1.98
    cpu: clocks were throttled by: thermal in 75% of the readings
    40 readings over 10.0 s
    others: the fraction of the cores that other programs used; GHz: the mean clock
    while the device was in use, else of all readings; limited: the fraction of the
    readings in which something lowered the clocks
    ");
    let compared = line("compare").arg(&quiet).arg(&busy).run().quietly(0);
    let (_, warnings) = compared.stdout.split_once("Warnings").unwrap();
    assert_snapshot!(warnings, @r"
    other programs used 31.0 % of the cores while the current side was measured,
      and 1.0 % while the baseline was: differences may be theirs; measure again
      while nothing else runs

    1 unchanged
    ");
    let json = line("compare --format json")
        .arg(&quiet)
        .arg(&busy)
        .run()
        .quietly(0)
        .json();
    let kinds: Vec<_> = json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["kind"])
        .collect();
    assert_eq!(kinds, ["busy"]);
    let page = directory.path().join("page.html");
    line("report")
        .arg(&busy)
        .arg("-o")
        .arg(&page)
        .run()
        .quietly(0);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("<section id=\"load\"") && html.contains("data-chart=\"load\""));
}
