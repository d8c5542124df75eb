//! What a file cannot hold: found before writing, so that what was written can be read.

use super::document::Keys;
use super::error::{FileError, FileErrorKind};
use super::names::too_long;
use super::times::MAX_NS;
use crate::profile::energy::is_amount;
use crate::profile::load::is_fraction;
use crate::profile::{
    Activity, Energy, Environment, Evidence, LoadRecord, LoadSample, Operation, Profile, Run,
};

/// Finds a value that a reader would refuse.
pub(super) fn profile(profile: &Profile) -> Result<(), FileError> {
    environment(&profile.environment)?;
    evidence(&profile.evidence)?;
    let mut keys = Keys::default();
    for (index, each) in profile.operations.iter().enumerate() {
        keys.note(each)?;
        operation(each, index)?;
    }
    for (index, stack) in profile.stacks.iter().enumerate() {
        let place = format!("stacks[{index}]");
        names(&stack.frames, &place)?;
        times([stack.total_ns, stack.self_ns].map(|ns| ns as f64), &place)?;
    }
    if let Some(timeline) = &profile.timeline {
        names(&timeline.threads, "timeline.threads")?;
        for (index, event) in timeline.events.iter().enumerate() {
            let place = format!("timeline.events[{index}]");
            names(event.device.iter().chain([&event.name]), &place)?;
            times(
                [event.start_ns, event.duration_ns].map(|ns| ns as f64),
                &place,
            )?;
        }
    }
    for (index, activity) in profile.activity.iter().enumerate() {
        device_activity(activity, &format!("activity[{index}]"))?;
    }
    for (index, record) in profile.load.iter().enumerate() {
        load(record, &format!("load[{index}]"))?;
    }
    Ok(())
}

fn load(record: &LoadRecord, place: &str) -> Result<(), FileError> {
    times([record.interval_ns as f64], &format!("{place}.interval_ns"))?;
    for (index, device) in record.devices.iter().enumerate() {
        let place = format!("{place}.devices[{index}]");
        names(device.name.iter().chain([&device.device]), &place)?;
        for (index, sample) in device.samples.iter().enumerate() {
            load_sample(sample, &format!("{place}.samples[{index}]"))?;
        }
    }
    Ok(())
}

fn load_sample(sample: &LoadSample, place: &str) -> Result<(), FileError> {
    times(
        [sample.start_ns, sample.duration_ns].map(|ns| ns as f64),
        place,
    )?;
    names(sample.limits.keys(), &format!("{place}.limits"))?;
    let levels = sample.levels().into_iter();
    let mut levels = levels.filter_map(|(level, of_whole)| Some((level?, of_whole)));
    let unsound =
        levels.find(|(level, of_whole)| !level.is_sound() || (*of_whole && !is_fraction(*level)));
    let message = unsound.map(|(level, of_whole)| {
        let [least, mean, greatest] = [level.least, level.mean, level.greatest];
        let what = if of_whole {
            "no part of a whole"
        } else {
            "no level"
        };
        format!("{least}, {mean}, {greatest} is {what}")
    });
    wrong(message, place)
}

fn device_activity(activity: &Activity, place: &str) -> Result<(), FileError> {
    let streams = activity.streams.iter().map(|stream| &stream.stream);
    let directions = activity.copies.iter().map(|copies| &copies.direction);
    names(
        streams.chain(directions).chain([&activity.device]),
        &format!("{place}.device"),
    )?;
    let totals = [
        activity.span_ns,
        activity.busy_ns,
        activity.compute_ns,
        activity.communication_ns,
        activity.communication_overlap_ns,
        activity.copy_ns,
        activity.copy_overlap_ns,
    ];
    let copies = activity.copies.iter().map(|copies| copies.total_ns);
    let streams = activity.streams.iter().map(|stream| stream.busy_ns);
    let launches = activity.launches.iter();
    let launched = launches
        .clone()
        .flat_map(|all| [all.call_total_ns, all.delay_max_ns]);
    let whole = totals
        .into_iter()
        .chain(copies)
        .chain(streams)
        .chain(launched);
    times(whole.map(|ns| ns as f64), place)?;
    let medians = launches.flat_map(|all| [all.call_median_ns, all.delay_median_ns]);
    times(medians, &format!("{place}.launches"))
}

