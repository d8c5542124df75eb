//! The guard: a process that ends the jobs of a run that was killed. Otherwise they would continue,
//! and run again when the run is resumed.
//!
//! It keeps the joblog's lock until they have ended. It identifies them by an environment variable,
//! which their child processes inherit.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::jobs::RUN_VARIABLE;

/// The message that all jobs have ended.
const DONE: &[u8] = b"done";

/// Longest time to look for processes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two searches; it ends after the second one that finds none.
const PAUSE: Duration = Duration::from_millis(20);

/// The run's handle of its guard.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// Starts the guard of a run.
    pub(super) fn start(run: &str, joblog: Option<&File>) -> io::Result<Self> {
        let lock = match joblog {
            Some(joblog) => Stdio::from(joblog.try_clone()?),
            None => Stdio::null(),
        };
        let mut command = Command::new("/proc/self/exe");
        command.args(["run-guard", run]).env_remove(RUN_VARIABLE);
        command
            .stdin(Stdio::piped())
            .stdout(lock)
            .stderr(Stdio::null());
        command.process_group(0).spawn().map(Self)
    }

    /// Reports that all jobs have ended.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            // The guard may be gone already.
            let _ = pipe.write_all(DONE);
        }
        let _ = self.0.wait();
    }
}

/// Runs in the guard's process.
pub(crate) fn run(run: &str) -> io::Result<()> {
    let mut received = Vec::new();
    io::stdin().lock().read_to_end(&mut received)?;
    let until = Instant::now() + PATIENCE;
    let variable = format!("{RUN_VARIABLE}={run}");
    let mut empty = 0;
    while received != DONE && empty < 2 && Instant::now() < until {
        empty = if end_all(variable.as_bytes())? {
            0
        } else {
            empty + 1
        };
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Ends the processes with that variable; returns whether there were any.
fn end_all(variable: &[u8]) -> io::Result<bool> {
    let mut found = false;
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.parse().ok());
        let Some(process) = id.and_then(Pid::from_raw) else {
            continue;
        };
        let has_variable = || {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|each| each == variable)
        };
        if !has_variable() {
            continue;
        }
        // The id may belong to another process by now; the handle cannot.
        if let Ok(handle) = pidfd_open(process, PidfdFlags::empty())
            && has_variable()
        {
            found |= pidfd_send_signal(handle, Signal::KILL).is_ok();
        }
    }
    Ok(found)
}
