//! The crate that a program embeds to be measured, and the data that judges read: a
//! [`profile`](mod@profile), its [`file`](mod@file), the [`stats`] that describe a sample, and the
//! [`recorder`] with which a program measures itself.
//!
//! ```
//! use breakeven_profile::file;
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let mut decode = Operation::new("decode", "cpu");
//! decode.runs.push(Run { samples_ns: vec![812_000.0, 799_000.0, 805_000.0], ..Run::default() });
//! let profile = Profile { operations: vec![decode], ..Profile::default() };
//!
//! let mut text = Vec::new();
//! file::write_to(&profile, &mut text)?;
//! let read = file::read_from(&text[..], "decode.json")?;
//! assert_eq!(read.operations[0].summary()?.median, 805_000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod exit;
pub mod file;
pub mod machine;
pub mod profile;
pub mod recorder;
pub mod stats;
pub mod unit;

pub use breakeven_macros::profile;
pub use recorder::{Profiler, get_profiler};
