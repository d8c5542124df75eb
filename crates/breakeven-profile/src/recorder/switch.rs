//! Whether recording is on, in one word that every guard reads; and the file that `BREAKEVEN_PROFILE`
//! names, which is written when the process ends.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, process, thread};

use super::recorded;
use crate::exit::at_exit;
use crate::file::{self, FileError};

/// The environment variable that switches recording off, whatever the program requests.
const VARIABLE: &str = "BREAKEVEN_RECORD";

const OFF: u32 = 0;

/// Not read yet.
const UNDECIDED: u32 = 1;

/// [`OFF`], [`UNDECIDED`], or a number that changes whenever threads must update their settings:
/// after a reset, or a change of the timeline.
static STATE: AtomicU32 = AtomicU32::new(UNDECIDED);

/// The settings of the program and its environment.
#[derive(Debug)]
pub(super) struct Wanted {
    on: bool,
    /// The environment's setting, once read.
    forbidden: Option<bool>,
    state: u32,
}

impl Wanted {
    pub(super) const fn new() -> Self {
        Self {
            on: true,
            forbidden: None,
            state: UNDECIDED + 1,
        }
    }

    /// Switches recording; the environment has priority.
    pub(super) fn turn(&mut self, on: bool) {
        self.on = on;
        self.publish();
    }

    /// Makes every thread update its settings before it continues to record.
    pub(super) fn announce(&mut self) {
        // After four thousand million resets the numbers wrap.
        self.state = self.state.checked_add(1).unwrap_or(UNDECIDED + 1);
        self.publish();
    }

    /// True if the environment has switched recording off.
    pub(super) fn is_forbidden(&mut self) -> bool {
        *self.forbidden.get_or_insert_with(|| {
            let value = env::var(VARIABLE).unwrap_or_default();
            ["off", "0", "false", "no"].contains(&value.trim().to_ascii_lowercase().as_str())
        })
    }

    /// The number that threads compare with; `None` while nothing is recorded.
    pub(super) fn publish(&mut self) -> Option<u32> {
        let on = !self.is_forbidden() && (is_requested() || self.on);
        let state = if on { self.state } else { OFF };
        STATE.store(state, Ordering::Relaxed);
        on.then_some(state)
    }
}

#[inline(always)]
pub(super) fn state() -> Option<u32> {
    let state = STATE.load(Ordering::Relaxed);
    (state != OFF).then_some(state)
}

/// Whether calls are recorded; `None` if this was not decided yet.
#[inline(always)]
pub(super) fn decided() -> Option<bool> {
    match STATE.load(Ordering::Relaxed) {
        OFF => Some(false),
        UNDECIDED => None,
        _ => Some(true),
    }
}

/// The file, or the folder of files, to write to.
static TARGET: OnceLock<Option<PathBuf>> = OnceLock::new();

/// True if the environment names where to write; the first call has it written at the end.
fn is_requested() -> bool {
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
            return file::write(&profile, target).err();
        }
        let path = target.join(format!("{}.json", process::id()));
        // Who has made the folder reads it afterwards: it need not survive a power failure.
        let file = File::create(&path)
            .map_err(|reason| FileError::io("cannot be written", &reason).at_path(&path));
        file.and_then(|file| file::write_to(&profile, file)).err()
    });
    // A panic there stays there.
    if let Some(Ok(Some(error))) = written.ok().map(thread::JoinHandle::join) {
        // The program has ended: nobody else can report it.
        let _ = writeln!(io::stderr(), "breakeven: BREAKEVEN_PROFILE: {error}");
    }
}
