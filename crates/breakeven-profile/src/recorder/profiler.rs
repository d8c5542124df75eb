//! The profiler of the process: switches recording, exports and resets it.

use std::path::Path;

use super::buffer::pool;
use super::export::{self, Losses};
use super::guard::Guard;
use super::{local, lock, switch};
use crate::file::{self, FileError};
use crate::profile::{Environment, Profile};

/// The profiler of this process; switches recording on or off.
///
/// Recording is on from the start: nothing must be called before the first
/// [`scope!`](crate::scope). The environment has priority: with `BREAKEVEN_RECORD=off` (or `0`,
/// `false`, `no`) nothing is ever recorded, and each guard costs one relaxed load; with
/// `BREAKEVEN_PROFILE` everything is, and [written at the end](crate::recorder). The variables are read once.
///
/// ```
/// use breakeven_profile::{get_profiler, scope};
///
/// for frame in 0..3_u64 {
///     let _s = scope!("decode", bytes = 100 * frame);
/// }
/// let profile = get_profiler(true).snapshot();
/// assert_eq!(profile.operations[0].runs[0].calls(), 3);
/// ```
pub fn get_profiler(enabled: bool) -> Profiler {
    local::quiet(|| pool().switch.turn(enabled));
    Profiler(())
}

/// True while calls are recorded.
///
/// One relaxed load, except for the first time in a process.
#[inline]
pub fn is_on() -> bool {
    switch::decided().unwrap_or_else(decide)
}

#[cold]
fn decide() -> bool {
    local::quiet(|| pool().switch.publish().is_some())
}

/// A handle of the process's profiler, from [`get_profiler`].
#[derive(Debug, Clone, Copy)]
pub struct Profiler(());

/// Why a recording was not written to a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// No call was recorded, so nothing was written.
    #[error(
        "nothing was recorded: put #[profile] on a function or scope!(\"name\") into it, let it \
         return before the export, and do not call get_profiler(false) before it runs"
    )]
    Empty,
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Profiler {
    /// True while calls are recorded.
    pub fn is_recording(&self) -> bool {
        is_on()
    }

    /// Begins a call of an operation whose name is only known at run time. [`scope!`](crate::scope)
    /// is cheaper and accepts fields.
    ///
    /// Names are never freed, at most 65 536 of them: further calls are counted under one name that
    /// says so.
    pub fn profile(&self, name: &str) -> Guard {
        Guard::enter_named(name, None, None)
    }

    /// Records one call of `work`.
    ///
    /// ```
    /// let sum: u64 = breakeven_profile::get_profiler(true).measure("sum", || (1..=10).sum());
    /// assert_eq!(sum, 55);
    /// ```
    pub fn measure<R>(&self, name: &str, work: impl FnOnce() -> R) -> R {
        let _call = self.profile(name);
        work()
    }

    /// Keeps the latest calls of each thread one by one, up to `capacity` of them (at most
    /// 4 194 304; 24 bytes each). 0 disables it. Calls that do not fit are
    /// counted in `Timeline::dropped`. A thread waits while an export copies its calls.
    pub fn timeline(&self, capacity: usize) {
        let mut pool = pool();
        pool.timeline = capacity;
        pool.switch.announce();
    }

    /// Changes the description of machine and build in profiles. The system, the processor, its
    /// cores and the memory are set already; the program can add the GPUs, the revision and the
    /// host. The clock and the recorder's cost are always measured. `change` must not request a
    /// snapshot, which would deadlock.
    ///
    /// ```
    /// let profiler = breakeven_profile::get_profiler(true);
    /// profiler.describe(|environment| environment.revision = Some("4f2a91c".to_owned()));
    /// assert_eq!(profiler.snapshot().environment.revision.as_deref(), Some("4f2a91c"));
    /// ```
    pub fn describe(&self, change: impl FnOnce(&mut Environment)) {
        change(&mut lock(export::described()));
    }

    /// Returns the recording so far, of all threads, as one run. Open calls are not in it. Other
    /// threads may continue to record meanwhile.
    ///
    /// The first call in a process takes a few milliseconds: the recorder measures its clock and
    /// itself.
    pub fn snapshot(&self) -> Profile {
        export::profile()
    }

    /// Writes the recording to a profile file; see [`file::write()`].
    ///
    /// # Errors
    ///
    /// [`ExportError::Empty`] if no call was recorded: the file is left unchanged. If the
    /// environment switched recording off, an empty profile is written instead, so that the
    /// operator's switch makes no program fail and no old file pass for a new one.
    pub fn export_json(&self, path: impl AsRef<Path>) -> Result<(), ExportError> {
        let profile = self.snapshot();
        if profile.operations.is_empty() && !pool().switch.is_forbidden() {
            return Err(ExportError::Empty);
        }
        Ok(file::write(&profile, path.as_ref())?)
    }

    /// Discards the recording. Calls that are open are not recorded when they end.
    pub fn reset(&self) {
        let mut pool = pool();
        pool.generation = pool.generation.checked_add(1).unwrap_or(1);
        pool.began = None;
        pool.switch.announce();
    }

    /// What the recording lost, and why.
    pub fn losses(&self) -> Losses {
        export::losses()
    }
}
