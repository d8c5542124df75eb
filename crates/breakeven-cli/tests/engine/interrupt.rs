//! Ctrl-C keeps what was measured and says so, whatever else happens to the
//! command's processes and pipes.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::{Ended, directory, line, show};

/// Longer than anything here takes on a machine under load.
const PATIENCE: Duration = Duration::from_secs(60);

/// A CPU kernel that runs for many minutes.
const LONG: &str = "profile --iterations 100000 --device cpu --kernel pixel_entropy --warmup 1";

/// The same kernel's batch through the executor, for as long.
const LONG_BATCH: &str = "profile --iterations 100000 --strategy cpu-only --tasks 4 \
    --kernel pixel_entropy --warmup 1";

pub(crate) fn signal(name: &str, pid: u32) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(status.unwrap().success(), "kill -{name} {pid}");
}

/// Ends a process that may have ended by itself.
fn kill(pid: u32) {
    let pid = pid.to_string();
    let killed = Command::new("kill").args(["-KILL", &pid]).output();
    assert!(killed.is_ok(), "kill -KILL {pid}");
}

/// The processes that `pid` has started and not yet seen the end of.
fn children(pid: u32) -> Vec<u32> {
    let listed = Command::new("ps")
        .args(["-A", "-o", "pid=,ppid="])
        .output()
        .expect("ps is there, as kill is");
    String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| {
            let mut ids = line.split_whitespace().map(|id| id.parse::<u32>().unwrap());
            let child = ids.next()?;
            (ids.next()? == pid).then_some(child)
        })
        .collect()
}

