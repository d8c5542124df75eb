//! One process of a job: started in its own process group, waited for, with its output in unnamed
//! files.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::running::{EndReason, Running};

/// Length of the end of stderr in which the last line is searched, bytes.
const TAIL: u64 = 4096;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    Exit(i32),
    Signal(i32),
    /// It was ended at its time limit.
    TimedOut,
    /// It was ended because its job was no longer needed.
    Unwanted,
    /// Its arguments are longer than the system takes.
    TooLong,
    /// It did not start, for example because the program does not exist.
    NotStarted(String),
}

impl How {
    pub(crate) fn is_good(&self) -> bool {
        *self == Self::Exit(0)
    }
}

/// `exit status 3`.
impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("over its time limit"),
            Self::Unwanted => f.write_str("ended before it was done"),
            Self::TooLong => f.write_str("its arguments are too long"),
            Self::NotStarted(why) => write!(f, "not started: {why}"),
        }
    }
}

impl std::error::Error for How {}

/// The output of a process; none if it wrote nothing.
#[derive(Debug, Default)]
pub(crate) struct Written(Option<(File, u64)>);

/// A finished process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(super) began: SystemTime,
    pub(crate) took: Duration,
    pub(crate) usage: Usage,
    pub(super) stdout: Written,
    pub(super) stderr: Written,
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(super) group: Pid,
    start: Start,
}

#[derive(Debug)]
struct Start {
    began: SystemTime,
    at: Instant,
    files: Option<(File, File)>,
}

impl Start {
    fn ended(self, how: How, took: Duration, usage: Usage) -> Ended {
        let (stdout, stderr) = match self.files {
            Some((stdout, stderr)) => (Written::of(stdout), Written::of(stderr)),
            None => <_>::default(),
        };
        Ended {
            how,
            began: self.began,
            took,
            usage,
            stdout,
            stderr,
        }
    }

    fn not_started(self, how: How) -> Ended {
        let took = self.at.elapsed();
        self.ended(how, took, Usage::default())
    }
}

impl Process {
    /// Starts it with the standard input that `command` has. With `keeps` its output is kept;
    /// otherwise stdout is discarded and stderr inherited.
    ///
    /// # Errors
    ///
    /// How it ended: it did not start.
    pub(crate) fn start(
        mut command: Command,
        running: &Running,
        keeps: bool,
    ) -> Result<Self, Box<Ended>> {
        let mut start = Start {
            began: SystemTime::now(),
            at: Instant::now(),
            files: None,
        };
        let files = keeps.then(files).transpose();
        let spawned = files.and_then(|files| {
            command.stdout(Stdio::null());
            if let Some((stdout, stderr)) = &files {
                command.stdout(stdout.try_clone()?);
                command.stderr(stderr.try_clone()?);
            }
            start.files = files;
            start.at = Instant::now();
            command.process_group(0).spawn()
        });
        let child = match spawned {
            Ok(child) => child,
            Err(error) => {
                let program = command.get_program().display();
                let how = match error.kind() {
                    io::ErrorKind::ArgumentListTooLong => How::TooLong,
                    _ => How::NotStarted(format!("{program}: {error}")),
                };
                return Err(Box::new(start.not_started(how)));
            }
        };
        let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            let how = How::NotStarted("it has no id".to_owned());
            return Err(Box::new(start.not_started(how)));
        };
        running.started(group);
        Ok(Self { group, start })
    }

    /// Runs it to its end; stdout is discarded, stderr inherited.
    pub(crate) fn run(command: Command, running: &Running) -> Ended {
        match Self::start(command, running, false) {
            Ok(process) => process.wait(running),
            Err(ended) => *ended,
        }
    }

    /// Waits for its end.
    pub(crate) fn wait(self, running: &Running) -> Ended {
        // It keeps its id until nobody can signal its group any more.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(self.group), options) {
            if error != rustix::io::Errno::INTR {
                break;
            }
        }
        let took = self.start.at.elapsed();
        let asked = running.ended(self.group);
        let reaped = reap(self.group);
        let used = reaped
            .as_ref()
            .map_or_else(|_| Usage::default(), |(_, used)| *used);
        let how = match (reaped, asked) {
            (Ok((status, _)), _) if status.success() => How::Exit(0),
            (_, Some(EndReason::Timeout)) => How::TimedOut,
            (_, Some(EndReason::Unwanted)) => How::Unwanted,
            (Ok((status, _)), None) => how(status),
            (Err(error), None) => How::NotStarted(error.to_string()),
        };
        self.start.ended(how, took, used)
    }
}

