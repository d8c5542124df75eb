//! The file: what is kept, what is void, the effect of damage.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::ErrorKind;
use crate::cache::{CacheFile, CostsWarning, CostsWarningKind, MachineId};
use crate::plan::{Cost, Observation, RanOn};
use crate::store::Costs;

pub(super) const GPU: &str = "cuda:h100";

/// A directory, and the path of a file in it.
pub(super) fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("costs.json");
    (directory, path)
}

fn machine(cpu: &str) -> MachineId {
    MachineId {
        cpu: Some(cpu.to_owned()),
        cores: 8,
    }
}

/// The model of a made-up machine, and what was wrong with its file.
pub(super) fn open(path: &Path) -> (Costs, Option<CostsWarning>) {
    Costs::of(CacheFile::at(path), machine("EPYC"))
}

pub(super) fn load(path: &Path) -> Costs {
    let (costs, warning) = open(path);
    assert_eq!(warning, None);
    costs
}

fn seen(at: SystemTime, tasks: u64, ns: u64) -> Observation {
    Observation {
        at,
        tasks,
        ns,
        transfer_ns: None,
        workers: 8,
        shared: false,
    }
}

pub(super) fn observe(costs: &Costs, operation: &str, on: RanOn<'_>, tasks: u64, ns: u64) {
    let seen = seen(SystemTime::now(), tasks, ns);
    costs.observe(operation, 4096, on, &seen);
}

fn cpu(costs: &Costs, operation: &str) -> Option<Cost> {
    costs.lookup(operation, 4096, &[GPU], 8).cpu
}

fn gpu(costs: &Costs, operation: &str) -> Option<Cost> {
    costs.lookup(operation, 4096, &[GPU], 8).gpu(0).cost
}

