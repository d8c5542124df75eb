//! Samples laid end to end: they show how long each call took, not when it ran.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use breakeven_profile::profile::{Device, Operation, Profile, Run};

use super::super::ExportError;
use super::event::{Args, Event, Place, Trace, Value};
use crate::export::label::Labels;
use crate::export::{sum, whole};

/// The remark that the trace gives on such times.
pub(super) const SOURCE: &str = "samples laid end to end, not real times";

/// True for an operation with something to show.
pub(super) fn has_any(operation: &Operation) -> bool {
    let any = |run: &Run| {
        !run.samples_ns.is_empty() || run.phases_ns.values().any(|times| !times.is_empty())
    };
    operation.runs.iter().any(any)
}

/// Writes a process per device with a track per operation and one per phase of its calls, because
/// phases are measured in separate calls.
pub(super) fn write(profile: &Profile, trace: &mut Trace<impl Write>) -> Result<(), ExportError> {
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
