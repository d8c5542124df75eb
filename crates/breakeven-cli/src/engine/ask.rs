//! Asks programs for their figures: all at once, within a bounded time, even if they hang.

use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
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

/// Pause between two checks for answers.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

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
    Unreadable(#[from] std::io::Error),
}

/// The answers, and the number of programs beyond [`MOST_PROGRAMS`].
pub(super) type Answers = (Vec<(Publisher, Result<Figures, Unread>)>, usize);

/// Asks the programs of these folders. Removes the sockets of programs that have ended.
pub(super) fn ask(folders: &[PathBuf]) -> Answers {
    let (mut calls, mut beyond) = (Vec::new(), 0);
    for folder in folders {
        let found = Publisher::in_folder(folder);
        let asked = found.len().min(MOST_PROGRAMS - calls.len());
        beyond += found.len() - asked;
        calls.extend(found.into_iter().take(asked).map(Call::start));
    }
    let start = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    loop {
        let mut is_open = false;
        for call in &mut calls {
            call.look();
            is_open |= call.answer.is_none();
        }
        let left = PATIENCE.saturating_sub(start.elapsed());
        if !is_open || left.is_zero() {
            break;
        }
        thread::sleep(pause.min(left));
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    let answers = calls.into_iter().filter_map(Call::end);
    (answers.collect(), beyond)
}

/// A program that was asked.
struct Call {
    program: Publisher,
    stream: Option<UnixStream>,
    text: Vec<u8>,
    answer: Option<Result<Figures, Unread>>,
}

impl Call {
    fn start(program: Publisher) -> Self {
        let (stream, answer) = match program.connect() {
            Ok(stream) => (Some(stream), None),
            // Its queue is full: it has not answered earlier questions.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                (None, Some(Err(Unread::Silent)))
            }
            Err(error) => (None, Some(Err(error.into()))),
        };
        Self {
            program,
            stream,
            text: Vec::new(),
            answer,
        }
    }

    /// Reads the bytes that have arrived.
    fn look(&mut self) {
        let (Some(stream), None) = (&mut self.stream, &self.answer) else {
            return;
        };
        let room = MOST_BYTES + 1 - self.text.len();
        let read = stream.take(room as u64).read_to_end(&mut self.text);
        self.answer = match read {
            _ if self.text.len() > MOST_BYTES => Some(Err(Unread::TooLong)),
            Ok(_) => Some(understood(self.program.pid, &self.text)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => Some(Err(error.into())),
        };
    }

    /// The result; none if the program has ended.
    fn end(self) -> Option<(Publisher, Result<Figures, Unread>)> {
        let answer = self.answer.unwrap_or(Err(Unread::Silent));
        match answer {
            // Nobody listens: the program was killed, or executes another one, or its socket was
            // removed meanwhile.
            Err(Unread::Unreadable(error))
                if [ErrorKind::ConnectionRefused, ErrorKind::NotFound].contains(&error.kind()) =>
            {
                None
            }
            // A child process still has its socket open.
            Err(Unread::Silent) if !self.program.is_alive() => None,
            answer => Some((self.program, answer)),
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
