//! Warnings about what else happened on the two machines: other programs, heat, throttled clocks.
//! Both sides need a recording of it; `docs/judging.md` explains the thresholds.

use std::collections::HashSet;

use breakeven_profile::profile::{Device, Profile};

use super::warning::{Side, Warning};
use crate::load::{LoadFigures, load_figures};

/// Fraction of the cores that is lost to other programs: as much as the change that a comparison
/// detects by default.
const OTHERS: f64 = 0.05;

/// Mean temperature from which a device is hot, °C. Processors throttle at 95 to 105 °C and GPUs at
/// 83 to 95 °C, and reduce their boost before that.
const HOT: f64 = 80.0;

/// How much cooler the other side must be, °C; less is the difference between two rooms.
const COOLER_BY: f64 = 10.0;

/// Difference of the fractions of readings with throttled clocks. Throttling usually costs a tenth
/// of the clock, so a smaller difference moves a mean by about a hundredth.
const LIMITED: f64 = 0.1;

/// Relative difference of clocks under load. Computing takes longer by as much, which is the change
/// that a comparison detects by default.
const CLOCK: f64 = 0.05;

/// Differences between the sides, for the CPU and the devices that operations ran on.
pub(super) fn warnings(
    baseline: &[Profile],
    current: &[Profile],
    used: &HashSet<&str>,
) -> Vec<Warning> {
    let figures = |side: &[Profile]| load_figures(side.iter().flat_map(|profile| &profile.load));
    let (before, after) = (figures(baseline), figures(current));
    let mut warnings = Vec::new();
    for one in &before {
        let Some(other) = after.iter().find(|other| other.device == one.device) else {
            continue;
        };
        let is_used = |id: &&str| id.split('+').any(|id| id == one.device);
        if one.device == Device::CPU || used.iter().any(is_used) {
            of_device(one, other, &mut warnings);
        }
    }
    warnings
}

fn of_device(baseline: &LoadFigures, current: &LoadFigures, warnings: &mut Vec<Warning>) {
    let device = || baseline.device.clone();
    if let Some((side, others, others_there)) = more(baseline, current, |figures| {
        figures.other_used.map(|level| level.mean)
    }) && others - others_there >= OTHERS
    {
        warnings.push(Warning::Busy {
            side,
            others,
            others_there,
        });
    }
    if let Some((side, celsius, celsius_there)) = more(baseline, current, |figures| {
        figures.temperature_celsius.map(|level| level.mean)
    }) && celsius >= HOT
        && celsius - celsius_there >= COOLER_BY
    {
        warnings.push(Warning::Hot {
            side,
            device: device(),
            celsius,
            celsius_there,
        });
    }
    if let Some((side, limited, limited_there)) = more(baseline, current, |figures| figures.limited)
        && limited - limited_there >= LIMITED
    {
        let reasons = match side {
            Side::Baseline => &baseline.reasons,
            Side::Current => &current.reasons,
        };
        warnings.push(Warning::ClocksLimited {
            side,
            device: device(),
            limited,
            limited_there,
            reasons: reasons.iter().map(|(reason, _)| reason.clone()).collect(),
        });
    }
    if let Some((side, high, low)) = more(baseline, current, |figures| figures.busy_clock_hz)
        && low > 0.0
        && high >= low * (1.0 + CLOCK)
    {
        warnings.push(Warning::LowerClock {
            side: side.other(),
            device: device(),
            hz: low,
            hz_there: high,
        });
    }
}

/// The side with the larger figure, its figure, and that of the other side; none if a side lacks
/// it.
fn more(
    baseline: &LoadFigures,
    current: &LoadFigures,
    figure: fn(&LoadFigures) -> Option<f64>,
) -> Option<(Side, f64, f64)> {
    let (before, after) = (figure(baseline)?, figure(current)?);
    Some(match after >= before {
        true => (Side::Current, after, before),
        false => (Side::Baseline, before, after),
    })
}
