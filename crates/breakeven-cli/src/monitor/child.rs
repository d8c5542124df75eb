//! A process with a time limit, after which it is asked to end, and then killed.

use std::process::{self, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How often to check whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Time to end by itself after Ctrl-C at the terminal reached it too.
const BY_ITSELF: Duration = Duration::from_secs(1);

/// Time to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the process ended.
#[derive(Debug)]
pub(super) enum Ended {
    Exit(ExitStatus),
    /// It was ended at its limit.
    TimedOut,
    /// It ended, or was ended, because this program ends.
    Interrupted,
}

#[derive(Debug)]
pub(super) struct Child(process::Child);

impl Child {
    /// Starts it in the foreground of the terminal.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Waits for its end, and ends it at the limit or when `stop` is set.
    pub(super) fn wait(
        &mut self,
        limit: Option<Duration>,
        interrupted: Option<&AtomicBool>,
    ) -> io::Result<Ended> {
        let start = Instant::now();
        loop {
            let stop = interrupted.is_some_and(|flag| flag.load(Ordering::SeqCst));
            if let Some(status) = self.0.try_wait()? {
                return Ok(match stop {
                    true => Ended::Interrupted,
                    false => Ended::Exit(status),
                });
            }
            if stop {
                self.end(BY_ITSELF)?;
                return Ok(Ended::Interrupted);
            }
            if limit.is_some_and(|limit| start.elapsed() >= limit) {
                self.end(Duration::ZERO)?;
                return Ok(Ended::TimedOut);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn end(&mut self, by_itself: Duration) -> io::Result<()> {
        let start = Instant::now();
        let mut asked = false;
        while self.0.try_wait()?.is_none() {
            if !asked && start.elapsed() >= by_itself {
                self.ask_to_end();
                asked = true;
            }
            if start.elapsed() >= PATIENCE {
                self.kill();
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    #[cfg(unix)]
    fn ask_to_end(&self) {
        self.send(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    fn kill(&mut self) {
        self.send(rustix::process::Signal::KILL);
    }

    /// Sends a signal to the process, unless it has ended.
    #[cfg(unix)]
    fn send(&self, signal: rustix::process::Signal) {
        use rustix::process::{Pid, kill_process};
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process(pid, signal);
        }
    }

    /// This system cannot ask a process to end.
    #[cfg(not(unix))]
    fn ask_to_end(&mut self) {
        self.kill();
    }

    #[cfg(not(unix))]
    fn kill(&mut self) {
        let _ = self.0.kill();
    }
}