fn environment(environment: &Environment) -> Result<(), FileError> {
    if let Some(cpu) = &environment.cpu {
        finite(cpu.usable_cores, "environment.cpu.usable_cores")?;
    }
    if let Some(clock) = &environment.clock {
        finite([clock.read_ns], "environment.clock.read_ns")?;
        finite([clock.resolution_ns], "environment.clock.resolution_ns")?;
    }
    if let Some(cost) = &environment.recorder {
        finite([cost.guard_ns, cost.inside_ns], "environment.recorder")?;
    }
    Ok(())
}

fn evidence(evidence: &Evidence) -> Result<(), FileError> {
    for (index, peak) in evidence.peaks.iter().enumerate() {
        let rates = [
            peak.memory_bytes_per_s,
            peak.flops_per_s,
            peak.launch_ns,
            peak.upload_bytes_per_s,
            peak.download_bytes_per_s,
        ];
        let points = peak.memory.iter().map(|point| point.bytes_per_s);
        finite(
            rates.into_iter().flatten().chain(points),
            &format!("evidence.peaks[{index}]"),
        )?;
    }
    for (index, found) in evidence.break_even.iter().enumerate() {
        let sizes = found.size.into_iter().chain(found.tested_to);
        finite(
            sizes.chain(found.interval.into_iter().flatten()),
            &format!("evidence.break_even[{index}]"),
        )?;
    }
    Ok(())
}

fn operation(operation: &Operation, index: usize) -> Result<(), FileError> {
    let place = format!("operations[{index}]");
    let unnamed = operation
        .name
        .is_empty()
        .then_some("the operation's name is empty");
    wrong(unnamed, &format!("{place}.name"))?;
    names([&operation.name, &operation.device], &place)?;
    let units = operation.counters.values().map(|counter| &counter.unit);
    names(
        operation.counters.keys().chain(units),
        &format!("{place}.counters"),
    )?;
    let part = operation.gpu_use.filter(|part| !(0.0..=1.0).contains(part));
    let part = part.map(|part| format!("{part} is not a fraction from 0 to 1"));
    wrong(part, &format!("{place}.gpu_use"))?;
    for (number, each) in operation.runs.iter().enumerate() {
        run(each, &format!("{place}.runs[{number}]"))?;
    }
    Ok(())
}

fn run(run: &Run, place: &str) -> Result<(), FileError> {
    names(run.phases_ns.keys(), place)?;
    let all = run.samples_ns.iter().chain(&run.warmup_ns);
    let all = all
        .chain(&run.first_call_ns)
        .chain(&run.self_ns)
        .chain(run.phases_ns.values().flatten());
    times(all.copied(), place)?;
    finite(run.counters.values().copied(), &format!("{place}.counters"))?;
    match &run.energy {
        Some(each) => energy(each, &format!("{place}.energy")),
        None => Ok(()),
    }
}

fn energy(energy: &Energy, place: &str) -> Result<(), FileError> {
    let none = (energy.calls == 0).then_some("it is the energy of no calls");
    wrong(none, place)?;
    let over = energy.idle_over_ns.into_iter().chain([energy.over_ns]);
    times(over, place)?;
    for counter in &energy.counters {
        let texts = counter.covers.iter().chain([&counter.of, &counter.how]);
        names(texts, place)?;
        let mut amounts = counter.idle_watts.into_iter().chain([counter.joules]);
        let unsound = amounts.find(|value| !is_amount(*value));
        let message = unsound.map(|value| format!("{value} is no amount of energy or power"));
        wrong(message, place)?;
    }
    Ok(())
}

fn times(times: impl IntoIterator<Item = f64>, place: &str) -> Result<(), FileError> {
    let none = times.into_iter().find(|ns| !(0.0..=MAX_NS).contains(ns));
    let message = none.map(|ns| format!("{ns} ns is not a time; times are from 0 to 2^63 ns"));
    wrong(message, place)
}

fn names<'a>(names: impl IntoIterator<Item = &'a String>, place: &str) -> Result<(), FileError> {
    wrong(names.into_iter().find_map(|name| too_long(name)), place)
}

fn finite(values: impl IntoIterator<Item = f64>, place: &str) -> Result<(), FileError> {
    let value = values.into_iter().find(|value| !value.is_finite());
    let message =
        value.map(|value| format!("{value} cannot be written in JSON; leave the value out"));
    wrong(message, place)
}

fn wrong(message: Option<impl Into<String>>, place: &str) -> Result<(), FileError> {
    message.map_or(Ok(()), |message| {
        Err(FileError::new(FileErrorKind::Value, message).at_place(place))
    })
}
