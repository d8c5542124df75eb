//! A program that uses breakeven and publishes its figures: this test binary, run again.

use std::convert::Infallible;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{CancelToken, RayonCpu, StrategyManager};
use breakeven::testing::{Fault, FaultScript, SimulatedGpu, SimulatedSpec};
use breakeven::{Costs, DeviceErrorKind};
use serde_json::Value;

use crate::command::{Breakeven, line};

/// `once` or `busy`, in the environment of the program.
const CHILD: &str = "BREAKEVEN_MONITOR_TEST_CHILD";

/// The program's part; does nothing when it is run as a test.
#[test]
#[allow(clippy::print_stdout, reason = "the program reports on stdout")]
fn child() {
    let Ok(way) = std::env::var(CHILD) else {
        return;
    };
    let spec = SimulatedSpec {
        name: "Made-up GPU".to_owned(),
        ..SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(1))
    };
    let lost = Fault::PollError(DeviceErrorKind::DeviceLost);
    let gpu =
        SimulatedGpu::new(spec, |task: &u64| task + 1).with_faults(FaultScript::none().at(1, lost));
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy("hybrid:60/40".parse().unwrap());
    let tasks: Vec<u64> = (0..1000).collect();
    let run = |operation: &str| {
        let batch = manager.operation(operation);
        batch.execute(&tasks, |task| Ok::<_, Infallible>(task + 1))
    };
    for operation in ["reported", "reported", "other"] {
        run(operation).unwrap();
    }
    let cancelled = CancelToken::new();
    cancelled.cancel();
    let batch = manager.operation("reported").cancel(&cancelled);
    let stopped = batch.execute(&tasks, |task| Ok::<_, Infallible>(task + 1));
    assert!(stopped.is_err(), "it was cancelled before it began");
    println!(
        "\nSTATS {}",
        serde_json::to_string(&manager.stats()).unwrap()
    );
    if way == "busy" {
        std::thread::spawn(move || {
            loop {
                run_slowly(&manager);
            }
        });
    }
    // Ends with whoever started it.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A batch of a millisecond.
fn run_slowly(manager: &StrategyManager<RayonCpu, SimulatedGpu<u64, u64>>) {
    let batch = manager.operation("busy");
    let slow = |task: &u64| {
        std::thread::sleep(Duration::from_millis(1));
        *task
    };
    batch.map([1_u64], slow).unwrap();
}

/// A program that was started, and has done its batches.
pub(super) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What its manager says that it did.
    pub(super) stats: Value,
}

impl Program {
    /// One that publishes in a folder.
    pub(super) fn start(way: &str, folder: &Path) -> Self {
        Self::started(way, folder, "1")
    }

    pub(super) fn started(way: &str, folder: &Path, monitor: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["engine::monitor::program::child", "--exact", "--nocapture"])
            .env(CHILD, way)
            .env("BREAKEVEN_MONITOR", monitor)
            .env("XDG_RUNTIME_DIR", folder)
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stats = lines.find_map(|line| {
            let line = line.unwrap();
            let stats = line.strip_prefix("STATS ")?;
            Some(serde_json::from_str(stats).unwrap())
        });
        // What the harness says at the end finds somebody who reads.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            stdin,
            stats: stats.expect("it says what it did"),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Has it end by itself.
    pub(super) fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `breakeven monitor` with programs of that folder only.
pub(super) fn monitor(args: &str, folder: &Path) -> Breakeven {
    line("monitor")
        .args(args)
        .env("XDG_RUNTIME_DIR", folder)
        .env("TMPDIR", folder)
}

/// The names of the sockets that are there.
pub(super) fn sockets(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("breakeven")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}
