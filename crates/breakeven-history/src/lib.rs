//! Stores profiles over time in one SQLite file, with a series per operation and machine, and finds
//! where the level of a series changed.
//!
//! [`History`] does all reading and writing. [`changes`] only computes.
//!
//! ```
//! use breakeven_history::{At, Branches, History, Sensitivity, changes};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let directory = tempfile::tempdir()?;
//! let mut history = History::create(&directory.path().join("history.db"))?;
//! for day in 0..40 {
//!     let mut decode = Operation::new("decode", "cpu");
//!     // 8 ms with some noise; from day 25 on 9 ms.
//!     let ms = if day < 25 { 8.0 } else { 9.0 } + 0.1 * f64::from(day * 7 % 10) / 10.0;
//!     decode.runs.push(Run { samples_ns: vec![ms * 1e6], ..Run::default() });
//!     let profile = Profile { operations: vec![decode], ..Profile::default() };
//!     let commit = Some(format!("commit {day}"));
//!     history.add(&profile, &At { commit, ..At::default() })?;
//! }
//! let loaded = history.load(&Branches::All)?;
//! let found = changes(&loaded, &Sensitivity::default());
//! assert_eq!(loaded.entry(&found[0].after).commit.as_deref(), Some("commit 25"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod add;
mod changes;
mod database;
mod load;

pub use add::{Added, At};
pub use changes::{Change, ChangeState, Direction, Sensitivity, changes};
pub use database::{History, is_history};
pub use load::{Branches, Entry, Failed, Loaded, Point, Series};
