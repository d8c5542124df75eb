//! The output of jobs that waits to be printed, in one file: unnamed, or next to the joblog, in
//! which case it outlives the process.
//!
//! An entry is `hold NUMBER BYTES BYTES` and a newline, then the job's stdout and stderr. `printed
//! NUMBER` and a newline follows once that was printed. The file is emptied whenever no output is
//! stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::joblog::check_regular;
use super::process::{Written, copy_part};

/// Longest header line, bytes.
const LONGEST_LINE: u64 = 100;

/// Position of a job's output in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    at: u64,
    stdout: u64,
    stderr: u64,
}

/// Stored outputs.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    end: u64,
    /// Its name, if it outlives the process.
    path: Option<PathBuf>,
    held: BTreeMap<u64, Held>,
}

/// Writes to a file from a position on.
struct From<'f>(&'f File, u64);

impl io::Write for From<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write_at(bytes, self.1)?;
        self.1 += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Spool {
    /// Creates a spool that ends with the process.
    pub(super) fn unnamed() -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile()?,
            end: 0,
            path: None,
            held: BTreeMap::new(),
        })
    }

    /// Opens that file, with the outputs that an earlier run stored for these jobs.
    pub(super) fn named(path: &Path, ended: &BTreeSet<u64>) -> io::Result<Self> {
        check_regular(path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path)?;
        let (mut held, end) = read(&file)?;
        if end == 0 && file.metadata()?.len() > LONGEST_LINE {
            let what = "the file exists and does not hold the output of jobs; move it away";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        // A job without a line in the joblog runs again.
        held.retain(|number, _| ended.contains(number));
        let end = if held.is_empty() { 0 } else { end };
        file.set_len(end)?;
        Ok(Self {
            file,
            end,
            path: Some(path.to_owned()),
            held,
        })
    }

    /// Number of stored outputs.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Closes the spool.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.path.as_ref().map_or(Ok(()), std::fs::remove_file)
    }

    /// Stores a job's output.
    pub(super) fn hold(
        &mut self,
        number: u64,
        stdout: &Written,
        stderr: &Written,
    ) -> io::Result<()> {
        let head = format!("hold {number} {} {}\n", stdout.len(), stderr.len());
        let mut to = From(&self.file, self.end);
        io::Write::write_all(&mut to, head.as_bytes())?;
        let at = to.1;
        stdout.copy(&mut to)?;
        stderr.copy(&mut to)?;
        self.end = to.1;
        let held = Held {
            at,
            stdout: stdout.len(),
            stderr: stderr.len(),
        };
        self.held.insert(number, held);
        Ok(())
    }

    /// True if the output of that job is stored.
    pub(super) fn holds(&self, number: u64) -> bool {
        self.held.contains_key(&number)
    }

    /// The first job with stored output.
    pub(super) fn first(&self) -> Option<u64> {
        self.held.keys().next().copied()
    }

    /// Prints and removes a job's stored output.
    pub(super) fn print(
        &mut self,
        number: u64,
        out: &mut dyn io::Write,
        err: &mut dyn io::Write,
    ) -> io::Result<()> {
        let Some(held) = self.held.get(&number).copied() else {
            return Ok(());
        };
        copy_part(&self.file, held.at, held.stdout, out)?;
        // The reader of stderr may have gone.
        let _ = copy_part(&self.file, held.at + held.stdout, held.stderr, err);
        self.held.remove(&number);
        if self.held.is_empty() {
            self.end = 0;
            return self.file.set_len(0);
        }
        if self.path.is_some() {
            let mut to = From(&self.file, self.end);
            io::Write::write_all(&mut to, format!("printed {number}\n").as_bytes())?;
            self.end = to.1;
        }
        Ok(())
    }
}

/// The content of a file, and where the last complete entry ends.
fn read(file: &File) -> io::Result<(BTreeMap<u64, Held>, u64)> {
    let length = file.metadata()?.len();
    let mut held = BTreeMap::new();
    let mut reader = BufReader::new(file);
    let mut end = reader.seek(SeekFrom::Start(0))?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = io::Read::take(&mut reader, LONGEST_LINE);
        let read = limited.read_until(b'\n', &mut line)? as u64;
        let text = String::from_utf8_lossy(&line);
        let mut words = text.strip_suffix('\n').unwrap_or_default().split(' ');
        let what = words.next().unwrap_or_default();
        let mut number = || words.next()?.parse::<u64>().ok();
        match (what, number(), number(), number()) {
            ("hold", Some(job), Some(stdout), Some(stderr)) => {
                let at = end + read;
                let behind = stdout
                    .checked_add(stderr)
                    .and_then(|bytes| at.checked_add(bytes));
                let Some(behind) = behind.filter(|behind| *behind <= length) else {
                    return Ok((held, end));
                };
                held.insert(job, Held { at, stdout, stderr });
                end = reader.seek(SeekFrom::Start(behind))?;
            }
            ("printed", Some(job), None, None) => {
                held.remove(&job);
                end += read;
            }
            _ => return Ok((held, end)),
        }
    }
}
