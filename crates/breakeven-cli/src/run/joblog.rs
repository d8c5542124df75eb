//! The joblog: a line per finished job, in GNU parallel's format (`parallel --joblog`), so that
//! either tool can resume the other's run.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::io::{FdFlags, fcntl_setfd};

use super::process::{Ended, How};

const HEADER: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/// Columns before the command.
const COLUMNS: usize = 8;

/// Timeout for the lock: the jobs of a killed run have it until they end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a joblog cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoblogError {
    #[error("cannot use the joblog {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("the joblog {} is in use by another run, or by a job of one that was killed: \
        wait for its end, or name another file", path.display())]
    InUse { path: PathBuf },
    #[error("the joblog {} has jobs of an earlier run: --resume continues it, --resume-failed \
        repeats the failed jobs; to start over, remove it or name another file", path.display())]
    Exists { path: PathBuf },
    #[error("{} is not a joblog: its line {line} is not a joblog's; name another file", path.display())]
    NoJoblog { path: PathBuf, line: usize },
}

/// Which jobs of a joblog to skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// None: the joblog is new.
    Nothing,
    /// Those that have ended.
    Ended,
    /// Those that succeeded.
    Succeeded,
}

/// An open joblog.
#[derive(Debug)]
pub(super) struct Joblog {
    file: File,
}

/// Jobs of a joblog to skip.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Hash of each job's command line, and its number.
    jobs: BTreeSet<(u64, u64)>,
    /// The numbers of the failed jobs.
    failed: BTreeSet<u64>,
}

impl Before {
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// True if the job with this number failed.
    pub(super) fn has_failed(&self, number: u64) -> bool {
        self.failed.contains(&number)
    }

    /// Removes a job with one of these command lines, preferably the one with that number, and
    /// returns its number.
    pub(super) fn take(&mut self, number: u64, commands: &[Vec<u8>]) -> Option<u64> {
        let keys: Vec<u64> = commands.iter().map(|command| key(command)).collect();
        if keys.iter().any(|key| self.jobs.remove(&(*key, number))) {
            return Some(number);
        }
        let mut found = keys
            .iter()
            .flat_map(|key| self.jobs.range((*key, 0)..=(*key, u64::MAX)));
        let found = *found.next()?;
        self.jobs.remove(&found);
        Some(found.1)
    }
}

/// Identifies a command line independently of its quoting: GNU parallel quotes differently.
fn key(command: &[u8]) -> u64 {
    let command = one_line(command);
    let words = shlex::bytes::split(&command);
    let mut hasher = DefaultHasher::new();
    words.unwrap_or_else(|| vec![command]).hash(&mut hasher);
    hasher.finish()
}

/// A command without newlines: GNU parallel replaces them by NULs.
fn one_line(command: &[u8]) -> Vec<u8> {
    let bytes = command.iter();
    let bytes = bytes.map(|byte| if *byte == b'\n' { 0 } else { *byte });
    bytes.collect()
}

/// Refuses a device or a pipe, because the file must be readable again.
fn check_regular(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => {
            let what = "it is not a regular file, so what is written cannot be read again; name a \
                        file";
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        _ => Ok(()),
    }
}

impl Joblog {
    /// Opens and locks a joblog; returns it with the jobs to skip.
    pub(super) fn open(path: &Path, resume: Resume) -> Result<(Self, Before), JoblogError> {
        let of_file = |error| JoblogError::File {
            path: path.to_owned(),
            error,
        };
        check_regular(path).map_err(of_file)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let file = file.map_err(of_file)?;
        lock(&file, path)?;
        // Jobs inherit the lock, so that a later run does not repeat one that still runs.
        let _ = fcntl_setfd(&file, FdFlags::empty());
        let (before, end) = read(&file, path, resume)?;
        let length = file.metadata().map_err(of_file)?.len();
        if resume == Resume::Nothing && length > HEADER.len() as u64 {
            let path = path.to_owned();
            return Err(JoblogError::Exists { path });
        }
        let mut joblog = Self { file };
        // Removes an incomplete last line.
        joblog.file.set_len(end).map_err(of_file)?;
        if end == 0 {
            joblog.file.write_all(HEADER.as_bytes()).map_err(of_file)?;
        }
        Ok((joblog, before))
    }

    /// Appends lines in one write.
    pub(super) fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines)
    }
}

fn lock(file: &File, path: &Path) -> Result<(), JoblogError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                let path = path.to_owned();
                return Err(JoblogError::InUse { path });
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

