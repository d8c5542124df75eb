//! Checks values that JSON allows and a profile does not. Runs after reading and before writing, so
//! that every written file can be read.

use std::collections::HashMap;
use std::fmt;

use super::error::{FileError, FileErrorKind, clipped};
use crate::profile::time::{MAX_NS, is_time};
use crate::profile::{
    Activity, Energy, Environment, Evidence, Executions, LoadSample, Operation, Profile, Run,
};
use crate::stats::StatsError;

/// Longest name, bytes: short enough for a row's head, a frame or a key in any later tool. Names of
/// types that compilers generate have some thousands.
const MAX_NAME: usize = 65_536;

/// A place in the document, or a message, built only for an error.
type Text<'a> = fmt::Arguments<'a>;
type Checked = Result<(), FileError>;

/// Finds a value that is invalid in any file.
pub(super) fn validate(profile: &Profile) -> Checked {
    environment(&profile.environment)?;
    evidence(&profile.evidence)?;
    let mut keys = HashMap::new();
    for (index, each) in profile.operations.iter().enumerate() {
        let (at, key) = (format_args!("operations[{index}]"), each.key().to_string());
        operation(each, at)?;
        let first = keys.insert((&each.name, &each.device, each.size), index);
        check(
            first.is_none(),
            at,
            format_args!(
                "the same operation as operations[{}], {}; give them different sizes, or put both \
                 in one operation as two runs",
                first.unwrap_or_default(),
                clipped(&key)
            ),
        )?;
    }
    for (index, stack) in profile.stacks.iter().enumerate() {
        let at = format_args!("stacks[{index}]");
        names(&stack.frames, at)?;
    }
    if let Some(timeline) = &profile.timeline {
        names(&timeline.threads, format_args!("timeline.threads"))?;
        for (index, event) in timeline.events.iter().enumerate() {
            let at = format_args!("timeline.events[{index}]");
            names(event.device.iter().chain([&event.name]), at)?;
        }
    }
    for (index, each) in profile.activity.iter().enumerate() {
        activity(each, format_args!("activity[{index}]"))?;
    }
    for (index, record) in profile.load.iter().enumerate() {
        for (number, device) in record.devices.iter().enumerate() {
            let at = format_args!("load[{index}].devices[{number}]");
            names(device.name.iter().chain([&device.device]), at)?;
            for (index, sample) in device.samples.iter().enumerate() {
                load_sample(sample, format_args!("{at}.samples[{index}]"))?;
            }
        }
    }
    Ok(())
}

fn environment(environment: &Environment) -> Checked {
    let cpu = environment.cpu.iter().filter_map(|cpu| cpu.usable_cores);
    let clock = environment.clock.iter();
    let clock = clock.flat_map(|clock| [clock.read_ns, clock.resolution_ns]);
    let cost = environment.recorder.iter();
    let cost = cost.flat_map(|cost| [cost.guard_ns, cost.inside_ns]);
    finite(cpu.chain(clock).chain(cost), format_args!("environment"))
}

fn evidence(evidence: &Evidence) -> Checked {
    for (index, peak) in evidence.peaks.iter().enumerate() {
        let rates = [
            peak.memory_bytes_per_s,
            peak.flops_per_s,
            peak.launch_ns,
            peak.upload_bytes_per_s,
            peak.download_bytes_per_s,
            peak.shared_accesses_per_s,
            peak.shared_atomics_per_s,
            peak.access_ns,
        ];
        let points = peak.memory.iter().map(|point| point.bytes_per_s);
        let rates = rates.into_iter().flatten().chain(points);
        finite(rates, format_args!("evidence.peaks[{index}]"))?;
    }
    for (index, found) in evidence.break_even.iter().enumerate() {
        let sizes = found.size.into_iter().chain(found.tested_to);
        let sizes = sizes.chain(found.interval.into_iter().flatten());
        finite(sizes, format_args!("evidence.break_even[{index}]"))?;
    }
    Ok(())
}

fn operation(operation: &Operation, at: Text<'_>) -> Checked {
    let reason = format_args!("the name is empty; give the operation a name");
    check(
        !operation.name.is_empty(),
        format_args!("{at}.name"),
        reason,
    )?;
    names([&operation.name, &operation.device], at)?;
    for (counter, described) in &operation.counters {
        names([counter, &described.unit], format_args!("{at}.counters"))?;
    }
    let executions = operation.executions.iter();
    for Executions {
        device_tasks,
        predicted_ns,
        ..
    } in executions
    {
        let at = format_args!("{at}.executions");
        names(device_tasks.keys(), at)?;
        finite(*predicted_ns, at)?;
    }
    let part = operation.gpu_use.unwrap_or_default();
    check(
        (0.0..=1.0).contains(&part),
        format_args!("{at}.gpu_use"),
        format_args!("{part} is not a fraction; give a number from 0 to 1"),
    )?;
    for (number, each) in operation.runs.iter().enumerate() {
        let at = format_args!("{at}.runs[{number}]");
        run(each, at)?;
        for (counter, value) in &each.counters {
            let at = format_args!("{at}.counters.{counter}");
            finite([*value], at)?;
            let reason =
                format_args!("it is not among the operation's counters; name its unit there");
            check(operation.counters.contains_key(counter), at, reason)?;
        }
    }
    Ok(())
}

