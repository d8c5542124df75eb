//! A flame graph: an SVG page that a browser zooms and searches.

use std::io::{BufWriter, Write};

use breakeven_profile::profile::Profile;
use breakeven_profile::unit;
use inferno::flamegraph::{Options, from_lines};

use super::ExportError;
use super::fold::fold;

/// Draws the paths that [`collapsed`](super::collapsed) writes. The same profile always gives the
/// same picture: a frame's colour depends on its name.
///
/// # Errors
///
/// If the profile has no time, the sum exceeds 2^64 ns, or `out` cannot be written.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let folded = fold(profile)?;
    let mut options = Options::default();
    options.title = format!("breakeven: {}", unit::time(folded.total_ns as f64));
    options.subtitle = Some(folded.source.to_string());
    options.count_name = "ns".to_owned();
    options.name_type = "Operation:".to_owned();
    options.deterministic = true;
    // `from_lines` would sort the lines as texts and separate an operation from the frames inside
    // it: `a b` sorts before `a;c`. In this mode it takes the lines as they are, the last first.
    options.flame_chart = true;
    let lines: Vec<String> = folded.lines().rev().collect();
    let mut out = BufWriter::new(out);
    from_lines(&mut options, lines.iter().map(String::as_str), &mut out)?;
    Ok(out.flush()?)
}
