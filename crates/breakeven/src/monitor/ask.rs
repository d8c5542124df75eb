//! Asks programs for their figures: all at once, within a bounded time, whatever they do.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use breakeven_profile::file::in_words;
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use serde::Deserialize;
use thiserror::Error;

use super::figures::{Figures, VERSION};
use super::place::{Id, sockets};

/// How long the programs have to answer, all together.
const PATIENCE: Duration = Duration::from_millis(250);

/// Programs that are asked.
const MOST_PROGRAMS: usize = 64;

/// Bytes of an answer; ours has a quarter of them at the most.
const MOST_BYTES: usize = 1 << 20;

/// How long a reader sleeps between two looks for answers.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Why a program's figures are not shown.
#[derive(Debug, Error)]
pub(super) enum Unread {
    #[error("it did not answer within {} ms: it hangs or is stopped", PATIENCE.as_millis())]
    Silent,
    #[error("it sends more than {} KiB", MOST_BYTES >> 10)]
    TooLong,
    #[error("what it sends is not what a program of breakeven's sends: {}", in_words(&.0.to_string()))]
    Garbage(#[from] serde_json::Error),
    #[error("it says that it is process {0}")]
    OtherProcess(u32),
    #[error("it has version {0} of the figures, this is {VERSION}: use its breakeven")]
    Newer(u32),
    #[error("its socket cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// Nobody listens: it was killed, or executes another program.
    #[error("nobody listens")]
    Refused,
}

/// What programs said, and how many there were beyond those that were asked.
pub(super) type Answers = (Vec<(Id, Result<Figures, Unread>)>, usize);

/// Asks the programs of these folders. Removes the sockets of those that have ended.
pub(super) fn ask(folders: &[PathBuf]) -> Answers {
    let (mut calls, mut beyond) = (Vec::new(), 0);
    for folder in folders {
        let (found, more) = sockets(folder, MOST_PROGRAMS - calls.len());
        calls.extend(
            found
                .into_iter()
                .map(|(id, socket)| Call::start(id, socket)),
        );
        beyond += more;
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

/// Removes the sockets of a folder whose programs have ended.
pub(super) fn sweep(folder: &Path) {
    let (found, _) = sockets(folder, usize::MAX);
    for (id, socket) in found.into_iter().filter(|(id, _)| !id.is_alive()) {
        drop(Call::start(id, socket).end());
    }
}

/// A program that was asked.
struct Call {
    id: Id,
    socket: PathBuf,
    stream: Option<UnixStream>,
    text: Vec<u8>,
    answer: Option<Result<Figures, Unread>>,
}

impl Call {
    fn start(id: Id, socket: PathBuf) -> Self {
        let (stream, answer) = match connected(&socket) {
            Ok(stream) => (Some(stream), None),
            Err(Errno::CONNREFUSED) => (None, Some(Err(Unread::Refused))),
            // Its queue is full: it has not answered those before.
            Err(Errno::AGAIN) => (None, Some(Err(Unread::Silent))),
            Err(error) => (None, Some(Err(Unread::Unreadable(error.into())))),
        };
        Self {
            id,
            socket,
            stream,
            text: Vec::new(),
            answer,
        }
    }

    /// Takes what has come.
    fn look(&mut self) {
        let (Some(stream), None) = (&mut self.stream, &self.answer) else {
            return;
        };
        let room = MOST_BYTES + 1 - self.text.len();
        let read = stream.take(room as u64).read_to_end(&mut self.text);
        self.answer = match read {
            _ if self.text.len() > MOST_BYTES => Some(Err(Unread::TooLong)),
            Ok(_) => Some(understood(self.id, &self.text)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => Some(Err(error.into())),
        };
    }

    /// What came of it; none of a program that has ended.
    fn end(self) -> Option<(Id, Result<Figures, Unread>)> {
        let answer = self.answer.unwrap_or(Err(Unread::Silent));
        match answer {
            // A process of another container may not be seen from here: a socket is
            // removed only where nobody listens either.
            Err(Unread::Refused) => {
                if !self.id.is_alive() {
                    let _ = fs::remove_file(&self.socket);
                }
                None
            }
            // It was removed meanwhile.
            Err(Unread::Unreadable(error)) if error.kind() == ErrorKind::NotFound => None,
            // A child holds its socket.
            Err(Unread::Silent) if !self.id.is_alive() => None,
            answer => Some((self.id, answer)),
        }
    }
}

/// Connects without waiting.
pub(super) fn connected(path: &Path) -> Result<UnixStream, Errno> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

fn understood(id: Id, text: &[u8]) -> Result<Figures, Unread> {
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
    match figures.pid == id.pid {
        true => Ok(figures.bounded()),
        false => Err(Unread::OtherProcess(figures.pid)),
    }
}
