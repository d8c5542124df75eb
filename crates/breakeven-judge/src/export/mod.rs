//! Writes profiles in the formats of other tools, one format per file. Each uses the most exact
//! source in the profile: its timeline, its stacks, or the samples of its operations, and names the
//! source in the output.
//!
//! | module | read by | from |
//! |---|---|---|
//! | [`chrome()`] | Perfetto, `chrome://tracing` | the timeline, else the samples laid end to end |
//! | [`speedscope()`] | speedscope.app | timeline and stacks, else the operations |
//! | [`collapsed`] | the tools around `flamegraph.pl` | the stacks, else the timeline, else the operations |
//! | [`flamegraph`] | any browser (SVG) | as [`collapsed`] |
//! | [`pprof()`] | `go tool pprof`, pprof | as [`collapsed`] |
//! | [`bmf()`] | Bencher | the figures of the operations |
//! | [`tree`], [`placed`] | programs that draw | as [`collapsed`]; the timeline |
//!
//! ```
//! use breakeven_judge::export::{chrome, collapsed};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let mut decode = Operation::new("decode", "cpu");
//! decode.runs.push(Run { samples_ns: vec![812_000.0, 799_000.0], ..Run::default() });
//! let profile = Profile { operations: vec![decode], ..Profile::default() };
//!
//! let mut text = Vec::new();
//! collapsed(&profile, &mut text)?;
//! assert_eq!(text, b"cpu;decode 1611000\n");
//! chrome(&profile, std::io::sink())?;
//! # Ok::<(), breakeven_judge::export::ExportError>(())
//! ```

use std::io;

mod bmf;
mod chrome;
mod fold;
mod label;
mod pprof;
mod speedscope;
mod tracks;

pub use bmf::write as bmf;
pub use chrome::write as chrome;
pub use fold::{Node, Tree, collapsed, flamegraph, tree};
pub use pprof::write as pprof;
pub use speedscope::write as speedscope;
pub use tracks::{PlacedCall, PlacedTrack, placed};

/// Why a profile could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The profile has no time, or all times are zero and weights are needed.
    #[error(
        "the profile holds no times to export: no samples, stacks or timeline; measure again and \
         see `breakeven show` for what failed"
    )]
    Empty,
    /// The sum exceeds what readers can count.
    #[error("the times add up to more than 2^64 ns (584 years); correct the profile")]
    TooLong,
    /// Writing failed.
    #[error("cannot be written")]
    Io(#[from] io::Error),
}

/// A time in whole nanoseconds, as readers count it.
#[expect(
    clippy::cast_sign_loss,
    reason = "a time is not negative; casts saturate"
)]
fn whole(ns: f64) -> Result<u64, ExportError> {
    match ns.round() {
        // 2^64.
        ns if ns >= 18_446_744_073_709_551_616.0 => Err(ExportError::TooLong),
        ns => Ok(ns as u64),
    }
}

/// The sum of times, ns.
fn sum(times: impl IntoIterator<Item = u64>) -> Result<u64, ExportError> {
    let mut times = times.into_iter();
    times
        .try_fold(0u64, u64::checked_add)
        .ok_or(ExportError::TooLong)
}