/// The jobs to skip, and where the last complete line ends.
fn read(file: &File, path: &Path, resume: Resume) -> Result<(Before, u64), JoblogError> {
    let mut before = Before::default();
    let mut end = 0;
    let mut reader = BufReader::new(file);
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        // The first line of another kind of file may be endless.
        let most = if line == 1 {
            HEADER.len() as u64
        } else {
            u64::MAX
        };
        let read = reader.by_ref().take(most).read_until(b'\n', &mut text);
        let read = read.map_err(|error| JoblogError::File {
            path: path.to_owned(),
            error,
        })?;
        let path = || path.to_owned();
        let is_whole = text.pop_if(|last| *last == b'\n').is_some();
        let header = HEADER.trim_end().as_bytes();
        let is_good = match line {
            1 if is_whole => text == header,
            1 => header.starts_with(&text),
            // Without --resume the lines are not needed.
            _ => resume == Resume::Nothing || !is_whole || fields(&text).is_some(),
        };
        if !is_good {
            return Err(JoblogError::NoJoblog { path: path(), line });
        }
        if !is_whole || resume == Resume::Nothing {
            break;
        }
        end += read as u64;
        let Some((number, is_success, command)) = fields(&text) else {
            continue;
        };
        if is_success || resume == Resume::Ended {
            before.jobs.insert((key(command), number));
        }
        match is_success {
            true => before.failed.remove(&number),
            false => before.failed.insert(number),
        };
    }
    Ok((before, end))
}

/// The number of a line's job, whether it succeeded, and its command.
fn fields(line: &[u8]) -> Option<(u64, bool, &[u8])> {
    let mut fields = line.splitn(COLUMNS + 1, |byte| *byte == b'\t');
    let text = |field: Option<&[u8]>| String::from_utf8(field?.to_vec()).ok();
    let number = text(fields.next())?.parse().ok()?;
    let mut fields = fields.skip(1);
    // Columns: start, duration, sent, received.
    for _ in 0..4 {
        text(fields.next())?.trim().parse::<f64>().ok()?;
    }
    let exit: i64 = text(fields.next())?.parse().ok()?;
    let signal: i64 = text(fields.next())?.parse().ok()?;
    Some((number, (exit, signal) == (0, 0), fields.next()?))
}

/// The line of a job.
pub(super) fn line(number: u64, ended: &Ended, shown: &[u8]) -> Vec<u8> {
    let since = ended.began.duration_since(SystemTime::UNIX_EPOCH);
    let (exit, signal) = match ended.how {
        How::Exit(code) => (code, 0),
        How::Signal(signal) => (0, signal),
        How::TimedOut | How::Unwanted => (-1, 15),
        // The exit code, as a shell reports it.
        How::TooLong => (126, 0),
        How::NotStarted(_) => (127, 0),
    };
    let mut line = format!(
        "{number}\t:\t{:.3}\t{:10.3}\t0\t{}\t{exit}\t{signal}\t",
        since.unwrap_or_default().as_secs_f64(),
        ended.took.as_secs_f64(),
        ended.stdout.len(),
    )
    .into_bytes();
    line.extend(one_line(shown));
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_taken_by_their_command_lines_each_once() {
        let jobs = [
            ("echo a", 1),
            ("echo b", 2),
            ("echo a", 3),
            ("echo 'x y'", 4),
        ];
        let keys = jobs.map(|(command, number)| (key(command.as_bytes()), number));
        let mut before = Before {
            jobs: keys.into_iter().collect(),
            ..Before::default()
        };
        let mut take = |number, command: &str| before.take(number, &[command.as_bytes().to_vec()]);
        assert_eq!(take(3, "echo a"), Some(3));
        assert_eq!(take(2, "echo a"), Some(1));
        assert_eq!(take(1, "echo a"), None);
        assert_eq!(take(2, "echo c"), None);
        assert_eq!(take(9, "echo x\\ y"), Some(4));
        assert_eq!(before.len(), 1);
    }

    #[test]
    fn lines_of_gnu_parallel_are_read() {
        let line = b"12\t:\t1795435700.352\t     0.003\t0\t4\t-1\t15\techo 'x\ty'";
        assert_eq!(fields(line), Some((12, false, &b"echo 'x\ty'"[..])));
        let line = b"1\thost\t1.5\t0.1\t0\t4\t0\t0\ttrue";
        assert_eq!(fields(line), Some((1, true, &b"true"[..])));
        for wrong in [
            "",
            "1",
            "x\t:\t1\t1\t0\t4\t0\t0\ttrue",
            "1\t:\t1\t1\t0\t4\t0\t0",
            "{\"a\": 1}",
        ] {
            assert_eq!(fields(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
