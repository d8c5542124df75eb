//! Runs worker processes and collects their messages. A worker that crashes, hangs or fails costs
//! its current cell; a new worker continues with the next cell.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use breakeven::DeviceErrorKind;

use crate::engine::protocol::{Cell, Message, Request};

/// Added to the library's own time limit, for drivers whose calls never return.
const GRACE: Duration = Duration::from_secs(10);

/// How the work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every cell is done or failed.
    Complete,
    /// Ctrl-C, or the system requested termination.
    Interrupted,
}

/// Peaks are reported once all are measured, and an execution once all its launches are done: many
/// waits, each with its own limit.
const WAITS_OF_MANY: u32 = 8;

/// Length of the output in which the last line is searched, bytes.
const MOST_NOISE: u64 = 1 << 20;

enum Signal {
    Message(Message),
    /// The worker's stdout was closed.
    End,
    Interrupt,
}

/// Runs all cells of a request and hands over each message with its cell's index. If a GPU hung at
/// a point of a sweep, its other points are marked as failed, because each would hang as long.
pub(crate) fn run(request: &Request, on: &mut dyn FnMut(usize, Message)) -> Result<Ended> {
    // Indices of the remaining cells.
    let mut left: Vec<usize> = (0..request.cells.len()).collect();
    while !left.is_empty() {
        let cells = left.iter().map(|index| request.cells[*index].clone());
        let part = Request {
            cells: cells.collect(),
            ..request.clone()
        };
        let mut worker = match Worker::start(&part) {
            Ok(worker) => worker,
            Err(error) => {
                // The remaining cells cannot run; the measurements stay.
                for cell in left {
                    on(cell, Message::failed("no worker", format!("{error:#}")));
                }
                return Ok(Ended::Complete);
            }
        };
        if INTERRUPTED.load(Ordering::SeqCst) {
            return Ok(Ended::Interrupted);
        }
        let mut hung = None;
        let ended = worker.follow(&part, &mut |cell, message| {
            if let (Cell::Point(point), Message::Failed(failure)) = (&part.cells[cell], &message)
                && failure.kind == DeviceErrorKind::Timeout.to_string()
            {
                hung = Some(point.device.clone());
            }
            on(left[cell], message);
        });
        match ended? {
            Followed::Interrupted => return Ok(Ended::Interrupted),
            Followed::All => return Ok(Ended::Complete),
            Followed::FailedAt(cell) => drop(left.drain(..=cell)),
        }
        let Some(hung) = hung else { continue };
        left.retain(|index| {
            let is_of_it =
                matches!(&request.cells[*index], Cell::Point(point) if point.device == hung);
            if is_of_it {
                on(
                    *index,
                    Message::failed("not tried", "the device hung before"),
                );
            }
            !is_of_it
        });
    }
    Ok(Ended::Complete)
}

enum Followed {
    All,
    FailedAt(usize),
    Interrupted,
}

struct Worker {
    child: Child,
    signals: Receiver<Signal>,
    /// Output of the worker's drivers.
    noise: File,
    /// Its length when the current cell began.
    noise_before: u64,
}