/// True while a process of this id runs.
fn runs(pid: u32) -> bool {
    let shown = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8(shown.stdout).unwrap();
    // A zombie has ended.
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

#[track_caller]
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A profile that measures pixel_entropy, its worker, and its file.
struct Measuring {
    child: Child,
    worker: u32,
    started: Instant,
    file: PathBuf,
}

impl Measuring {
    /// Starts one, which is given this time for the peaks and the first samples.
    fn start(args: &str, directory: &Path, time: Duration) -> Self {
        let started = Instant::now();
        let file = directory.join("profile.json");
        let child = line(args).arg("-o").arg(&file).command.spawn().unwrap();
        std::thread::sleep(time);
        let mut worker = None;
        wait_until("a worker", || {
            worker = children(child.id()).first().copied();
            worker.is_some()
        });
        Self {
            worker: worker.unwrap(),
            child,
            started,
            file,
        }
    }

    fn end(self) -> Ended {
        let output = self.child.wait_with_output().unwrap();
        Ended::of(output, self.started.elapsed())
    }
}

/// Stops a profile in the middle of its samples, by `stop`. Nothing shows from
/// outside when that is, so it is stopped later and later until there are some.
fn stopped(args: &str, directory: &Path, stop: impl Fn(&mut Measuring)) -> Ended {
    let mut time = Duration::from_secs(2);
    loop {
        let mut measuring = Measuring::start(args, directory, time);
        let (worker, file) = (measuring.worker, measuring.file.clone());
        stop(&mut measuring);
        let ended = measuring.end();
        assert!(!runs(worker), "the worker is left behind: {ended:#?}");
        // Where nothing was measured, nothing was written.
        if file.exists() {
            let shown = show(&file, "--format json").quietly(0).json();
            let figures = &shown["operations"][0]["figures"];
            if figures["summary"]["count"].as_u64() > Some(0) {
                return ended;
            }
        }
        time *= 2;
        assert!(time < PATIENCE, "nothing is measured: {ended:#?}");
    }
}

/// Whether the file in `directory` says that it was interrupted, as `show` does.
#[track_caller]
fn says_interrupted(directory: &Path) -> bool {
    let file = directory.join("profile.json");
    let document: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let shown = show(&file, "").quietly(0);
    let interrupted = document["interrupted"] == true;
    assert_eq!(!shown.lines_with("interrupted: ").is_empty(), interrupted);
    interrupted
}

fn interrupted_by(name: &str, args: &str) {
    let directory = directory();
    // To the parent alone; a terminal would send it to the whole group, of
    // which the worker is no part.
    let ended = stopped(args, directory.path(), |profile| {
        signal(name, profile.child.id());
    });
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert_eq!(
        ended.stderr,
        "interrupted: the measurements so far are above\n"
    );
    assert!(ended.stdout.contains("pixel_entropy"), "{ended:#?}");
    assert!(ended.stdout.contains("interrupted: "), "{ended:#?}");
    assert!(says_interrupted(directory.path()));
}

#[test]
fn ctrl_c() {
    interrupted_by("INT", LONG);
}

#[test]
fn ctrl_c_between_executions_of_a_batch() {
    interrupted_by("INT", LONG_BATCH);
}

#[test]
fn ctrl_c_between_points_of_a_sweep() {
    let sweep = "sweep pixel_entropy --device cpu --from 64 --to 1024 --rounds 1000";
    interrupted_by("INT", sweep);
}

#[test]
fn a_polite_request_to_stop() {
    interrupted_by("TERM", LONG);
}

#[test]
fn a_worker_that_is_killed_costs_its_row_and_keeps_the_samples() {
    let directory = directory();
    // In the middle of the peaks it costs those, and another worker goes on.
    let ended = stopped(LONG, directory.path(), |profile| {
        while profile.child.try_wait().unwrap().is_none() {
            for worker in children(profile.child.id()) {
                kill(worker);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let ended = ended.quietly(1);
    let failed = ended.lines_with("  failed: ");
    let why = "died of signal 9 (killed, perhaps for memory)";
    assert!(
        matches!(failed[..], [line] if line.contains(why)),
        "{ended:#?}"
    );
    assert!(!says_interrupted(directory.path()));
}

#[test]
fn a_parent_that_is_killed_takes_its_worker_along() {
    let directory = directory();
    let measuring = Measuring::start(LONG, directory.path(), Duration::from_secs(1));
    let worker = measuring.worker;
    signal("KILL", measuring.child.id());
    let ended = measuring.end();
    assert_eq!(ended.code, None, "{ended:#?}");
    wait_until("the worker's end", || !runs(worker));
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "no half file: {left:?}");
}

/// Lets `args` write to a pipe whose reader reads `bytes` and goes.
#[track_caller]
fn reader_that_goes(args: &str, file: Option<&Path>, bytes: usize, code: i32) {
    let mut command = line(args);
    if let Some(file) = file {
        command = command.arg(file);
    }
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.command.stdout(writer);
    let start = Instant::now();
    let child = match bytes {
        // Gone before the program begins.
        0 => {
            drop(reader);
            command.command.spawn().unwrap()
        }
        bytes => {
            let child = command.command.spawn().unwrap();
            reader.read_exact(&mut vec![0; bytes]).unwrap();
            drop(reader);
            child
        }
    };
    // It holds the other end.
    drop(command);
    let output = child.wait_with_output().unwrap();
    let ended = Ended::of(output, start.elapsed());
    assert_eq!(ended.stderr, "", "{args}");
    assert_eq!(ended.code, Some(code), "{args}");
}

#[test]
fn a_reader_that_has_enough() {
    // Larger than what a pipe holds, so that writing goes on when the reader goes.
    let operation = |i: u32| format!("{{\"name\": \"f{i}\", \"samples_ns\": [{i}, 20, 30]}}");
    let operations: Vec<_> = (1..4000).map(operation).collect();
    let text = format!(
        "{{\"format\": \"breakeven-profile\", \"version\": 1, \"operations\": [{}]}}",
        operations.join(",\n")
    );
    let directory = directory();
    let file = directory.path().join("big.json");
    fs::write(&file, text).unwrap();
    for format in ["table", "csv", "json"] {
        reader_that_goes(&format!("show --format {format}"), Some(&file), 10, 141);
    }
    // The verdict is the exit code, whoever still reads.
    let budget = directory.path().join("budget.toml");
    fs::write(&budget, "[[budget]]\noperation = \"f1\"\nmax = \"1 ns\"\n").unwrap();
    let args = format!("show --budget {}", budget.display());
    reader_that_goes(&args, Some(&file), 10, 1);
}

#[test]
fn a_reader_that_goes_before_the_first_word() {
    for args in ["devices", "devices --format json", "--help"] {
        reader_that_goes(args, None, 0, 141);
    }
}
