//! A process that is waited for within a limit: then it is asked to end, and then killed.

use std::process::{self, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long it may take to end by itself where Ctrl-C at the terminal reached it too.
const BY_ITSELF: Duration = Duration::from_secs(1);

/// How long it may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// How it ended.
#[derive(Debug)]
pub(super) enum Ended {
    Exit(ExitStatus),
    /// It was ended after its limit.
    TimedOut,
    /// It ended, or was ended, because this program is to end.
    Interrupted,
}

#[derive(Debug)]
pub(super) struct Child(process::Child);

impl Child {
    /// Starts it as a part of what runs at the terminal.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Waits for its end, and ends it after the limit, or when this is set.
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

    /// Sends it to the process; one that has ended needs none.
    #[cfg(unix)]
    fn send(&self, signal: rustix::process::Signal) {
        use rustix::process::{Pid, kill_process};
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process(pid, signal);
        }
    }

    /// There is no asking here.
    #[cfg(not(unix))]
    fn ask_to_end(&mut self) {
        self.kill();
    }

    #[cfg(not(unix))]
    fn kill(&mut self) {
        let _ = self.0.kill();
    }
}