impl Worker {
    fn start(request: &Request) -> Result<Self> {
        // Linux starts the running program, even if its file was replaced.
        let program = match cfg!(target_os = "linux") {
            true => PathBuf::from("/proc/self/exe"),
            false => std::env::current_exe().context("cannot find this program's own file")?,
        };
        let noise = tempfile::tempfile().context("cannot keep what a worker's drivers print")?;
        let mut command = Command::new(program);
        command
            .arg("worker")
            // The worker records the requested measurements, whatever the environment says.
            .env_remove("BREAKEVEN_RECORD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(noise.try_clone()?);
        // A separate process group, so that the terminal's Ctrl-C reaches only the parent, which
        // saves the measurements and then ends the worker.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().context("cannot start a worker process")?;
        let (sender, signals) = channel();
        let interrupts = sender.clone();
        on_interrupt(move || {
            // The receiver may be gone.
            let _ = interrupts.send(Signal::Interrupt);
        })?;
        let stdout = child.stdout.take().context("the worker has no stdout")?;
        start_thread(move || read_messages(stdout, &sender))?;
        let mut stdin = child.stdin.take().context("the worker has no stdin")?;
        // If the worker has ended already, its missing answer shows it.
        let _ = writeln!(stdin, "{}", serde_json::to_string(request)?);
        Ok(Self {
            child,
            signals,
            noise,
            noise_before: 0,
        })
    }

    fn follow(
        &mut self,
        request: &Request,
        on: &mut dyn FnMut(usize, Message),
    ) -> Result<Followed> {
        let mut current: Option<usize> = None;
        let mut done = 0;
        loop {
            let cell = current.and_then(|index| request.cells.get(index));
            match self.next(cell, request.device_timeout_s) {
                Ok(Signal::Message(Message::Begin(index))) => {
                    current = Some(index);
                    self.noise_before = self.noise.metadata().map_or(0, |file| file.len());
                }
                Ok(Signal::Message(Message::Failed(failure))) => {
                    let failed = current.context("the worker failed at its start")?;
                    on(failed, Message::Failed(failure));
                    self.stop();
                    return Ok(Followed::FailedAt(failed));
                }
                Ok(Signal::Message(message)) => {
                    let index = current.context("the worker answered before it was ready")?;
                    if matches!(message, Message::End) {
                        done += 1;
                        current = None;
                    }
                    on(index, message);
                }
                Ok(Signal::Interrupt) => {
                    self.stop();
                    return Ok(Followed::Interrupted);
                }
                Ok(Signal::End) if done == request.cells.len() => {
                    self.stop();
                    return Ok(Followed::All);
                }
                silence => {
                    let failure = match silence {
                        Ok(_) => self.crash(),
                        Err(limit) => {
                            self.stop();
                            let message = format!("there was no answer for {} s", limit.as_secs());
                            Message::failed(DeviceErrorKind::Timeout, message)
                        }
                    };
                    // Between two cells, the next one is missing.
                    let failed = current.unwrap_or(done);
                    on(failed, failure);
                    return Ok(Followed::FailedAt(failed));
                }
            }
        }
    }

    /// Waits for the next signal, or reports the time limit that passed. The CPU has no limit: it
    /// does not hang, it is only slow.
    fn next(&self, cell: Option<&Cell>, device_timeout_s: u32) -> Result<Signal, Duration> {
        if !cell.is_some_and(Cell::touches_a_driver) {
            return Ok(self.signals.recv().unwrap_or(Signal::End));
        }
        let waits = match cell {
            Some(Cell::Peak { .. } | Cell::Batch(_)) => WAITS_OF_MANY,
            _ => 1,
        };
        let limit = Duration::from_secs(device_timeout_s.into()) * waits + GRACE;
        match self.signals.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => Err(limit),
            signal => Ok(signal.unwrap_or(Signal::End)),
        }
    }

    fn stop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Describes how a worker ended that did not say so itself.
    fn crash(&mut self) -> Message {
        let how = match self.child.wait() {
            Ok(status) => died_of(status),
            Err(error) => error.to_string(),
        };
        let mut since = Vec::new();
        if self.noise.seek(SeekFrom::Start(self.noise_before)).is_ok() {
            // What cannot be read is not quoted.
            let _ = (&self.noise).take(MOST_NOISE).read_to_end(&mut since);
        }
        let since = String::from_utf8_lossy(&since);
        let mut words = since.lines().rev().map(str::trim);
        let last = words.find(|line| !line.is_empty());
        let last = last.map_or_else(String::new, |line| format!(": {line}"));
        Message::failed("crash", format!("the process {how}{last}"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn died_of(status: std::process::ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (abort)",
            7 => " (bus error)",
            8 => " (arithmetic error)",
            9 => " (killed, perhaps for memory)",
            11 => " (segmentation fault)",
            _ => "",
        };
        return format!("died of signal {signal}{name}");
    }
    match status.code() {
        Some(code) => format!("ended with code {code}"),
        None => "ended".to_owned(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_messages(stdout: impl Read, signals: &Sender<Signal>) {
    for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
        // A driver's own output is no message.
        if let Ok(message) = serde_json::from_slice(&line)
            && signals.send(Signal::Message(message)).is_err()
        {
            return;
        }
    }
    let _ = signals.send(Signal::End);
}

/// Set permanently by the first Ctrl-C, so that one that arrives between workers counts too.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C (or SIGTERM, SIGHUP) has arrived; installs the handler.
pub(crate) fn interruption() -> Result<&'static AtomicBool> {
    on_interrupt(|| ())?;
    Ok(&INTERRUPTED)
}

/// Starts a thread; fails if the system has no more.
pub(crate) fn start_thread<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>> {
    let thread = std::thread::Builder::new().spawn(body);
    thread.context("cannot start a thread")
}

/// Runs a function on Ctrl-C (and SIGTERM, SIGHUP), on a separate thread.
pub(crate) fn on_interrupt(action: impl Fn() + Send + 'static) -> Result<()> {
    type Listener = Box<dyn Fn() + Send>;
    static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    *lock(&LISTENER) = Some(Box::new(action));
    INSTALLED
        .get_or_init(|| {
            ctrlc::set_handler(|| {
                INTERRUPTED.store(true, Ordering::SeqCst);
                let listener = lock(&LISTENER);
                if let Some(listener) = &*listener {
                    listener();
                }
            })
            .map_err(|error| error.to_string())
        })
        .clone()
        .map_err(|error| anyhow::anyhow!("cannot listen for Ctrl-C: {error}"))
}
