//! The Trace Event Format, as JSON: what Perfetto and `chrome://tracing` read.
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>
//!
//! A timeline is written unchanged: a process per device, a track per thread that used it. Without
//! a timeline, the samples of each operation are laid end to end on a track of their own, and the
//! trace says that these are no real times. Events are streamed, so a million of them need no
//! second copy.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use breakeven_profile::profile::{Device, Operation, Profile, Timeline};
use serde::Serialize;
use serde_json::Value;

use super::label::Labels;
use super::tracks::placed;
use super::{ExportError, sum, whole};

/// The remark that the trace gives on times of samples.
const SAMPLES: &str = "samples laid end to end, not real times";

/// Writes the profile as a trace.
///
/// # Errors
///
/// If the profile has no calls and no samples, if the samples of an operation add up to more than
/// 2^64 ns, or if writing to `out` fails.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let timeline = profile.timeline.as_ref();
    let timeline = timeline.filter(|timeline| !timeline.events.is_empty());
    if timeline.is_none() && !profile.operations.iter().any(has_samples) {
        return Err(ExportError::Empty);
    }
    let source = timeline.map_or(SAMPLES, |_| "timeline");
    let mut about = args([
        ("exporter", concat!("breakeven ", env!("CARGO_PKG_VERSION"))),
        ("source", source),
        (
            "generator",
            profile.generator.as_deref().unwrap_or_default(),
        ),
        ("created", profile.created.as_deref().unwrap_or_default()),
    ]);
    about.retain(|_, value| *value != "");
    let (out, separator) = (BufWriter::new(out), "\n");
    let mut trace = Trace { out, separator };
    let about = json(&about)?;
    write!(
        trace.out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":["
    )?;
    match timeline {
        Some(timeline) => write_timeline(profile, timeline, &mut trace)?,
        None => write_samples(profile, &mut trace)?,
    }
    writeln!(trace.out, "\n]}}")?;
    Ok(trace.out.flush()?)
}

/// A trace that is being written.
struct Trace<W> {
    out: W,
    separator: &'static str,
}

impl<W: Write> Trace<W> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), ExportError> {
        write!(self.out, "{}{}", self.separator, json(event)?)?;
        self.separator = ",\n";
        Ok(())
    }
}

/// JSON in which DEL is escaped too: Perfetto refuses a trace with it.
fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?.replace('\u{7f}', "\\u007f"))
}

/// An event's properties besides its time.
type Args = BTreeMap<String, Value>;

fn args<const N: usize, V: Into<Value>>(of: [(&str, V); N]) -> Args {
    let of = of.into_iter();
    of.map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// An event; its fields have the names of the format.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: usize,
    tid: usize,
    /// Scope of an instant: `g`lobal or `t`hread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    args: Cow<'a, Args>,
}

/// Position of an event: ids of its process and of its track.
#[derive(Clone, Copy)]
struct Place {
    pid: usize,
    tid: usize,
}

impl Place {
    /// The process and the track with these numbers, from 0. Perfetto merges tracks of equal ids,
    /// whatever their process, and takes a track with a process's id for that process's main
    /// thread. Therefore track ids follow the process ids.
    fn new(process: usize, track: usize) -> Self {
        Self {
            pid: process + 1,
            tid: track + 1,
        }
    }
}

impl<'a> Event<'a> {
    /// A call or a sample.
    fn call(
        name: &'a str,
        category: &'static str,
        place: Place,
        (start_ns, duration_ns): (u64, u64),
        args: Cow<'a, Args>,
    ) -> Self {
        Self {
            cat: Some(category),
            ts: microseconds(start_ns),
            dur: Some(microseconds(duration_ns)),
            ..Self::new(name, "X", place, args)
        }
    }

    /// The name of a process or of a track.
    fn metadata(kind: &'static str, place: Place, name: &str) -> Self {
        Self::new(kind, "M", place, Cow::Owned(args([("name", name)])))
    }

    /// A remark at the beginning: of the whole trace, `g`, or of a track, `t`.
    fn remark(text: &'a str, scope: &'static str, place: Place, args: Cow<'a, Args>) -> Self {
        Self {
            s: Some(scope),
            ..Self::new(text, "i", place, args)
        }
    }