fn run(run: &Run, at: Text<'_>) -> Checked {
    times(&run.samples_ns, format_args!("{at}.samples_ns"))?;
    times(&run.warmup_ns, format_args!("{at}.warmup_ns"))?;
    time(run.first_call_ns, format_args!("{at}.first_call_ns"))?;
    time(run.self_ns, format_args!("{at}.self_ns"))?;
    names(run.phases_ns.keys(), format_args!("{at}.phases_ns"))?;
    for (phase, all) in &run.phases_ns {
        times(all, format_args!("{at}.phases_ns.{phase}"))?;
    }
    if let Some(each) = &run.energy {
        energy(each, format_args!("{at}.energy"))?;
    }
    if let Some(moments) = &run.moments {
        let at = format_args!("{at}.moments");
        let wrong = |error: StatsError| FileError::new(FileErrorKind::Value, error.to_string());
        let checked = moments.check().map_err(wrong);
        checked.map_err(|error| error.at_place(at.to_string()))?;
        let (calls, kept) = (moments.count(), run.samples_ns.len() as u64);
        check(
            calls >= kept,
            at,
            format_args!(
                "they count {calls} of the calls, and samples_ns has {kept}; count all calls of \
                 the run"
            ),
        )?;
        time(moments.total().min(MAX_NS), at)?;
        time(moments.min().map(|least| least.min(MAX_NS)), at)?;
    }
    Ok(())
}

fn energy(energy: &Energy, at: Text<'_>) -> Checked {
    let reason = format_args!("it is the energy of no calls; give 1 or more, or leave it out");
    check(energy.calls > 0, at, reason)?;
    time(energy.over_ns, format_args!("{at}.over_ns"))?;
    time(energy.idle_over_ns, format_args!("{at}.idle_over_ns"))?;
    for (index, counter) in energy.counters.iter().enumerate() {
        let at = format_args!("{at}.counters[{index}]");
        let texts = counter.covers.iter().chain([&counter.of, &counter.how]);
        names(texts, at)?;
        for value in counter.idle_watts.iter().chain([&counter.joules]) {
            let reason = format_args!("{value} is no amount of energy or power; give 0 or more");
            check((0.0..f64::INFINITY).contains(value), at, reason)?;
        }
    }
    Ok(())
}

fn activity(activity: &Activity, at: Text<'_>) -> Checked {
    names([&activity.device], at)?;
    if let Some(launches) = &activity.launches {
        time(launches.call_median_ns, at)?;
        time(launches.delay_median_ns, at)?;
    }
    let directions = activity.copies.iter().map(|copies| &copies.direction);
    let streams = activity.streams.iter().map(|stream| &stream.stream);
    names(directions.chain(streams), at)
}

fn load_sample(sample: &LoadSample, at: Text<'_>) -> Checked {
    names(sample.limits.keys(), at)?;
    for (field, level) in [
        ("used", sample.used),
        ("other_used", sample.other_used),
        ("memory_bytes", sample.memory_bytes),
        ("temperature_celsius", sample.temperature_celsius),
        ("power_watts", sample.power_watts),
        ("clock_hz", sample.clock_hz),
    ] {
        let Some(level) = level else { continue };
        let at = format_args!("{at}.{field}");
        let reason = format_args!("minimum, mean and maximum are not in this order");
        check(level.is_sound(), at, reason)?;
        let is_part = level.least >= 0.0 && level.greatest <= 1.0;
        let reason = format_args!("the use is not a fraction; give numbers from 0 to 1");
        check(is_part || !field.ends_with("used"), at, reason)?;
    }
    Ok(())
}

fn times(times: &[f64], at: Text<'_>) -> Checked {
    let mut times = times.iter().enumerate();
    times.try_for_each(|(index, ns)| time(*ns, format_args!("{at}[{index}]")))
}

fn time(ns: impl Into<Option<f64>>, at: Text<'_>) -> Checked {
    let ns = ns.into().unwrap_or_default();
    let reason = format_args!("{ns} ns is not a time; times are from 0 to 2^63 ns");
    check(is_time(ns), at, reason)
}

fn names<'a>(names: impl IntoIterator<Item = &'a String>, at: Text<'_>) -> Checked {
    let mut lengths = names.into_iter().map(String::len);
    lengths.try_for_each(|length| {
        let reason =
            format_args!("the name is {length} bytes long; shorten it to at most {MAX_NAME}");
        check(length <= MAX_NAME, at, reason)
    })
}

fn finite(values: impl IntoIterator<Item = f64>, at: Text<'_>) -> Checked {
    let mut values = values.into_iter();
    values.try_for_each(|value| {
        let reason = format_args!("{value} cannot be written in JSON; leave the value out");
        check(value.is_finite(), at, reason)
    })
}

fn check(holds: bool, at: Text<'_>, reason: Text<'_>) -> Checked {
    if holds {
        return Ok(());
    }
    let error = FileError::new(FileErrorKind::Value, reason.to_string());
    Err(error.at_place(clipped(&at.to_string())))
}
