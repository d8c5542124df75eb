//! The runs: each is a process, which appends operations to a file, when they begin and when they
//! end. If it dies in one, a second process measures the following ones.

use std::any::Any;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, io};

use breakeven_profile::profile::{Failure, Operation};

use crate::args::Args;
use crate::bench::{id, stop};
use crate::bencher::Bencher;
use crate::{WRONG, Wrong, report};

/// Has the number of a run and the file for its process, as in `3:/tmp/runs`.
pub(crate) const RUN: &str = "BREAKEVEN_BENCH_RUN";

/// The exit code of a process that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A run in this process.
#[derive(Debug)]
pub(crate) struct Measuring {
    path: PathBuf,
    /// What earlier processes measured.
    earlier: Vec<Operation>,
    number: usize,
}

impl Measuring {
    pub(crate) fn begin() -> Result<Self, Wrong> {
        let run = env::var(RUN)?;
        let (number, path) = run.split_once(':').ok_or(RUN)?;
        Ok(Self {
            path: path.into(),
            earlier: read(Path::new(path))?,
            number: number.parse()?,
        })
    }

    pub(crate) fn run(
        &mut self,
        mut operation: Operation,
        function: impl FnOnce(&mut Bencher),
        args: &Args,
    ) {
        let is_same = |known: &&Operation| known.key() == operation.key() && !has_begun(known);
        let known: Vec<&Operation> = self.earlier.iter().filter(is_same).collect();
        // What failed fails again.
        if known.len() >= self.number || known.iter().any(|known| known.failure.is_some()) {
            return;
        }
        if io::stderr().is_terminal() {
            let (number, runs, id) = (self.number, args.runs, id(&operation));
            let _ = write!(io::stderr(), "\r\x1b[2Krun {number} of {runs}: {id}");
        }
        let keep = |operation: &Operation| {
            append(operation, &self.path).unwrap_or_else(|wrong| stop(wrong));
        };
        operation.failure = crash(String::new());
        keep(&operation);
        let mut bencher = Bencher {
            time: Some(args.time),
            ..Bencher::default()
        };
        operation.failure = call(&mut bencher, function).err();
        if operation.failure.is_none() {
            operation.runs.push(bencher.run);
        }
        keep(&operation);
    }
}

/// Calls a benchmark's function.
fn call(bencher: &mut Bencher, function: impl FnOnce(&mut Bencher)) -> Result<(), Failure> {
    let failure = |kind: &str, message: String| {
        let kind = kind.to_owned();
        Err(Failure { kind, message })
    };
    match (
        catch_unwind(AssertUnwindSafe(|| function(bencher))),
        bencher.routines,
    ) {
        (Err(panic), _) => failure("panic", message(panic.as_ref())),
        (Ok(()), 1) => Ok(()),
        (Ok(()), other) => failure("error", format!("it calls iter {other} times, not once")),
    }
}

/// The message of a panic, in one line.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let words = text.unwrap_or("not a text").split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// The failure of an operation whose process died; without a message of one that has begun.
fn crash(message: String) -> Option<Failure> {
    let kind = "crash".to_owned();
    Some(Failure { kind, message })
}

fn has_begun(operation: &Operation) -> bool {
    operation.failure == crash(String::new())
}

fn append(operation: &Operation, path: &Path) -> Result<(), Wrong> {
    let line = serde_json::to_string(operation)? + "\n";
    let mut file = File::options().append(true).open(path)?;
    Ok(file.write_all(line.as_bytes())?)
}

/// The operations of a run. The last line may be cut off.
fn read(path: &Path) -> Result<Vec<Operation>, Wrong> {
    let text = fs::read_to_string(path)?;
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.map_while(Result::ok).collect())
}

/// Measures all runs. Returns the operations, and the exit code of the first run that did not end
/// well: no further one began.
pub(crate) fn all(args: &Args) -> Result<(Vec<Operation>, u8), Wrong> {
    // Without a handler Ctrl-C ends this process too.
    let _ = ctrlc::set_handler(|| IS_INTERRUPTED.store(true, Ordering::Relaxed));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runs");
    File::create(&path)?;
    let mut codes = (1..=args.runs).map(|number| one(number, &path, args));
    let code = codes.find(|code| !matches!(code, Ok(0))).unwrap_or(Ok(0))?;
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[2K");
    }
    let mut operations: Vec<Operation> = Vec::new();
    for read in read(&path)?.into_iter().filter(|read| !has_begun(read)) {
        let mut known = operations.iter_mut();
        match known.find(|known| known.key() == read.key()) {
            Some(known) => {
                known.runs.extend(read.runs);
                known.failure = read.failure;
            }
            None => operations.push(read),
        }
    }
    Ok((operations, code))
}

/// Starts this executable again for a run, until all benchmarks were measured. Ctrl-C in a terminal
/// ends that process too. Returns its exit code.
fn one(number: usize, path: &Path, args: &Args) -> Result<u8, Wrong> {
    loop {
        let mut command = Command::new(env::current_exe()?);
        command.args(env::args_os().skip(1));
        command.env(RUN, format!("{number}:{}", path.display()));
        if !args.nocapture {
            command.stdout(Stdio::null());
        }
        let status = command.status()?;
        let last = read(path)?.pop().filter(has_begun);
        match (last, status.code()) {
            _ if IS_INTERRUPTED.load(Ordering::Relaxed) => return Ok(INTERRUPTED),
            (Some(mut last), _) => {
                last.failure = crash(format!("the process ended with {status}"));
                append(&last, path)?;
            }
            (None, Some(0)) => return Ok(0),
            // It has reported why.
            (None, Some(code)) if code == i32::from(WRONG) => return Ok(WRONG),
            (None, _) => {
                report(format!("a run ended with {status} outside of a benchmark"));
                return Ok(1);
            }
        }
    }
}
