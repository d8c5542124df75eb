//! Inputs of jobs, as bytes: arguments, the lines of a file or of stdin.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use indicatif::ProgressBar;

use crate::run::args::RunArgs;

/// Inputs that are read ahead; more with a progress bar, which shows how many remain.
const AHEAD: usize = 1024;
const SHOWN_AHEAD: usize = 1 << 16;

/// Longest input, bytes: no system accepts a longer argument.
const LONGEST: u64 = 2 << 20;

/// One input, which is one job.
#[derive(Debug)]
pub(super) struct Input {
    /// Its number, from 1.
    pub(super) number: u64,
    pub(super) value: OsString,
}

/// Why inputs cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error(
        "no command can have input {number} as its argument: it has a NUL byte; `-0` reads inputs that end with one"
    )]
    Nul { number: u64 },
    #[error("input {number} is longer than 2 MiB, which no argument can be")]
    TooLong { number: u64 },
    #[error(
        "{0:?} is GNU parallel's: give the inputs alone, as in `breakeven run --cpu 'CMD {{}}' a b c`; there is one list of inputs, so combine several lists before"
    )]
    Separator(String),
    #[error("cannot read the inputs of {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("cannot read inputs from stdin")]
    Stdin(#[source] io::Error),
    #[error("cannot start the thread that reads the inputs")]
    Thread(#[source] io::Error),
    #[error(
        "give the inputs as arguments, with `--arg-file FILE` or on stdin, which is a terminal here"
    )]
    Terminal,
}

/// Reads the inputs in a separate thread; they arrive in order, and the progress bar grows with
/// them.
pub(super) fn read(
    args: &RunArgs,
    bar: &ProgressBar,
) -> Result<Receiver<Result<Input, InputError>>, InputError> {
    let mut texts = args.inputs.iter().filter_map(|input| input.to_str());
    if let Some(found) = texts.find(|text| [":::", "::::", ":::+", "::::+"].contains(text)) {
        return Err(InputError::Separator(found.to_owned()));
    }
    let (sender, receiver) = sync_channel(if args.progress { SHOWN_AHEAD } else { AHEAD });
    let bar = bar.clone();
    let send = move |input| {
        bar.inc_length(1);
        sender.send(input).is_ok()
    };
    let list = args.arg_file.as_deref();
    if let Some(path) = list.filter(|path| *path != Path::new("-")) {
        let path = path.to_owned();
        let file = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        });
        let of_file = move |error| InputError::File {
            path: path.clone(),
            error,
        };
        let file = file.map_err(&of_file)?;
        send_lines(file, args.null, send, of_file)?;
    } else if !args.inputs.is_empty() {
        let values = args.inputs.clone();
        start(move || {
            for (value, number) in values.into_iter().zip(1..) {
                if !send(Ok(Input { number, value })) {
                    return;
                }
            }
        })?;
    } else if args.arg_file.is_none() && io::stdin().is_terminal() {
        return Err(InputError::Terminal);
    } else {
        send_lines(io::stdin(), args.null, send, InputError::Stdin)?;
    }
    Ok(receiver)
}

fn send_lines(
    file: impl io::Read + Send + 'static,
    by_nul: bool,
    send: impl Fn(Result<Input, InputError>) -> bool + Send + 'static,
    failed: impl Fn(io::Error) -> InputError + Send + 'static,
) -> Result<(), InputError> {
    start(move || {
        let mut file = BufReader::with_capacity(1 << 16, file);
        let end = if by_nul { 0 } else { b'\n' };
        for number in 1.. {
            let mut value = Vec::new();
            let read = file.by_ref().take(LONGEST).read_until(end, &mut value);
            let input = match read {
                Ok(0) => return,
                Ok(length) if length as u64 == LONGEST => Err(InputError::TooLong { number }),
                Ok(_) => {
                    value.pop_if(|last| *last == end);
                    match value.contains(&0) {
                        true => Err(InputError::Nul { number }),
                        false => Ok(Input {
                            number,
                            value: OsString::from_vec(value),
                        }),
                    }
                }
                Err(error) => Err(failed(error)),
            };
            let is_last = input.is_err();
            if !send(input) || is_last {
                return;
            }
        }
    })
}

fn start(body: impl FnOnce() + Send + 'static) -> Result<(), InputError> {
    let thread = std::thread::Builder::new().spawn(body);
    thread.map(drop).map_err(InputError::Thread)
}

impl Input {
    pub(super) fn bytes(&self) -> &[u8] {
        self.value.as_bytes()
    }
}