    fn new(
        name: &'a str,
        ph: &'static str,
        Place { pid, tid }: Place,
        args: Cow<'a, Args>,
    ) -> Self {
        Self {
            name,
            cat: None,
            ph,
            ts: 0.0,
            dur: None,
            pid,
            tid,
            s: None,
            args,
        }
    }
}

/// The time in the format's µs. Perfetto multiplies by 1000 and truncates, so a number whose last
/// digit is too small would lose one ns, and calls that end together would overlap.
fn microseconds(ns: u64) -> f64 {
    let ns = ns as f64;
    let us = ns / 1000.0;
    if us * 1000.0 < ns { us.next_up() } else { us }
}

fn has_samples(operation: &Operation) -> bool {
    operation.samples_ns().next().is_some()
}

/// Writes a process per device with a track per operation.
fn write_samples(profile: &Profile, trace: &mut Trace<impl Write>) -> Result<(), ExportError> {
    let whole_trace = Place::new(0, 0);
    trace.event(&Event::remark(SAMPLES, "g", whole_trace, Cow::default()))?;
    let labels = Labels::of(profile);
    let mut devices: BTreeMap<(Device<'_>, &str), Vec<&Operation>> = BTreeMap::new();
    for operation in profile.operations.iter().filter(|each| has_samples(each)) {
        let device = operation.device.as_str();
        let key = (Device::of(device), device);
        devices.entry(key).or_default().push(operation);
    }
    let mut track = devices.len();
    for (process, ((_, device), operations)) in devices.into_iter().enumerate() {
        let (place, label) = (Place::new(process, track), labels.device(device));
        trace.event(&Event::metadata("process_name", place, &label))?;
        for operation in operations {
            let place = Place::new(process, track);
            let (name, title) = (&operation.name, labels.operation(operation));
            trace.event(&Event::metadata("thread_name", place, &title))?;
            // The importer reads the size.
            let mut about = operation.attributes.clone();
            about.extend(operation.size.map(|size| ("size".to_owned(), size.into())));
            trace.event(&Event::remark(name, "t", place, Cow::Owned(about)))?;
            let mut start_ns = 0;
            for (run, of_run) in operation.runs.iter().enumerate() {
                for (call, ns) in of_run.samples_ns.iter().enumerate() {
                    let span = (start_ns, whole(*ns)?);
                    let args = Cow::Owned(args([("run", run), ("call", call)]));
                    trace.event(&Event::call(name, "sample", place, span, args))?;
                    start_ns = sum([span.0, span.1])?;
                }
            }
            track += 1;
        }
    }
    Ok(())
}

/// Writes a process per device and a track per thread that used it.
fn write_timeline(
    profile: &Profile,
    timeline: &Timeline,
    trace: &mut Trace<impl Write>,
) -> Result<(), ExportError> {
    if timeline.dropped > 0 {
        let text = format!("{} earlier calls dropped", timeline.dropped);
        let whole_trace = Place::new(0, 0);
        trace.event(&Event::remark(&text, "g", whole_trace, Cow::default()))?;
    }
    let labels = Labels::of(profile);
    let tracks = placed(timeline);
    let mut devices: Vec<&str> = tracks.iter().map(|track| track.device.as_str()).collect();
    devices.dedup();
    let mut of_track = devices.len();
    for (process, device) in devices.into_iter().enumerate() {
        let place = Place::new(process, of_track);
        trace.event(&Event::metadata(
            "process_name",
            place,
            &labels.device(device),
        ))?;
        for track in tracks.iter().filter(|track| track.device == device) {
            let place = Place::new(process, of_track);
            trace.event(&Event::metadata("thread_name", place, &track.name))?;
            for call in &track.calls {
                let call = &timeline.events[call.event];
                let span = (call.start_ns, call.duration_ns);
                let args = Cow::Borrowed(&call.attributes);
                trace.event(&Event::call(&call.name, "call", place, span, args))?;
            }
            of_track += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod event_tests {
    use super::*;

    #[test]
    fn no_nanosecond_is_lost_where_perfetto_cuts_off() {
        let odd = (0..2_000_000).map(|n| n * 37 + 1);
        for ns in odd.chain([1 << 40, (1 << 50) + 1]) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "as Perfetto does it"
            )]
            let read = (microseconds(ns) * 1000.0) as u64;
            assert_eq!(read, ns);
        }
        assert_eq!(microseconds(1_500), 1.5);
    }
}
