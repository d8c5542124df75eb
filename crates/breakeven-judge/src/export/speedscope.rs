//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>.
//!
//! The timeline becomes one evented profile per thread, the stacks a sampled
//! one. Without either there is a sampled profile of the operations.

use std::io::{self, BufWriter, Write};

use breakeven_profile::profile::{Profile, Timeline};
use serde::Serialize;
use serde_json::{Value, json};

use super::fold::own_ns;
use super::label::{Labels, Texts};
use super::tracks::{PlacedTrack, Step, by_thread, end_ns, steps};
use super::{ExportError, sum};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

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
    let mut profiles = Vec::new();
    if let Some(timeline) = timeline {
        for track in by_thread(timeline) {
            profiles.push(evented(&labels, timeline, &track, &mut frames));
        }
    }
    profiles.extend(sampled);
    if profiles.is_empty() {
        return Err(ExportError::Empty);
    }
    let frames = frames.all.iter().map(|name| json!({ "name": name }));
    let file = File {
        schema: SCHEMA,
        exporter: concat!("breakeven ", env!("CARGO_PKG_VERSION")),
        name: profile.generator.as_deref().unwrap_or("breakeven profile"),
        active_profile_index: 0,
        shared: json!({ "frames": frames.collect::<Vec<Value>>() }),
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
    shared: Value,
    profiles: Vec<Sheet>,
}

/// What speedscope calls a profile.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sheet {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    #[serde(flatten)]
    content: Content,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    /// Calls, as begin and end events.
    Evented { events: Vec<Event> },
    /// Call paths and the time that was spent on each.
    Sampled {
        samples: Vec<Vec<usize>>,
        weights: Vec<u64>,
    },
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    at: u64,
    frame: usize,
}

fn evented(
    labels: &Labels<'_>,
    timeline: &Timeline,
    track: &PlacedTrack,
    frames: &mut Texts,
) -> Sheet {
    let events = steps(timeline, track).map(|step| {
        let (kind, at, event) = match step {
            Step::Open(event) => ("O", event.start_ns, event),
            Step::Close(event) => ("C", end_ns(event), event),
        };
        let frame = frames.number(&labels.call(&event.name, event.device.as_deref()));
        Event { kind, at, frame }
    });
    let events: Vec<Event> = events.collect();
    let ends = events.iter().map(|event| event.at);
    Sheet {
        kind: "evented",
        name: track.name.clone(),
        unit: "nanoseconds",
        start_value: ends.clone().min().unwrap_or(0),
        end_value: ends.max().unwrap_or(0),
        content: Content::Evented { events },
    }
}

/// The paths with a time; `None` if there are none.
fn sampled(name: &str, paths: Vec<(Vec<usize>, u64)>) -> Result<Option<Sheet>, ExportError> {
    let (samples, weights): (Vec<_>, Vec<_>) = paths.into_iter().filter(|(_, ns)| *ns > 0).unzip();
    if samples.is_empty() {
        return Ok(None);
    }
    Ok(Some(Sheet {
        kind: "sampled",
        name: name.to_owned(),
        unit: "nanoseconds",
        start_value: 0,
        end_value: sum(weights.iter().copied())?,
        content: Content::Sampled { samples, weights },
    }))
}

fn of_stacks(profile: &Profile, frames: &mut Texts) -> Result<Option<Sheet>, ExportError> {
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
) -> Result<Option<Sheet>, ExportError> {
    let mut paths = Vec::new();
    for operation in &profile.operations {
        let device = frames.number(&labels.device(&operation.device));
        let name = frames.number(&labels.operation(operation));
        paths.push((vec![device, name], own_ns(operation)?));
    }
    sampled("operations by device", paths)
}
