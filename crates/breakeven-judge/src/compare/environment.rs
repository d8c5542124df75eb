//! Warnings about the machines, the clocks and the builds of the two sides.

use std::collections::HashSet;

use breakeven_profile::profile::{Clock, Difference, Part, Profile};
use breakeven_profile::unit;

use super::machine_load;
use super::warning::{Side, Warning};

/// Ratio of clock steps from which the clocks count as different; smaller differences come from
/// measuring the steps anew at every start.
const OTHER_STEPS: f64 = 2.0;

/// Differences between the sides, by their first profiles, and within each side.
pub(crate) fn warnings(baseline: &[Profile], current: &[Profile]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (side, profiles) in [(Side::Baseline, baseline), (Side::Current, current)] {
        if profiles.iter().any(|profile| profile.interrupted) {
            warnings.push(Warning::Interrupted { side });
        }
        warnings.extend(mixed(side, profiles));
    }
    let (Some(first), Some(second)) = (baseline.first(), current.first()) else {
        return warnings;
    };
    let operations = second.operations.iter();
    let used: HashSet<&str> = operations.map(|each| each.device.as_str()).collect();
    let differences = first.environment.differences(&second.environment);
    let of_used = differences.into_iter();
    warnings.extend(of_used.filter_map(|difference| of_difference(difference, &used)));
    warnings.extend(machine_load::warnings(baseline, current, &used));
    let clocks = (&first.environment.clock, &second.environment.clock);
    if let (Some(before), Some(after)) = clocks
        && other_clock(before, after)
    {
        let text = |clock: &Clock| {
            let steps = unit::time(clock.resolution_ns);
            format!("{} in steps of {steps}", clock.source)
        };
        warnings.push(Warning::Clock {
            baseline: text(before),
            current: text(after),
        });
    }
    warnings
}

/// Differences among the profiles of one side, each property once.
fn mixed(side: Side, profiles: &[Profile]) -> Vec<Warning> {
    let mut parts: Vec<String> = Vec::new();
    let Some((first, others)) = profiles.split_first() else {
        return Vec::new();
    };
    for other in others {
        for found in first.environment.differences(&other.environment) {
            let part = found.part.to_string();
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    let warning = |what| Warning::Mixed { side, what };
    parts.into_iter().map(warning).collect()
}

fn of_difference(difference: Difference, used: &HashSet<&str>) -> Option<Warning> {
    let Difference {
        part,
        first: baseline,
        second: current,
    } = difference;
    Some(match &part {
        // A comparison of revisions is the normal case; the clock is checked below.
        Part::Revision | Part::ClockSource => return None,
        Part::GpuName(device) | Part::GpuDriver(device) if !used.contains(device.as_str()) => {
            return None;
        }
        Part::BuildProfile => Warning::OtherBuild { baseline, current },
        _ => Warning::OtherMachine {
            what: part.to_string(),
            baseline,
            current,
        },
    })
}

fn other_clock(before: &Clock, after: &Clock) -> bool {
    let fine = before.resolution_ns.min(after.resolution_ns);
    let coarse = before.resolution_ns.max(after.resolution_ns);
    before.source != after.source || coarse > OTHER_STEPS * fine
}
