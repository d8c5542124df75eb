//! The Trace Event Format, as JSON: what Perfetto and `chrome://tracing` read.
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>
//!
//! A timeline is written unchanged: a process per device, a track per thread that used it. Without
//! a timeline, the samples of each operation are laid end to end on a track of their own, the
//! phases of a call on further tracks, and the trace says that these are no real times. Events are
//! streamed, so a million of them need no second copy.

use std::io::{BufWriter, Write};

use breakeven_profile::profile::Profile;

mod event;
mod samples;
mod timeline;

use super::ExportError;
use event::{Args, Trace, Value};

/// Writes the profile as a trace.
///
/// # Errors
///
/// If the profile has no calls and no samples, if the samples of an operation add up to more than
/// 2^64 ns, or if writing to `out` fails.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let timeline = profile.timeline.as_ref();
    let timeline = timeline.filter(|timeline| !timeline.events.is_empty());
    let sampled = profile.operations.iter().any(samples::has_any);
    let (source, dropped) = match timeline {
        Some(timeline) => ("timeline", Some(timeline.dropped)),
        None if sampled => (samples::SOURCE, None),
        None => return Err(ExportError::Empty),
    };
    let mut trace = Trace::begin(BufWriter::new(out), &other_data(profile, source, dropped))?;
    match timeline {
        Some(timeline) => timeline::write(profile, timeline, &mut trace)?,
        None => samples::write(profile, &mut trace)?,
    }
    trace.end()
}

/// What the trace says of itself.
fn other_data<'a>(profile: &'a Profile, source: &'a str, dropped: Option<u64>) -> Args<'a> {
    let environment = &profile.environment;
    let mut data = Args::default();
    data.text("exporter", concat!("breakeven ", env!("CARGO_PKG_VERSION")));
    data.text("source", source);
    let cpu = environment.cpu.as_ref();
    for (name, text) in [
        ("generator", profile.generator.as_deref()),
        ("created", profile.created.as_deref()),
        ("os", environment.os.as_deref()),
        ("cpu", cpu.and_then(|cpu| cpu.model.as_deref())),
        ("revision", environment.revision.as_deref()),
        ("build_profile", environment.build_profile.as_deref()),
    ] {
        if let Some(text) = text {
            data.text(name, text);
        }
    }
    if profile.interrupted {
        data.push("interrupted", Value::Is(true));
    }
    if let Some(dropped) = dropped {
        data.push("dropped_events", Value::Count(dropped));
    }
    data
}
