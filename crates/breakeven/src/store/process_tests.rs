//! Several processes on one file, and processes that crash.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::tests::{load, place};
use crate::cache as lock;
use crate::plan::RanOn;
use crate::store::Costs;

/// The file, for a child.
const FILE: &str = "BREAKEVEN_TEST_COSTS";

/// The number of the child.
const NUMBER: &str = "BREAKEVEN_TEST_NUMBER";

const PROCESSES: u64 = 4;
const SAVES: u64 = 50;

/// This binary, to run one ignored test of this module.
fn child(test: &str, file: &Path, number: u64) -> Command {
    let (_, module) = module_path!().split_once("::").expect("a module");
    let test = format!("{module}::{test}");
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args([&*test, "--exact", "--ignored", "--nocapture"]);
    command.env(FILE, file).env(NUMBER, number.to_string());
    command
}

fn file() -> PathBuf {
    env::var_os(FILE).expect("the parent names it").into()
}

fn observe(costs: &Costs, operation: &str, tasks: u64) {
    super::tests::observe(costs, operation, RanOn::Cpu, tasks, 1_000 * tasks);
    costs.change(|model| model.note_run(operation, 4096, 1, true, &[]));
}

/// Tasks of the observations of an operation that are in the file, in order.
fn tasks(path: &Path, operation: &str) -> Vec<u64> {
    let known = load(path).change(|model| model.join(vec![], vec![]).operations);
    let known = serde_json::to_value(known).expect("plain data");
    let known = known.as_array().expect("a list").iter();
    let found = known.filter(|known| known["operation"] == operation);
    let seen = found.flat_map(|known| known["cpu"]["observations"].as_array().expect("a list"));
    let mut tasks: Vec<_> = seen.filter_map(|seen| seen["tasks"].as_u64()).collect();
    tasks.sort_unstable();
    tasks
}

fn wait(mut child: Child) {
    assert!(child.wait().expect("a child").success());
}

/// Not a test: one of the processes of the next.
#[test]
#[ignore = "run by processes_that_write_at_once_lose_nothing"]
fn write_fifty_times() {
    let number = env::var(NUMBER).expect("the parent says");
    let number: u64 = number.parse().expect("a number");
    let costs = load(&file());
    for save in 0..SAVES {
        // One in an operation per save, to which each process adds one, and one
        // in the process's own, of which the newest stay.
        observe(&costs, &format!("shared {save}"), 1 + number);
        observe(&costs, &format!("own {number}"), 1 + save);
        costs.save().expect("a file");
    }
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let (directory, path) = place();
    let start = |number| {
        let mut command = child("write_fifty_times", &path, number);
        command.stdout(Stdio::null()).spawn().expect("a child")
    };
    let mut children: Vec<Child> = (0..PROCESSES).map(start).collect();
    let mut looks = 0;
    let mut runs = |child: &mut Child| child.try_wait().expect("a child").is_none();
    while children.iter_mut().any(&mut runs) {
        // Complete at every moment: `load` asserts that there is no warning.
        load(&path);
        looks += 1;
    }
    children.into_iter().for_each(wait);
    assert!(looks > 1, "the file was read while it was written");
    for save in 0..SAVES {
        let shared = format!("shared {save}");
        assert_eq!(tasks(&path, &shared), [1, 2, 3, 4], "{shared}");
    }
    let newest: Vec<u64> = (SAVES - 15..=SAVES).collect();
    for number in 0..PROCESSES {
        let own = format!("own {number}");
        assert_eq!(tasks(&path, &own), newest);
        let known = load(&path).lookup(&own, 4096, &["none"], 1);
        assert_eq!(known.cpu.expect("it was observed").observations, SAVES);
        assert_eq!(known.gpu(0).absence.since_ns, SAVES as f64);
    }
    let left = fs::read_dir(directory.path()).expect("a directory");
    assert_eq!(left.count(), 2, "the file and its lock");
}

/// Not a test: a process that dies while it holds the lock.
#[test]
#[ignore = "run by the_lock_of_a_dead_process_is_free"]
fn die_with_the_lock() {
    let _held = lock::hold(&file(), Duration::ZERO).expect("the lock");
    std::process::abort();
}

#[test]
fn the_lock_of_a_dead_process_is_free() {
    let (_directory, path) = place();
    let lock = path.with_file_name("costs.json.lock");
    let output = child("die_with_the_lock", &lock, 0).output();
    assert!(!output.expect("a child").status.success());
    let costs = load(&path);
    observe(&costs, "blur", 3);
    costs.save().expect("nobody holds the lock");
    assert_eq!(tasks(&path, "blur"), [3]);
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_named() {
    let (_directory, path) = place();
    let path = path.with_file_name("costs.json.lock");
    let patience = Duration::from_millis(50);
    let held = lock::hold(&path, patience).expect("the lock");
    let start = Instant::now();
    let error = lock::hold(&path, patience).expect_err("it is held");
    assert!(start.elapsed() >= patience);
    let expected = "costs.json.lock: another process has held it for 50ms";
    assert!(error.to_string().contains(expected), "{error}");
    drop(held);
    lock::hold(&path, patience).expect("it is free");
}

/// Not a test: saves while files may not grow.
#[cfg(unix)]
#[test]
#[ignore = "run by a_full_disk_leaves_the_old_file"]
fn save_too_much() {
    let costs = load(&file());
    for number in 0..200 {
        observe(&costs, &format!("operation {number}"), 7);
    }
    let error = costs.save().expect_err("there is no room");
    assert_eq!(error.kind(), crate::ErrorKind::File);
    assert!(error.to_string().contains("costs"), "{error}");
    let known = costs.lookup("operation 199", 4096, &[""; 0], 1);
    assert!(known.cpu.is_some());
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file() {
    let (directory, path) = place();
    let costs = load(&path);
    observe(&costs, "blur", 3);
    costs.save().expect("a file");
    let before = fs::read(&path).expect("a file");
    let inner = child("save_too_much", &path, 0);
    // At most 4 KB (8 blocks), with an error in place of a signal.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env(FILE, &path)
        .output()
        .expect("a shell");
    let is_run = String::from_utf8_lossy(&limited.stdout).contains("1 passed");
    assert!(limited.status.success() && is_run, "{limited:?}");
    assert_eq!(fs::read(&path).expect("a file"), before);
    let left = fs::read_dir(directory.path()).expect("a directory");
    assert_eq!(left.count(), 2, "the file and its lock");
}
