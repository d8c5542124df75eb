//! The autotuner: kernels' launch configurations, measured, kept, and used by later calls.
//!
//! A kernel declares what can vary ([`Tunable`]): units of a cube, elements of a unit, the tile. A
//! [`Tuner`] measures the choices on a device in turns and keeps the fastest ([`Search`]), together
//! with everything that was tried, in [`Tuned`]: one entry ([`TunedKernel`]) per kernel, device,
//! driver and size class. Calls look their configuration up there. An entry is void if the kernel's
//! source or the driver changed. `breakeven tune` is the command; docs/tuning.md explains how to
//! make a kernel tunable.
//!
//! ```
//! use std::time::Duration;
//!
//! use breakeven_gpu::tune::{Configuration, Tuned, Tuner};
//!
//! // A kernel of one's own, and how it may be called.
//! let values: Vec<u64> = (0..100_000).collect();
//! let candidates = [1_000, 10_000, 100_000].map(|chunk| Configuration::from([("chunk", chunk)]));
//! let tuner = Tuner::new(&Tuned::default()).budget(Duration::from_millis(300));
//! let best = tuner.tune_kernel("sum", &candidates, 8 * values.len() as u64, |configuration| {
//!     let chunk = configuration.get("chunk").unwrap_or(1_000) as usize;
//!     let sums = values.chunks(chunk).map(|chunk| chunk.iter().sum::<u64>());
//!     std::hint::black_box(sums.sum::<u64>());
//!     Ok(())
//! })?;
//! assert!(candidates.contains(&best.configuration));
//! # Ok::<(), breakeven_types::Error>(())
//! ```

mod configuration;
mod host;
mod kept;
mod search;
#[cfg(test)]
mod search_tests;
mod tuner;

pub use configuration::{Configuration, SizeClass, Space, Tunable, source_number};
pub use host::HostTunable;
pub(crate) use host::SOURCE as HOST_SOURCE;
pub use kept::{Key, Tried, Tuned, TunedKernel};
pub use search::{Fate, Found, Gain, Search, Trial};
pub use tuner::Tuner;
pub(crate) use tuner::this_cpu;
