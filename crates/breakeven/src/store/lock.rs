//! One writer at a time, across processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind as IoErrorKind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind};

/// The longest sleep between two looks.
const LONGEST_SLEEP: Duration = Duration::from_millis(16);

/// Holds the lock until it is dropped; waits for others no longer than
/// `patience`. The operating system frees it when the
/// process ends, however it ends. The file at `path` stays: one that is removed
/// could be locked by two, each its own.
pub(super) fn hold(path: &Path, patience: Duration) -> Result<File, Error> {
    // Opening a pipe would wait for its other end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        let reason = io::Error::other("it is not a regular file");
        return Err(Error::file(path, "cannot be locked", &reason));
    }
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(false).write(true).open(path);
    let file = opened.map_err(|reason| Error::file(path, "cannot be opened", &reason))?;
    let start = Instant::now();
    let mut sleep = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Some network file systems have no locks. Writing is atomic there
            // too; what two write in the same moment is one's.
            Err(TryLockError::Error(reason)) if reason.kind() == IoErrorKind::Unsupported => {
                return Ok(file);
            }
            Err(TryLockError::Error(reason)) => {
                return Err(Error::file(path, "cannot be locked", &reason));
            }
            Err(TryLockError::WouldBlock) if start.elapsed() >= patience => {
                let path = path.display();
                let held = format!(
                    "{path}: another process has held it for {patience:?}; what was learned stays in memory until it is saved again"
                );
                return Err(Error::new(ErrorKind::File, held));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(sleep),
        }
        sleep = (sleep * 2).min(LONGEST_SLEEP);
    }
}
