//! Collapsed stacks: one line per call path, `outer;inner weight`; the weight is the path's own
//! time in ns. `flamegraph.pl`, `inferno`, speedscope and other tools read it.

use std::io::{BufWriter, Write};

use breakeven_profile::profile::Profile;

use super::ExportError;
use super::fold::fold;

/// Writes the stacks, else the calls of the timeline, else device, operation and phase, in the
/// order of the paths. In a name `;` becomes `:` and control characters become U+FFFD; names are
/// cut at 200 characters.
///
/// # Errors
///
/// If the profile has no time, the sum exceeds 2^64 ns, or `out` cannot be written.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let folded = fold(profile)?;
    let mut out = BufWriter::new(out);
    for line in folded.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}