fn file_with_one(path: &Path) {
    let costs = load(path);
    observe(&costs, "blur", RanOn::Cpu, 100, 1_000_000);
    costs.save().expect("a file");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn what_was_saved_is_loaded() {
    let (directory, _) = place();
    let path = directory.path().join("new/below/costs.json");
    let costs = load(&path);
    costs.declare_driver(GPU, "570.1");
    for tasks in [10, 20, 40] {
        observe(&costs, "blur", RanOn::Cpu, tasks, 1_000 * tasks);
        observe(&costs, "blur", RanOn::Gpu(GPU), tasks, 5_000 + 30 * tasks);
    }
    costs.change(|model| model.remember_fit("blur", 4096, GPU, 20, SystemTime::now()));
    costs.change(|model| model.note_run("blur", 4096, 777, true, &[]));
    let known = costs.lookup("blur", 4096, &[GPU], 8);
    costs.save().expect("a file");
    assert_eq!(costs.lookup("blur", 4096, &[GPU], 8), known);
    let loaded = load(&path);
    assert_eq!(loaded.lookup("blur", 4096, &[GPU], 8), known);
    // Nothing new: the file is not even checked.
    fs::remove_file(&path).expect("a file");
    costs.save().expect("nothing to do");
    assert!(!path.exists());
}

#[test]
fn the_file_reads_like_this() {
    let (_directory, path) = place();
    let costs = load(&path);
    costs.declare_driver(GPU, "570.1");
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_500);
    let seen = Observation {
        transfer_ns: Some(500_000),
        ..seen(at, 1_000, 2_500_000)
    };
    costs.observe("blur", 4096, RanOn::Gpu(GPU), &seen);
    costs.change(|model| model.note_run("blur", 4096, 2_500_000, false, &[GPU]));
    costs.save().expect("a file");
    let mut json: serde_json::Value = serde_json::from_str(&read(&path)).expect("JSON");
    let own = &mut json["machines"][0];
    own["saved_at_us"] = 0.into();
    own["operations"][0]["gpus"][0]["alone"]["observations"][0]["writer"] = 7.into();
    insta::assert_snapshot!(json, @r#"{"format":"breakeven-costs","machines":[{"cores":8,"cpu":"EPYC","forgotten":[],"operations":[{"cpu":{"observations":[],"observed":0},"gpus":[{"alone":{"observations":[{"at_us":1700000000500000,"ns":2500000,"number":0,"tasks":1000,"transfer_ns":500000,"workers":8,"writer":7}],"observed":1},"device":"cuda:h100","driver":"570.1","since_ns":0}],"operation":"blur","since_cpu_ns":2500000,"since_hindrance_ns":2500000,"size_class":13,"spent_ns":2500000}],"saved_at_us":0}],"version":1}"#);
}

#[test]
fn a_first_run_poisoned_by_compilation_is_forgotten_within_ten() {
    let (_directory, path) = place();
    let truth = |tasks: u64| 200_000 + 900 * tasks;
    let first = load(&path);
    observe(&first, "blur", RanOn::Gpu(GPU), 1_000, 100 * truth(1_000));
    first.save().expect("a file");
    for (run, tasks) in (1..).zip([
        1_000, 250, 4_000, 1_000, 600, 2_000, 300, 1_500, 3_000, 1_000,
    ]) {
        // Each in a process of its own, with 3 % of noise.
        let costs = load(&path);
        let noise = [100, 103, 98, 101, 97][run % 5];
        let ns = truth(tasks) * noise / 100;
        observe(&costs, "blur", RanOn::Gpu(GPU), tasks, ns);
        costs.save().expect("a file");
    }
    let gpu = gpu(&load(&path), "blur").expect("it was observed");
    assert_eq!(gpu.observations, 11);
    for tasks in [250, 1_000, 2_500, 4_000] {
        let off = gpu.predict_ns(tasks) / truth(tasks) as f64 - 1.0;
        assert!(off.abs() < 0.05, "{off} at {tasks}: {gpu:?}");
    }
}

#[test]
fn saving_twice_counts_once() {
    let (_directory, path) = place();
    let (mine, other) = (load(&path), load(&path));
    for costs in [&mine, &other, &mine, &other, &mine] {
        observe(costs, "blur", RanOn::Cpu, 100, 1_000_000);
        costs.change(|model| model.note_run("blur", 4096, 1_000_000, true, &[]));
        costs.save().expect("a file");
    }
    let known = load(&path).lookup("blur", 4096, &[GPU], 8);
    assert_eq!(known.cpu.expect("it was observed").observations, 5);
    assert_eq!(known.gpu(0).absence.since_ns, 5e6);
    let stamps = read(&path).matches("at_us").count();
    assert_eq!(stamps, 6, "5, and the file's own");
}

#[test]
fn a_chance_that_another_process_gave_counts() {
    let (_directory, path) = place();
    let (mine, other) = (load(&path), load(&path));
    mine.change(|model| model.note_run("blur", 4096, 1_000, true, &[]));
    mine.save().expect("a file");
    other.change(|model| model.note_run("blur", 4096, 50, false, &[GPU]));
    other.change(|model| model.note_run("blur", 4096, 30, true, &[]));
    other.save().expect("a file");
    mine.change(|model| model.note_run("blur", 4096, 7, true, &[]));
    mine.save().expect("a file");
    for costs in [&mine, &load(&path)] {
        let known = costs.lookup("blur", 4096, &[GPU], 8);
        assert_eq!(
            (known.cpu_absence.since_ns, known.gpu(0).absence.since_ns),
            (0.0, 37.0)
        );
    }
}

#[test]
fn forgetting_reaches_the_file() {
    let (_directory, path) = place();
    file_with_one(&path);
    let (mine, other) = (load(&path), load(&path));
    mine.forget("blur", SystemTime::now());
    mine.save().expect("a file");
    observe(&other, "sharpen", RanOn::Cpu, 10, 10);
    other.save().expect("a file");
    assert_eq!(load(&path).operations(), ["sharpen"]);
}

#[test]
fn another_driver_or_processor_makes_it_void_and_other_machines_stay() {
    let (_directory, path) = place();
    let old = load(&path);
    old.declare_driver(GPU, "570.1");
    observe(&old, "blur", RanOn::Gpu(GPU), 10, 10);
    observe(&old, "blur", RanOn::Cpu, 10, 10);
    old.save().expect("a file");

    let new = load(&path);
    new.declare_driver(GPU, "580.2");
    assert!(gpu(&new, "blur").is_none() && cpu(&new, "blur").is_some());
    observe(&new, "blur", RanOn::Gpu(GPU), 10, 99);
    new.save().expect("a file");
    let text = read(&path);
    assert!(text.contains("580.2") && !text.contains("570.1"), "{text}");

    let (elsewhere, _) = Costs::of(CacheFile::at(&path), machine("Xeon"));
    assert!(cpu(&elsewhere, "blur").is_none());
    observe(&elsewhere, "blur", RanOn::Cpu, 10, 77);
    elsewhere.save().expect("a file");
    let here = cpu(&load(&path), "blur").expect("it was observed here");
    assert_eq!(here.predict_ns(10).round(), 10.0);
}

#[test]
fn a_damaged_file_is_put_aside_whole() {
    let (_directory, path) = place();
    let damages = ["", "{\"format\":\"breakeven-costs\"", "[]", "\u{1}"];
    for (number, damage) in (1..).zip(damages) {
        fs::write(&path, damage).expect("a file");
        let (costs, warning) = open(&path);
        let warning = warning.expect("it is damaged");
        assert_eq!(warning.kind, CostsWarningKind::Damaged);
        let said = warning.to_string();
        assert!(said.contains("costs.json: is damaged: "), "{said}");
        assert_eq!(said.lines().count(), 1);
        observe(&costs, "blur", RanOn::Cpu, 100, 10);
        costs.save().expect("a file");
        assert!(cpu(&load(&path), "blur").is_some());
        let aside = path.with_file_name(format!("costs.json.damaged-{number}"));
        assert_eq!(read(&aside), damage);
    }
    fs::write(&path, r#"{"format":"breakeven-profile","version":1}"#).expect("a file");
    let said = open(&path).1.expect("it is something else").message;
    let expected = "is of format \"breakeven-profile\"";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_newer_version_is_left_alone() {
    let (_directory, path) = place();
    let newer = r#"{"format":"breakeven-costs","version":2,"anything":true}"#;
    fs::write(&path, newer).expect("a file");
    let (costs, warning) = open(&path);
    let kind = warning.map(|warning| warning.kind);
    assert_eq!(kind, Some(CostsWarningKind::NewerVersion));
    observe(&costs, "blur", RanOn::Cpu, 100, 10);
    let error = costs.save().expect_err("it is newer");
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_eq!(read(&path), newer);
    assert!(cpu(&costs, "blur").is_some());
}

#[test]
fn a_place_that_cannot_be_written_leaves_the_model_as_it_is() {
    let (directory, path) = place();
    let file = directory.path().join("file");
    fs::write(&file, "").expect("a file");
    let places: [PathBuf; 2] = [file.join("costs.json"), directory.path().to_owned()];
    for path in places {
        let (costs, _) = open(&path);
        observe(&costs, "blur", RanOn::Cpu, 100, 10);
        let error = costs.save().expect_err("there is no such place");
        assert_eq!(error.kind(), ErrorKind::File);
        let named = directory.path().display().to_string();
        assert!(error.to_string().contains(&named), "{error}");
        assert!(cpu(&costs, "blur").is_some());
    }
    // The lock cannot be acquired: the file stays, and the next attempt succeeds.
    file_with_one(&path);
    let (before, costs) = (read(&path), load(&path));
    let lock = path.with_file_name("costs.json.lock");
    fs::remove_file(&lock).expect("the lock's file");
    fs::create_dir(&lock).expect("a directory");
    observe(&costs, "blur", RanOn::Cpu, 100, 10);
    assert_eq!(costs.save().expect_err("no lock").kind(), ErrorKind::File);
    assert_eq!(read(&path), before);
    fs::remove_dir(&lock).expect("a directory");
    costs.save().expect("a file");
    let known = cpu(&load(&path), "blur").expect("it was observed");
    assert_eq!(known.observations, 2);
}

#[test]
fn stamps_of_the_future_are_not_believed() {
    let (_directory, path) = place();
    let later = SystemTime::now() + Duration::from_secs(3 * 24 * 60 * 60);
    let costs = load(&path);
    costs.observe("blur", 4096, RanOn::Cpu, &seen(later, 10, 10));
    costs.forget("sharpen", later);
    costs.save().expect("a file");
    let costs = load(&path);
    assert!(cpu(&costs, "blur").is_none());
    observe(&costs, "sharpen", RanOn::Cpu, 10, 10);
    costs.save().expect("a file");
    assert!(cpu(&load(&path), "sharpen").is_some());
}

#[test]
fn what_is_learned_after_a_forget_by_a_clock_that_was_ahead_is_kept() {
    let (_directory, path) = place();
    let ahead = SystemTime::now() + Duration::from_secs(20 * 60 * 60);
    let costs = load(&path);
    costs.forget("blur", ahead);
    costs.save().expect("a file");
    let costs = load(&path);
    observe(&costs, "blur", RanOn::Cpu, 10, 10);
    costs.save().expect("a file");
    assert!(cpu(&load(&path), "blur").is_some());
}

#[test]
fn what_a_killed_saver_left_is_swept_up() {
    let (_directory, path) = place();
    let [old, new] = [".breakeven-old", ".breakeven-new"].map(|name| path.with_file_name(name));
    fs::write(&new, "").expect("a file");
    let file = fs::File::create(&old).expect("a file");
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    file.set_modified(long_ago).expect("a time");
    file_with_one(&path);
    assert!(!old.exists() && new.exists());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_lock_is_an_error() {
    let (_directory, path) = place();
    let lock = path.with_file_name("costs.json.lock");
    let made = std::process::Command::new("mkfifo").arg(&lock).status();
    assert!(made.expect("mkfifo is there").success());
    let costs = load(&path);
    observe(&costs, "blur", RanOn::Cpu, 10, 10);
    let error = costs.save().expect_err("no lock");
    assert!(error.to_string().contains("not a regular file"), "{error}");
}
