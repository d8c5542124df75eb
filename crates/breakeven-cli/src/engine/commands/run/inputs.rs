//! Inputs of jobs, as bytes: arguments, the lines of a file or of stdin.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::engine::args::RunArgs;

/// Inputs that are read ahead.
const AHEAD: usize = 1024;

/// One input, which is one job.
#[derive(Debug)]
pub(super) struct Input {
    /// Its number, from 1 on.
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

/// Reads the inputs in a thread of their own; what it has read comes in order.
pub(super) fn read(args: &RunArgs) -> Result<Receiver<Result<Input, InputError>>, InputError> {
    let (sender, receiver) = sync_channel(AHEAD);
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
        send_lines(file, args.null, sender, of_file)?;
    } else if !args.inputs.is_empty() {
        let values = args.inputs.clone();
        start(move || {
            for (value, number) in values.into_iter().zip(1..) {
                if sender.send(Ok(Input { number, value })).is_err() {
                    return;
                }
            }
        })?;
    } else if args.arg_file.is_none() && io::stdin().is_terminal() {
        return Err(InputError::Terminal);
    } else {
        send_lines(io::stdin(), args.null, sender, InputError::Stdin)?;
    }
    Ok(receiver)
}

fn send_lines(
    file: impl Read + Send + 'static,
    by_nul: bool,
    sender: SyncSender<Result<Input, InputError>>,
    failed: impl Fn(io::Error) -> InputError + Send + 'static,
) -> Result<(), InputError> {
    start(move || {
        let mut file = BufReader::with_capacity(1 << 16, file);
        let end = if by_nul { 0 } else { b'\n' };
        for number in 1.. {
            let mut value = Vec::new();
            let input = match file.read_until(end, &mut value) {
                Ok(0) => return,
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
            if sender.send(input).is_err() || is_last {
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
