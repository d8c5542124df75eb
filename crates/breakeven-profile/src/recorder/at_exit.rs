//! `BREAKEVEN_PROFILE`: the recording is written when the process ends.

use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, process, thread};

use super::recorded;
use crate::exit::at_exit;
use crate::file;

/// The file, or the folder of files, to write to.
static TARGET: OnceLock<Option<PathBuf>> = OnceLock::new();

/// True if the environment names where to write; the first call has it written at the end.
pub(super) fn is_requested() -> bool {
    let target = TARGET.get_or_init(|| {
        let named = env::var_os("BREAKEVEN_PROFILE").filter(|name| !name.is_empty())?;
        at_exit(write);
        // The program may change its folder.
        std::path::absolute(named).ok()
    });
    target.is_some()
}

extern "C" fn write() {
    // The main thread has ended its recording; another can still measure what recording costs.
    let written = thread::Builder::new().spawn(|| {
        let (profile, target) = (recorded(), TARGET.get()?.as_deref()?);
        if profile.operations.is_empty() {
            return None;
        }
        if !target.is_dir() {
            return file::write(&profile, target).ok();
        }
        // Who has made the folder reads it afterwards: it need not survive a power failure.
        let file = File::create(target.join(format!("{}.json", process::id())));
        file::write_to(&profile, file.ok()?).ok()
    });
    // A panic there stays there.
    let _ = written.map(thread::JoinHandle::join);
}