pub(crate) fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exit(code),
        (None, signal) => How::Signal(signal.unwrap_or_default()),
    }
}

/// Two files for the output of a process.
fn files() -> io::Result<(File, File)> {
    Ok((tempfile::tempfile()?, tempfile::tempfile()?))
}

impl Written {
    fn of(file: File) -> Self {
        let length = file.metadata().map_or(0, |found| found.len());
        Self((length > 0).then_some((file, length)))
    }

    /// Bytes.
    pub(super) fn len(&self) -> u64 {
        self.0.as_ref().map_or(0, |(_, length)| *length)
    }

    /// Passes the bytes on in chunks.
    pub(super) fn copy(&self, to: &mut dyn io::Write) -> io::Result<()> {
        let Some((file, length)) = &self.0 else {
            return Ok(());
        };
        copy_part(file, 0, *length, to)
    }

    /// Its last line.
    pub(super) fn last_line(&self) -> Option<String> {
        let (file, length) = self.0.as_ref()?;
        let mut tail = Vec::new();
        let from = length.saturating_sub(TAIL);
        copy_part(file, from, length - from, &mut tail).ok()?;
        let text = String::from_utf8_lossy(&tail);
        let mut lines = text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    }
}

/// Copies a range of a file, independently of other readers and writers.
pub(super) fn copy_part(
    file: &File,
    from: u64,
    length: u64,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    let mut piece = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(1 << 16)];
    let (mut at, end) = (from, from + length);
    while at < end {
        let most = usize::try_from(end - at)
            .unwrap_or(usize::MAX)
            .min(piece.len());
        let read = file.read_at(piece.get_mut(..most).unwrap_or_default(), at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(piece.get(..read).unwrap_or_default())?;
        at += read as u64;
    }
    Ok(())
}

/// What a process used, with those that it started and waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// Peak resident memory, of the largest of the processes. A new process begins in the memory
    /// of the one that starts it, so a peak that is no larger than this process's is not known.
    pub(crate) peak_bytes: Option<u64>,
    /// With and without reading from a disk.
    pub(crate) page_faults: u64,
}

/// Waits for the end of a process that this one started, and frees its id.
fn reap(process: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    loop {
        // SAFETY: a `rusage` has only integers, for which zero is a value.
        let (mut used, mut own): (libc::rusage, libc::rusage) = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to locals that outlive the call, which writes only there.
        let ended = unsafe { libc::wait4(process.as_raw_pid(), &raw mut status, 0, &raw mut used) };
        match io::Error::last_os_error() {
            error if ended < 0 && error.kind() == io::ErrorKind::Interrupted => continue,
            error if ended < 0 => return Err(error),
            _ => {}
        }
        // SAFETY: as above.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut own) };
        let usage = usage(&used, own.ru_maxrss);
        return Ok((ExitStatus::from_raw(status), usage));
    }
}

fn usage(used: &libc::rusage, own_peak: libc::c_long) -> Usage {
    let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
    let time = |time: libc::timeval| {
        let micros = u64::try_from(time.tv_usec).unwrap_or(0);
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
    };
    // getrusage(2): kilobytes, on Apple's systems bytes.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    Usage {
        user: time(used.ru_utime),
        system: time(used.ru_stime),
        peak_bytes: (used.ru_maxrss > own_peak).then(|| count(used.ru_maxrss).saturating_mul(unit)),
        page_faults: count(used.ru_minflt).saturating_add(count(used.ru_majflt)),
    }
}
