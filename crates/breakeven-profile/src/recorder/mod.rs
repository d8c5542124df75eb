//! Records a program's operations, from inside the program.
//!
//! ```
//! use breakeven_profile::{get_profiler, profile, scope};
//!
//! #[profile]
//! fn decode(frame: &[u8]) -> u64 {
//!     let _s = scope!("sum", bytes = frame.len());
//!     frame.iter().map(|byte| u64::from(*byte)).sum()
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     for _ in 0..100 {
//!         decode(&[7; 1000]);
//!     }
//! #   let directory = tempfile::tempdir()?;
//! #   std::env::set_current_dir(directory.path())?;
//!     get_profiler(true).export_json("current.json")?;
//!     Ok(())
//! }
//! ```
//!
//! | to record | use |
//! |---|---|
//! | a function, sync or async | `#[profile]` ([`macro@crate::profile`]) |
//! | a block, with its fields | [`scope!`](crate::scope) |
//! | an operation named at run time | [`Profiler::profile`], [`Profiler::measure`] |
//! | the spans of `tracing` | `TracingLayer`, with the feature `tracing` |
//! | the memory that calls hold | [`TrackingAllocator`] |
//! | single calls in the order of time | [`Profiler::timeline`] |
//! | the GPUs, the revision of the program | [`Profiler::describe`] |
//!
//! **On and off.** Recording is on unless the program calls
//! `get_profiler(false)` or `BREAKEVEN_RECORD=off` is in its environment. Off, a
//! guard is one relaxed load.
//!
//! **At the end of the process**, on Unix, the recording is written to the file that
//! `BREAKEVEN_PROFILE` names, or into that folder, one file per process. The variable switches
//! recording on, unless `BREAKEVEN_RECORD=off` is there too. Panics that unwind and
//! `std::process::exit` are such ends; `abort`, `_exit` and signals are not. A file that cannot be
//! written is lost without a word, and open calls are not in it.
//!
//! **What is kept.** For each operation (name, device, size): exact count, sum, sum of squares,
//! minimum and maximum of all calls; a uniform random sample of 1024 calls; self time; memory; the
//! fields. The first call is an ordinary sample, because the program made it. Call paths have their
//! own times. If an operation calls itself, directly or indirectly, every call is a sample, and the
//! path's total counts the outermost one.
//!
//! **Bounds.** A thread distinguishes 2048 call paths, a process 65 536 operations; further calls
//! are counted together under a name that says so. [`Profiler::losses`] reports all losses. Memory
//! grows with the largest number of concurrently recording threads, not with the calls or the total
//! number of threads.
//!
//! **Cost** is in the profile (`environment.recorder`), measured in the same process, so that a
//! judge can recognise operations that are mostly recording. `benches/recorder.rs` compares it with
//! the clock, puffin, `tracing` and Tracy.
//!
//! **How.** Each thread has a tree of its call paths, which it writes with plain moves. An export
//! reads it through a sequence lock per node, so that neither waits for the other. Only the
//! allocator and the call of `atexit` are unsafe code.

mod buffer;
mod cache;
mod call;
mod clock;
mod cost;
mod export;
mod field;
mod future;
mod guard;
#[cfg(feature = "tracing")]
mod layer;
mod local;
mod memory;
mod merge;
mod node;
mod profiler;
mod reservoir;
mod scope;
mod site;
mod switch;
mod timeline;
mod tree;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub use clock::{Clock, Instant};
pub use export::Losses;
pub use field::{Value, count};
pub use future::{AsyncCall, Recorded};
pub use guard::Guard;
#[cfg(feature = "tracing")]
pub use layer::TracingLayer;
pub use memory::TrackingAllocator;
pub use profiler::{ExportError, Profiler, get_profiler, is_on};
pub use site::Site;

/// The clock of all recordings.
#[inline]
fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::new)
}

/// The lock that the recorder uses everywhere. After a panic the data is still consistent: nothing is
/// left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The recording so far, for the files that an export reads.
fn recorded() -> crate::profile::Profile {
    export::profile()
}

/// Calibrates the clock (up to 0.2 s), so that the first call of a process need not wait for it;
/// does nothing while recording is off.
pub fn prepare() {
    if is_on() {
        clock();
    }
}
