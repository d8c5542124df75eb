//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>.
//!
//! The timeline becomes one evented profile per thread, the stacks a sampled
//! one. Without either there is a sampled profile of the operations.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use breakeven_profile::profile::{Profile, Timeline, TimelineEvent};
use serde::{Serialize, Serializer};

use super::fold::{Shares, shares};
use super::label::{Labels, Texts};
use super::tracks::{By, Step, Track, end_ns, steps, tracks};
use super::{ExportError, sum};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// The unit of every value.
const UNIT: &str = "nanoseconds";

/// Writes the profile for speedscope; times in ns. Calls of a thread that overlap without nesting
/// go into separate profiles, named `… (overlapping 1)`.
///
/// # Errors
///
/// If the profile has no time, the sum exceeds 2^64 ns, or `out` cannot be written.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let timeline = profile.timeline.as_ref();
    let timeline = timeline.filter(|timeline| !timeline.events.is_empty());
    let labels = Labels::of(profile);
    let mut frames = Texts::default();
    let sampled = match timeline.is_none() && profile.stacks.is_empty() {
        true => of_operations(profile, &labels, &mut frames)?,
        false => of_stacks(profile, &mut frames)?,
    };
    let events = timeline.map_or(&[][..], |timeline| &timeline.events);
    for event in events {
        frames.number(&call(&labels, event));
    }
    let evented = timeline.into_iter().flat_map(|timeline| {
        let tracks = tracks(timeline, By::Thread).into_iter();
        tracks.map(|track| evented(&labels, timeline, track, &frames))
    });
    let profiles: Vec<Sheet<'_>> = evented.chain(sampled.map(Sheet::Sampled)).collect();
    if profiles.is_empty() {
        return Err(ExportError::Empty);
    }
    let file = File {
        schema: SCHEMA,
        exporter: concat!("breakeven ", env!("CARGO_PKG_VERSION")),
        name: profile.generator.as_deref().unwrap_or("breakeven profile"),
        active_profile_index: 0,
        shared: Shared {
            frames: frames.all.iter().map(|name| Frame { name }).collect(),
        },
        profiles,
    };
    let mut out = BufWriter::new(out);
    serde_json::to_writer(&mut out, &file).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'a str,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Sheet<'a>>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
}

fn call<'a>(labels: &Labels<'_>, event: &'a TimelineEvent) -> Cow<'a, str> {
    labels.call(&event.name, event.device.as_deref())
}

/// What speedscope calls a profile.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Sheet<'a> {
    Evented(Evented<'a>),
    Sampled(Sampled),
}

/// Calls, as begin and end events.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evented<'a> {
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    events: Events<'a>,
}

fn evented<'a>(
    labels: &'a Labels<'a>,
    timeline: &'a Timeline,
    track: Track<'a>,
    frames: &'a Texts,
) -> Sheet<'a> {
    let calls = || track.calls.iter().map(|index| &timeline.events[*index]);
    Sheet::Evented(Evented {
        name: track.name(timeline),
        unit: UNIT,
        start_value: calls().map(|event| event.start_ns).min().unwrap_or(0),
        end_value: calls().map(end_ns).max().unwrap_or(0),
        events: Events {
            labels,
            timeline,
            track,
            frames,
        },
    })
}

/// The events of a track, generated while they are written.
struct Events<'a> {
    labels: &'a Labels<'a>,
    timeline: &'a Timeline,
    track: Track<'a>,
    frames: &'a Texts,
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    at: u64,
    frame: usize,
}

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = steps(self.timeline, &self.track);
        serializer.collect_seq(steps.map(|step| {
            let (kind, at, event) = match step {
                Step::Open(event) => ("O", event.start_ns, event),
                Step::Close(event) => ("C", end_ns(event), event),
            };
            let frame = self.frames.numbers[&*call(self.labels, event)];
            Event { kind, at, frame }
        }))
    }
}

/// Call paths and the time that was spent on each.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// The paths with a time; `None` if there are none.
fn sampled(
    name: &'static str,
    paths: Vec<(Vec<usize>, u64)>,
) -> Result<Option<Sampled>, ExportError> {
    let (samples, weights): (Vec<_>, Vec<_>) = paths.into_iter().filter(|(_, ns)| *ns > 0).unzip();
    if samples.is_empty() {
        return Ok(None);
    }
    Ok(Some(Sampled {
        name,
        unit: UNIT,
        start_value: 0,
        end_value: sum(weights.iter().copied())?,
        samples,
        weights,
    }))
}

fn of_stacks(profile: &Profile, frames: &mut Texts) -> Result<Option<Sampled>, ExportError> {
    let paths = profile.stacks.iter().map(|stack| {
        let path = stack.frames.iter().map(|name| frames.number(name));
        (path.collect(), stack.self_ns)
    });
    sampled("call paths, all threads", paths.collect())
}

fn of_operations(
    profile: &Profile,
    labels: &Labels<'_>,
    frames: &mut Texts,
) -> Result<Option<Sampled>, ExportError> {
    let mut paths = Vec::new();
    for operation in &profile.operations {
        let device = frames.number(&labels.device(&operation.device));
        let name = frames.number(&labels.operation(operation));
        let Shares { own, parts } = shares(operation)?;
        paths.push((vec![device, name], own));
        for (part, ns) in parts {
            paths.push((vec![device, name, frames.number(part)], ns));
        }
    }
    sampled("operations by device", paths)
}
