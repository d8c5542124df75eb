//! Reads what other benchmarks, profilers and tracers wrote as
//! [`Profile`](breakeven_profile::profile::Profile)s, so that they can be shown, compared,
//! gated and advised on like profiles of the recorder.
//!
//! [`read`] recognises the format by the content. What is a run and what an iteration differs
//! from tool to tool, and verdicts depend on it: `docs/import.md` says it for each.
//!
//! ```
//! use breakeven_import::{Options, read};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("times.json");
//! std::fs::write(&path, r#"{"results": [{"command": "sort a", "times": [0.25, 0.26]}]}"#)?;
//!
//! let imported = read(&path, &Options::default())?;
//! assert_eq!(imported.format.map(|format| format.name()), Some("hyperfine"));
//! assert_eq!(imported.profile.operations[0].runs[0].samples_ns, [2.5e8, 2.6e8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod folded;
mod formats;
mod gather;
mod json;
mod machine;
mod name;
mod note;
mod other;
mod paths;
mod read;
mod reader;
mod source;
mod trace;
mod unit;

pub use formats::Format;
pub use formats::table::{Columns, ColumnsError};
pub use note::Entry;
pub use read::{Imported, Options, read, read_from};
pub use unit::count_ns;
