//! The joblog: a line for each job that has ended, in GNU parallel's format
//! (`parallel --joblog`), so that either can go on where the other was stopped.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::process::{Ended, How};

const HEADER: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/// Columns before the command.
const COLUMNS: usize = 8;

/// For how long a lock is waited for: a run that was killed has it until its jobs have ended.
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
    #[error("the joblog {} is in use by another run: wait for its end, or name another file", path.display())]
    InUse { path: PathBuf },
    #[error("{} is not a joblog: its line {line} is not a joblog's; name another file", path.display())]
    NoJoblog { path: PathBuf, line: usize },
    #[error("the joblog {} is of other commands: its line {line} is of {program:?}; name the joblog of these commands, or leave --resume out", path.display())]
    OtherCommands {
        path: PathBuf,
        line: usize,
        program: String,
    },
}

/// Which jobs of a joblog are not run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// None: it begins anew.
    Nothing,
    /// Those that have ended.
    Ended,
    /// Those that have ended well.
    Succeeded,
}

/// A joblog that is written.
#[derive(Debug)]
pub(super) struct Joblog {
    file: File,
}

/// Numbers of jobs, as ranges in order.
#[derive(Debug, Default)]
pub(super) struct Numbers(Vec<(u64, u64)>);

impl Numbers {
    fn new(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if number <= last.saturating_add(1) => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        Self(ranges)
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        let range = after.checked_sub(1).and_then(|index| self.0.get(index));
        range.is_some_and(|(_, last)| number <= *last)
    }
}

impl Joblog {
    /// Opens a joblog for these programs; which jobs need not be run any more. Nobody else
    /// can open it meanwhile.
    pub(super) fn open(
        path: &Path,
        resume: Resume,
        programs: &[&[u8]],
    ) -> Result<(Self, Numbers), JoblogError> {
        let of_file = |error| JoblogError::File {
            path: path.to_owned(),
            error,
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let file = file.map_err(of_file)?;
        lock(&file, path)?;
        let (numbers, end) = read(&file, path, resume, programs)?;
        let mut joblog = Self { file };
        // The end of a line that was never written whole goes.
        let end = if resume == Resume::Nothing { 0 } else { end };
        joblog.file.set_len(end).map_err(of_file)?;
        if end == 0 {
            joblog.file.write_all(HEADER.as_bytes()).map_err(of_file)?;
        }
        Ok((joblog, Numbers::new(numbers)))
    }

    /// The file, which is locked as long as it is open anywhere.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Adds the lines of a process that has ended, in one piece.
    pub(super) fn add(&mut self, numbers: &[u64], ended: &Ended, shown: &[u8]) -> io::Result<()> {
        let mut lines = Vec::new();
        for number in numbers {
            lines.extend(line(*number, ended, shown));
        }
        self.file.write_all(&lines)
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

/// The jobs that need not be run any more, and where the last whole line ends.
fn read(
    file: &File,
    path: &Path,
    resume: Resume,
    programs: &[&[u8]],
) -> Result<(Vec<u64>, u64), JoblogError> {
    let mut numbers = Vec::new();
    let mut end = 0;
    let mut reader = BufReader::new(file);
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let read = reader.read_until(b'\n', &mut text);
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
            // Without --resume nothing of it is needed.
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
        if let Some(program) = other_program(command, programs) {
            let path = path();
            return Err(JoblogError::OtherCommands {
                path,
                line,
                program,
            });
        }
        if is_success || resume == Resume::Ended {
            numbers.push(number);
        }
    }
    Ok((numbers, end))
}

/// The number of a line's job, whether it ended well, and its command.
fn fields(line: &[u8]) -> Option<(u64, bool, &[u8])> {
    let mut fields = line.splitn(COLUMNS + 1, |byte| *byte == b'\t');
    let text = |field: Option<&[u8]>| String::from_utf8(field?.to_vec()).ok();
    let number = text(fields.next())?.parse().ok()?;
    let mut fields = fields.skip(1);
    // Started, took, sent, received.
    for _ in 0..4 {
        text(fields.next())?.trim().parse::<f64>().ok()?;
    }
    let exit: i64 = text(fields.next())?.parse().ok()?;
    let signal: i64 = text(fields.next())?.parse().ok()?;
    Some((number, (exit, signal) == (0, 0), fields.next()?))
}

/// The program of a command where it is none of these.
fn other_program(command: &[u8], programs: &[&[u8]]) -> Option<String> {
    let first = command.split(|byte| byte.is_ascii_whitespace()).next()?;
    // Shown with what its variables are.
    let is_known = programs.is_empty() || programs.contains(&first);
    let is_shown_whole = first.starts_with(b"BREAKEVEN_");
    (!is_known && !is_shown_whole).then(|| String::from_utf8_lossy(first).into_owned())
}

fn line(number: u64, ended: &Ended, shown: &[u8]) -> Vec<u8> {
    let since = ended.began.duration_since(SystemTime::UNIX_EPOCH);
    let (exit, signal) = match ended.how {
        How::Exit(code) => (code, 0),
        How::Signal(signal) => (0, signal),
        How::TimedOut | How::Unwanted => (-1, 15),
        // As a shell says it.
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
    // A line has no newlines within: GNU parallel has NULs in their place too.
    line.extend(
        shown
            .iter()
            .map(|byte| if *byte == b'\n' { 0 } else { *byte }),
    );
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_again() {
        let numbers = Numbers::new(vec![5, 1, 2, 2, 9, 3, u64::MAX]);
        let found: Vec<u64> = (0..12).filter(|number| numbers.contains(*number)).collect();
        assert_eq!(found, [1, 2, 3, 5, 9]);
        assert!(numbers.contains(u64::MAX) && !numbers.contains(u64::MAX - 1));
        assert!(!Numbers::default().contains(0));
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
