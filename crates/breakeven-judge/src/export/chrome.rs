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
use serde::ser::{SerializeMap, Serializer};
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
    #[serde(skip_serializing_if = "Args::is_empty")]
    args: Args<'a>,
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
            ..Self::new(name, "X", place, Args::default())
        }
    }

    /// The name of a process or of a track.
    fn metadata(kind: &'static str, place: Place, name: String) -> Self {
        let mut args = Args::default();
        args.push("name", Value::Text(name.into()));
        Self::new(kind, "M", place, args)
    }

    /// A remark at the beginning of the whole trace.
    fn instant(name: &'a str, args: Args<'a>) -> Self {
        let place = Place { pid: 1, tid: 1 };
        Self {
            s: Some("g"),
            ..Self::new(name, "i", place, args)
        }
    }

    /// A remark at the beginning of a track.
    fn of_track(name: &'a str, place: Place, args: Args<'a>) -> Self {
        Self {
            s: Some("t"),
            ..Self::new(name, "i", place, args)
        }
    }

    fn new(name: &'a str, ph: &'static str, place: Place, args: Args<'a>) -> Self {
        Self {
            name: name.into(),
            ph,
            pid: place.pid,
            tid: place.tid,
            args,
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

/// An event's properties besides its time, in order.
#[derive(Default)]
struct Args<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// One property.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Text(Cow<'a, str>),
    Count(u64),
    Number(f64),
    Is(bool),
    Any(&'a serde_json::Value),
}

impl<'a> Args<'a> {
    /// Adds a value under a name that is not used yet.
    fn push(&mut self, name: impl Into<Cow<'a, str>>, value: Value<'a>) {
        self.0.push((name.into(), value));
    }

    fn text(&mut self, name: &'a str, text: &'a str) {
        self.push(name, Value::Text(text.into()));
    }

    fn count(&mut self, name: &'a str, count: Option<u64>) {
        if let Some(count) = count {
            self.push(name, Value::Count(count));
        }
    }

    /// Adds the program's attributes, except under names that are used.
    fn attributes(&mut self, attributes: &'a BTreeMap<String, serde_json::Value>) {
        let own = self.0.len();
        for (name, value) in attributes {
            if self.0[..own].iter().all(|(other, _)| other != name) {
                self.push(name.as_str(), Value::Any(value));
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Args<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A trace that is being written.
struct Trace<W> {
    out: W,
    separator: &'static str,
}

impl<W: Write> Trace<W> {
    /// Writes what comes before the events.
    fn begin(mut out: W, other_data: &Args<'_>) -> Result<Self, ExportError> {
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
    trace.event(&Event::instant(SOURCE, Args::default()))?;
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
            trace.event(&Event::of_track(&operation.name, place, facts(operation)))?;
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
            event.args.push("run", Value::Count(run as u64));
            event.args.push("call", Value::Count(call as u64));
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

/// The operation's properties in the profile, besides its times.
fn facts(operation: &Operation) -> Args<'_> {
    let mut facts = Args::default();
    let calls = operation.runs.iter().map(Run::calls);
    facts.count("calls", Some(calls.fold(0, u64::saturating_add)));
    facts.count("samples", Some(operation.samples_ns().count() as u64));
    facts.count("size", operation.size);
    if let Some(workload) = &operation.workload {
        facts.text("workload", workload);
    }
    facts.count("items", operation.items);
    facts.count("bytes", operation.bytes);
    facts.count("flops", operation.flops);
    facts.count("memory_bytes", operation.memory_bytes);
    if let Some(part) = operation.gpu_use {
        facts.push("gpu_use", Value::Number(part));
    }
    if let Some(failure) = &operation.failure {
        facts.push("failure", Value::Text(failure.to_string().into()));
    }
    facts.attributes(&operation.attributes);
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
        let mut args = Args::default();
        args.push("dropped_events", Value::Count(timeline.dropped));
        trace.event(&Event::instant(&name, args))?;
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
            event.args.attributes(&call.attributes);
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
