//! Serves this program's figures on its socket.
//!
//! A thread sleeps until a reader connects, writes the figures as one JSON document and closes. A
//! batch only adds to counts in memory, with or without readers.

use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use breakeven_profile::exit::at_exit;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use thiserror::Error;

use super::socket::{Publisher, folders, is_own, make};
use crate::execute::published;
use crate::locked;

/// The environment variable that makes a program publish: `1`.
pub const MONITOR_VARIABLE: &str = "BREAKEVEN_MONITOR";

/// How long a reader may take; the next ones wait meanwhile.
const PATIENCE: Duration = Duration::from_millis(250);

/// Disables the signal for a reader that disconnects. Elsewhere the standard library ignores it.
#[cfg(target_os = "linux")]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Why a program does not publish.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The folder cannot be created.
    #[error(
        "{}: {source}; XDG_RUNTIME_DIR must name a folder that this user can write to",
        folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The folder belongs to another user, or other users can enter it.
    #[error(
        "{}: it must be a folder of this user's with mode 0700; remove it, or set \
         XDG_RUNTIME_DIR to another one",
        folder.display()
    )]
    NotOwn {
        /// The folder.
        folder: PathBuf,
    },
    /// The socket cannot be made.
    #[error("{}: {source}", socket.display())]
    Socket {
        /// Its path: a socket's can have about 100 characters.
        socket: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// There is no thread to serve it.
    #[error("there is no thread to serve its figures: {0}")]
    Thread(#[source] io::Error),
}

/// The socket, and the process that created it: its children do not serve it.
static PUBLISHED: Mutex<Option<Publisher>> = Mutex::new(None);

/// Publishes this program's figures for `breakeven monitor`, from now on: batches that ended before
/// do not count. Does nothing if it publishes already. Equivalent to `BREAKEVEN_MONITOR=1` in the
/// environment.
///
/// # Errors
///
/// [`PublishError`], if there is no place for the socket or no thread to serve it.
pub fn publish() -> Result<(), PublishError> {
    let mut published = locked(&PUBLISHED);
    let pid = std::process::id();
    if published.as_ref().is_some_and(|known| known.pid == pid) {
        return Ok(());
    }
    let folder = folders().swap_remove(0);
    let publisher = Publisher::of(pid, &folder);
    listen(&folder, &publisher.socket)?;
    *published = Some(publisher);
    drop(published);
    // Removes the sockets of programs that were killed; only those are connected to.
    let others = Publisher::in_folder(&folder).into_iter();
    others
        .filter(|other| !other.is_alive())
        .for_each(|ended| drop(ended.connect()));
    Ok(())
}

/// Ends what [`publish`] began: the program is no longer listed, and its batches are not counted.
pub fn withdraw() {
    // Held to the end: it must not remove the socket of a new publication.
    let mut published = locked(&PUBLISHED);
    let Some(known) = published.take() else {
        return;
    };
    published::end();
    if known.pid == std::process::id() {
        // Wakes the thread, which then ends.
        drop(UnixStream::connect(&known.socket));
        let _ = fs::remove_file(&known.socket);
    }
}

/// Publishes if the environment requests it, once; if that fails, logs a warning and continues.
pub(crate) fn publish_if_asked() {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| {
        let asked = std::env::var_os(MONITOR_VARIABLE).unwrap_or_default();
        match asked.to_str() {
            Some("" | "0") => {}
            Some("1") => {
                if let Err(error) = publish() {
                    log::warn!(
                        "this program's figures are not published for `breakeven monitor`: {error}"
                    );
                }
            }
            _ => log::warn!("{MONITOR_VARIABLE}={asked:?}: it is 1 or 0; nothing is published"),
        }
    });
}

fn listen(folder: &Path, socket: &Path) -> Result<(), PublishError> {
    let failed = |source| PublishError::Folder {
        folder: folder.to_owned(),
        source,
    };
    make(folder).map_err(failed)?;
    if !is_own(folder).map_err(failed)? {
        return Err(PublishError::NotOwn {
            folder: folder.to_owned(),
        });
    }
    // Left by this process before it executed another program.
    let _ = fs::remove_file(socket);
    let listener = UnixListener::bind(socket).map_err(|source| PublishError::Socket {
        socket: socket.to_owned(),
        source,
    })?;
    let number = published::begin();
    let thread = thread::Builder::new().name("breakeven-monitor".to_owned());
    if let Err(error) = thread.spawn(move || serve(&listener, number)) {
        published::end();
        let _ = fs::remove_file(socket);
        return Err(PublishError::Thread(error));
    }
    remove_at_exit();
    Ok(())
}

/// Answers while the counts are those that it was started for.
fn serve(listener: &UnixListener, number: u64) {
    for stream in listener.incoming() {
        let Some(figures) = published::figures(number) else {
            return;
        };
        let (Ok(stream), Ok(text)) = (stream, serde_json::to_vec(&figures)) else {
            // For example, out of files: the next attempt may succeed.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        let _ = answer(&stream, &text);
    }
}

fn answer(stream: &UnixStream, mut text: &[u8]) -> io::Result<()> {
    let start = Instant::now();
    stream.set_write_timeout(Some(PATIENCE))?;
    while !text.is_empty() && start.elapsed() < PATIENCE {
        match send(stream, text, NO_SIGNAL) {
            Ok(sent) => text = &text[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Registers the removal of the socket when the process ends other than by a signal.
fn remove_at_exit() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| at_exit(remove));
}

extern "C" fn remove() {
    // If another thread holds the lock, it ends with the process: then another program removes the
    // file.
    if let Ok(published) = PUBLISHED.try_lock()
        && let Some(known) = published.as_ref()
        && known.pid == std::process::id()
    {
        let _ = fs::remove_file(&known.socket);
    }
}
