//! Asks programs for their figures: all at once, within a bounded time, even if they hang.

use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use breakeven::monitor::{Figures, Publisher, VERSION};
use breakeven_profile::file::in_words;
use serde::Deserialize;
use thiserror::Error;

/// Time limit for all answers together.
const PATIENCE: Duration = Duration::from_millis(250);

/// Most programs that are asked.
const MOST_PROGRAMS: usize = 64;

/// Longest answer, bytes; breakeven's own answers are at most a quarter of it.
const MOST_BYTES: usize = 1 << 20;

/// Why a program's figures are not shown.
#[derive(Debug, Error)]
pub(super) enum Unread {
    #[error("it did not answer within {} ms: it hangs or is stopped", PATIENCE.as_millis())]
    Silent,
    #[error("it sends more than {} KiB", MOST_BYTES >> 10)]
    TooLong,
    #[error("its answer is not that of a program that uses breakeven: \
        {}", in_words(&.0.to_string()))]
    Garbage(#[from] serde_json::Error),
    #[error("it says that it is process {0}")]
    OtherProcess(u32),
    #[error(
        "it sends version {0} of the figures, and this build reads {VERSION}: use the \
        program's version of breakeven"
    )]
    Newer(u32),
    #[error("its socket cannot be read: {0}")]
    Unreadable(std::io::Error),
}

impl From<std::io::Error> for Unread {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            // Also if its queue is full: it has not answered earlier questions.
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Silent,
            _ => Self::Unreadable(error),
        }
    }
}

/// The answers, and the number of programs beyond [`MOST_PROGRAMS`].
pub(super) type Answers = (Vec<(Publisher, Result<Figures, Unread>)>, usize);

/// Asks the programs of these folders, all at once. Removes the sockets of programs that have ended.
pub(super) fn ask(folders: &[PathBuf]) -> Answers {
    let found = folders
        .iter()
        .flat_map(|folder| Publisher::in_folder(folder));
    let mut found: Vec<Publisher> = found.collect();
    let beyond = found.len().saturating_sub(MOST_PROGRAMS);
    found.truncate(MOST_PROGRAMS);
    let until = Instant::now() + PATIENCE;
    let answers = thread::scope(|scope| {
        let ask = |program: Publisher| {
            let asked = thread::Builder::new().spawn_scoped(scope, {
                let program = program.clone();
                move || answer(&program, until)
            });
            (program, asked)
        };
        let calls: Vec<_> = found.into_iter().map(ask).collect();
        let answers = calls.into_iter().filter_map(|(program, asked)| {
            let answer = asked
                .map_err(Unread::from)
                .and_then(|asked| asked.join().unwrap_or(Err(Unread::Silent)));
            let has_ended = match &answer {
                // Nobody listens: the program was killed, or executes another one, or its socket was
                // removed meanwhile.
                Err(Unread::Unreadable(error)) => {
                    [ErrorKind::ConnectionRefused, ErrorKind::NotFound].contains(&error.kind())
                }
                // A child process still has its socket open.
                Err(Unread::Silent) => !program.is_alive(),
                _ => false,
            };
            (!has_ended).then_some((program, answer))
        });
        answers.collect()
    });
    (answers, beyond)
}

/// A program's figures, if it sends them in time.
fn answer(program: &Publisher, until: Instant) -> Result<Figures, Unread> {
    let (mut stream, mut text) = (program.connect()?, Vec::new());
    stream.set_nonblocking(false)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut piece) {
            Ok(0) => return understood(program.pid, &text),
            Ok(read) => text.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if text.len() > MOST_BYTES {
            return Err(Unread::TooLong);
        }
        if left.is_zero() {
            return Err(Unread::Silent);
        }
    }
}

fn understood(pid: u32, text: &[u8]) -> Result<Figures, Unread> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    if let Ok(Version { version }) = serde_json::from_slice(text)
        && version > VERSION
    {
        return Err(Unread::Newer(version));
    }
    let figures: Figures = serde_json::from_slice(text)?;
    match figures.pid == pid {
        true => Ok(figures.bounded()),
        false => Err(Unread::OtherProcess(figures.pid)),
    }
}
