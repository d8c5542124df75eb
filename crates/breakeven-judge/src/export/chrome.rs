//! The Trace Event Format, as JSON: what Perfetto and `chrome://tracing` read.
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>
//!
//! A timeline is written unchanged: a process per device, a track per thread that used it. Without
//! a timeline, the samples of each operation are laid end to end on a track of their own, the
//! phases of a call on further tracks, and the trace says that these are no real times. Events are
//! streamed, so a million of them need no second copy.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use breakeven_profile::profile::{Device, Operation, Profile, Run, Timeline};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter};

use super::label::Labels;
use super::tracks::{By, tracks};
use super::{ExportError, sum, whole};

/// Writes the profile as a trace.
///
/// # Errors
///
/// If the profile has no calls and no samples, if the samples of an operation add up to more than
/// 2^64 ns, or if writing to `out` fails.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let timeline = profile.timeline.as_ref();
    let timeline = timeline.filter(|timeline| !timeline.events.is_empty());
    let sampled = profile.operations.iter().any(has_any);
    let (source, dropped) = match timeline {
        Some(timeline) => ("timeline", Some(timeline.dropped)),
        None if sampled => (SOURCE, None),
        None => return Err(ExportError::Empty),
    };
    let mut trace = Trace::begin(BufWriter::new(out), &other_data(profile, source, dropped))?;
    match timeline {
        Some(timeline) => write_timeline(profile, timeline, &mut trace)?,
        None => write_samples(profile, &mut trace)?,
    }
    trace.end()
}

/// An event's properties besides its time.
type Args = BTreeMap<String, Value>;

/// The properties that are known.
fn args<const N: usize>(of: [(&str, Option<Value>); N]) -> Args {
    let known = of.into_iter();
    known
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// What the trace says of itself.
fn other_data(profile: &Profile, source: &str, dropped: Option<u64>) -> Args {
    let environment = &profile.environment;
    let model = environment.cpu.as_ref().and_then(|cpu| cpu.model.clone());
    let exporter = concat!("breakeven ", env!("CARGO_PKG_VERSION"));
    args([
        ("exporter", Some(exporter.into())),
        ("source", Some(source.into())),
        ("generator", profile.generator.clone().map(Value::from)),
        ("created", profile.created.clone().map(Value::from)),
        ("os", environment.os.clone().map(Value::from)),
        ("cpu", model.map(Value::from)),
        ("revision", environment.revision.clone().map(Value::from)),
        (
            "build_profile",
            environment.build_profile.clone().map(Value::from),
        ),
        ("interrupted", profile.interrupted.then(|| true.into())),
        ("dropped_events", dropped.map(Value::from)),
    ])
}

/// An event; its fields have the names of the format.
#[derive(Default, Serialize)]
struct Event<'a> {
    name: Cow<'a, str>,
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
    /// A call from `start_ns` on.
    fn call(
        name: &'a str,
        category: &'static str,
        place: Place,
        (start_ns, duration_ns): (u64, u64),
    ) -> Self {
        Self {
            cat: Some(category),
            ts: microseconds(start_ns),
            dur: Some(microseconds(duration_ns)),
            ..Self::new(name, "X", place)
        }
    }

    /// The name of a process or of a track.
    fn metadata(kind: &'static str, place: Place, name: String) -> Self {
        Self {
            args: Cow::Owned(args([("name", Some(name.into()))])),
            ..Self::new(kind, "M", place)
        }
    }

    /// A remark at the beginning of the whole trace or, with a place, of a track.
    fn remark(name: &'a str, place: Option<Place>, args: Args) -> Self {
        Self {
            s: Some(if place.is_some() { "t" } else { "g" }),
            args: Cow::Owned(args),
            ..Self::new(name, "i", place.unwrap_or(Place { pid: 1, tid: 1 }))
        }
    }

    fn new(name: &'a str, ph: &'static str, place: Place) -> Self {
        Self {
            name: name.into(),
            ph,
            pid: place.pid,
            tid: place.tid,
            ..Self::default()
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

/// A trace that is being written.
struct Trace<W> {
    out: W,
    separator: &'static str,
}

impl<W: Write> Trace<W> {
    /// Writes what comes before the events.
    fn begin(mut out: W, other_data: &Args) -> Result<Self, ExportError> {
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        json(&mut out, other_data)?;
        write!(out, ",\"traceEvents\":[")?;
        Ok(Self {
            out,
            separator: "\n",
        })
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), ExportError> {
        write!(self.out, "{}", self.separator)?;
        self.separator = ",\n";
        Ok(json(&mut self.out, event)?)
    }

    fn end(mut self) -> Result<(), ExportError> {
        writeln!(self.out, "\n]}}")?;
        Ok(self.out.flush()?)
    }
}

fn json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Escaped(CompactFormatter));
    Ok(value.serialize(&mut serializer)?)
}

/// Escapes DEL, the one control character that JSON allows unescaped in a text: Perfetto refuses a
/// trace with it.
struct Escaped(CompactFormatter);

impl Formatter for Escaped {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut parts = fragment.split('\u{7f}');
        let first = parts.next().unwrap_or_default();
        self.0.write_string_fragment(writer, first)?;
        for part in parts {
            writer.write_all(b"\\u007f")?;
            self.0.write_string_fragment(writer, part)?;
        }
        Ok(())
    }
}

/// The remark that the trace gives on such times.
const SOURCE: &str = "samples laid end to end, not real times";

