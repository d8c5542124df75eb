//! Recording what a program does, from inside the program.
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
//! | a block, with what is known of it | [`scope!`](crate::scope) |
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
//! **What is kept.** Of each operation (name, device, size): every call in count,
//! sum, squares, least and greatest, exactly; 1024 calls drawn evenly from all
//! as samples; self time; memory; the fields that were told. The first call is a
//! sample as any other: a program's first call is one that it made. Call paths
//! have times of their own. Where an operation calls itself, directly or through
//! others, every call is a sample, and the path's total counts the outermost.
//!
//! **Bounds.** A thread tells 2048 call paths apart, a process 65 536
//! operations; calls beyond are counted together under a name that says so.
//! [`Profiler::losses`] tells all that was left out. Memory goes with the
//! greatest number of threads that recorded at once, not with the calls or with
//! the threads that came and went.
//!
//! **What it costs** is in the profile (`environment.recorder`), measured in the
//! same process, so that a judge can tell operations that are mostly recording.
//! `benches/recorder.rs` compares it with the clock, puffin, `tracing` and Tracy.
//!
//! **How.** Each thread has a tree of the call paths it took, which it writes
//! with plain moves; an export reads it through a sequence lock per node, and
//! neither waits for the other. There is no unsafe code but in the allocator.

mod allocator;
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
mod lock;
mod memory;
mod merge;
mod node;
mod parts;
mod profiler;
mod reading;
mod reservoir;
mod scope;
mod site;
mod switch;
mod timeline;
mod tree;
mod writer;

use std::sync::OnceLock;

pub use allocator::TrackingAllocator;
pub use clock::{Clock, Instant};
pub use export::Losses;
pub use field::{Count, Value};
pub use future::{AsyncCall, Recorded};
pub use guard::Guard;
#[cfg(feature = "tracing")]
pub use layer::TracingLayer;
pub use profiler::{ExportError, Profiler, get_profiler, is_on};
pub use site::Site;

/// The clock that everything is recorded with.
#[inline]
fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::new)
}

/// Calibrates the clock (up to 0.2 s), which the first call of a process would
/// otherwise wait for; does nothing while recording is off.
pub fn prepare() {
    if is_on() {
        clock();
    }
}
