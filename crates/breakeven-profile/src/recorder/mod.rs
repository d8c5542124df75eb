//! Recording what a program does, from inside the program.
//!
//! ```
//! use breakeven_profile::{get_profiler, scope};
//!
//! fn decode(frame: &[u8]) -> u64 {
//!     let _s = scope!("decode", bytes = frame.len());
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

use std::sync::OnceLock;

pub use allocator::TrackingAllocator;
pub use clock::{Clock, Instant};
pub use export::Losses;
pub use field::{Count, Value};
pub use future::{AsyncCall, Recorded};
pub use guard::Guard;
#[cfg(feature = "tracing")]
pub use layer::TracingLayer;
pub use profiler::{ExportError, Profiler, get_profiler};
pub use site::Site;
pub use switch::is_on;

/// The clock that everything is recorded with.
#[inline]
fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::new)
}