/// True for an operation with something to show.
fn has_any(operation: &Operation) -> bool {
    let any = |run: &Run| {
        !run.samples_ns.is_empty() || run.phases_ns.values().any(|times| !times.is_empty())
    };
    operation.runs.iter().any(any)
}

/// Writes a process per device with a track per operation and one per phase of its calls, because
/// phases are measured in separate calls.
fn write_samples(profile: &Profile, trace: &mut Trace<impl Write>) -> Result<(), ExportError> {
    trace.event(&Event::remark(SOURCE, None, Args::new()))?;
    let labels = Labels::of(profile);
    let mut devices: BTreeMap<(Device<'_>, &str), Vec<&Operation>> = BTreeMap::new();
    for operation in profile.operations.iter().filter(|each| has_any(each)) {
        let device = operation.device.as_str();
        let key = (Device::of(device), device);
        devices.entry(key).or_default().push(operation);
    }
    let mut track = devices.len();
    for (process, ((_, device), operations)) in devices.into_iter().enumerate() {
        let name = labels.device(device);
        trace.event(&Event::metadata(
            "process_name",
            Place::new(process, track),
            name,
        ))?;
        for operation in operations {
            let title = labels.operation(operation);
            let place = Place::new(process, track);
            trace.event(&Event::metadata("thread_name", place, title.clone()))?;
            trace.event(&Event::remark(
                &operation.name,
                Some(place),
                facts(operation),
            ))?;
            let samples = operation.runs.iter().map(|run| &run.samples_ns[..]);
            end_to_end(samples, trace, |span| {
                Event::call(&operation.name, "sample", place, span)
            })?;
            track += 1;
            for part in part_names(operation) {
                let place = Place::new(process, track);
                let title = format!("{title}: {part} (calls of its own)");
                trace.event(&Event::metadata("thread_name", place, title))?;
                let times = operation.runs.iter().map(|run| run.phases_ns.get(part));
                let times = times.map(|times| times.map_or(&[][..], Vec::as_slice));
                end_to_end(times, trace, |span| Event::call(part, "phase", place, span))?;
                track += 1;
            }
        }
    }
    Ok(())
}

/// Writes the times of each run, one after the other.
fn end_to_end<'a>(
    runs: impl Iterator<Item = &'a [f64]>,
    trace: &mut Trace<impl Write>,
    event: impl Fn((u64, u64)) -> Event<'a>,
) -> Result<(), ExportError> {
    let mut start_ns = 0;
    for (run, times) in runs.enumerate() {
        for (call, &ns) in times.iter().enumerate() {
            let ns = whole(ns)?;
            let mut event = event((start_ns, ns));
            event.args = Cow::Owned(args([
                ("run", Some(run.into())),
                ("call", Some(call.into())),
            ]));
            trace.event(&event)?;
            start_ns = sum([start_ns, ns])?;
        }
    }
    Ok(())
}

/// The measured phases of a call.
fn part_names(operation: &Operation) -> BTreeSet<&str> {
    let parts = operation.runs.iter().flat_map(|run| &run.phases_ns);
    parts
        .filter(|(_, times)| !times.is_empty())
        .map(|(name, _)| name.as_str())
        .collect()
}

/// The operation's properties in the profile, besides its times; the program's attributes under
/// names that are not used.
fn facts(operation: &Operation) -> Args {
    let failure = operation.failure.as_ref().map(ToString::to_string);
    let mut facts = operation.attributes.clone();
    facts.extend(args([
        ("calls", Some(operation.calls().into())),
        ("samples", Some(operation.samples_ns().count().into())),
        ("size", operation.size.map(Value::from)),
        ("workload", operation.workload.clone().map(Value::from)),
        ("items", operation.items.map(Value::from)),
        ("bytes", operation.bytes.map(Value::from)),
        ("flops", operation.flops.map(Value::from)),
        ("memory_bytes", operation.memory_bytes.map(Value::from)),
        ("gpu_use", operation.gpu_use.map(Value::from)),
        ("failure", failure.map(Value::from)),
    ]));
    facts
}

/// Writes a process per device and a track per thread that used it.
fn write_timeline(
    profile: &Profile,
    timeline: &Timeline,
    trace: &mut Trace<impl Write>,
) -> Result<(), ExportError> {
    if timeline.dropped > 0 {
        let name = format!("{} earlier calls dropped", timeline.dropped);
        let dropped = args([("dropped_events", Some(timeline.dropped.into()))]);
        trace.event(&Event::remark(&name, None, dropped))?;
    }
    let labels = Labels::of(profile);
    let tracks = tracks(timeline, By::DeviceAndThread);
    let mut devices: Vec<&str> = tracks.iter().map(|track| track.device).collect();
    devices.dedup();
    let mut process = 0;
    for (index, track) in tracks.iter().enumerate() {
        let is_new = index == 0 || tracks[index - 1].device != track.device;
        process += usize::from(is_new && index > 0);
        let place = Place::new(process, devices.len() + index);
        if is_new {
            let name = labels.device(track.device);
            trace.event(&Event::metadata("process_name", place, name))?;
        }
        let name = track.name(timeline);
        trace.event(&Event::metadata("thread_name", place, name))?;
        for &call in &track.calls {
            let call = &timeline.events[call];
            let span = (call.start_ns, call.duration_ns);
            let mut event = Event::call(&call.name, "call", place, span);
            event.args = Cow::Borrowed(&call.attributes);
            trace.event(&event)?;
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
