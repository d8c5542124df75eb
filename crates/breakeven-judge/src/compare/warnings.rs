//! What weakens the verdicts: few runs, other machines, load, copies. Data, with its text.

use std::collections::HashSet;

use breakeven_profile::profile::{Clock, Device, Difference, Part, Profile};
use breakeven_profile::unit;
use serde::Serialize;

use super::options::{FEWEST_RUNS, Options, Side};
use super::sides::{Measured, Pair, processors};
use crate::history::History;
use crate::load::{LoadFigures, load_figures};
use crate::metric::Metric;

/// Fewest samples per run; with fewer, its median depends on single calls.
pub(super) const ENOUGH_SAMPLES: usize = 5;

/// Fewest operations for a common shift.
pub(super) const FEWEST_TOGETHER: usize = 5;

/// Operations or reasons that a warning names before it only counts.
const MOST_NAMED: usize = 3;

/// Everything that weakens the verdicts on these pairs.
pub(super) fn of(
    pairs: &[Pair<'_>],
    baseline: &[Profile],
    current: &[Profile],
    options: &Options,
) -> Vec<Warning> {
    let mut warnings = of_environments(baseline, current);
    warnings.extend(not_in_turns(baseline, current));
    warnings.extend(of_operations(pairs, options));
    warnings
}

/// A property of the input that the verdicts do not show. Operations are named as in "conv2d on
/// cpu, size 65536".
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Warning {
    /// Operations whose values are to be doubted.
    #[error("{}", of_doubt(*.kind, .sides, *.least, .operations))]
    Operations {
        /// Why.
        kind: Doubt,
        /// The sides that it is about.
        sides: Vec<Side>,
        /// The smallest number of runs or samples; 0 if the doubt is about neither.
        least: usize,
        /// The operations.
        operations: Vec<String>,
    },
    /// The sides differ in more than the program.
    #[error("{}", of_other(*.kind, .what, .baseline, .current))]
    Other {
        /// What differs.
        kind: Other,
        /// The property, in words.
        what: String,
        /// Its value in the baseline.
        baseline: String,
        /// Its value on the current side.
        current: String,
    },
    /// How a side was measured.
    #[error("{}", of_side(*.kind, *.side, .what))]
    Measuring {
        /// What is wrong with it.
        kind: Measuring,
        /// The side.
        side: Side,
        /// For [`Measuring::Mixed`], what differs among its profiles.
        what: String,
    },
    /// A device was in another state on one side.
    #[error("{}", of_state(*.kind, *.side, .device, [*.value, *.other_value], .reasons))]
    Load {
        /// Which state.
        kind: Load,
        /// The side whose times are longer for it.
        side: Side,
        /// The device.
        device: String,
        /// The figure on that side, in the kind's unit.
        value: f64,
        /// The figure on the other side.
        other_value: f64,
        /// Reasons of throttling, the most frequent first.
        reasons: Vec<String>,
    },
    /// Changes relative to a common shift were requested, but there is none.
    #[error(
        "the changes are not relative: {operations} tested operation(s) have no common shift, \
         which needs at least {FEWEST_TOGETHER} that move together"
    )]
    NotRelative {
        /// Operations that were tested.
        operations: usize,
    },
}

/// Why an operation's values are to be doubted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Doubt {
    /// The history does not cover its noise.
    NoHistory,
    /// A side has fewer runs than a verdict needs.
    FewRuns,
    /// A run has fewer than five samples.
    FewSamples,
    /// Its times are less than twenty readings or steps of the clock.
    NearClock,
    /// It is mostly the recorder's overhead on a side; if on both, it has no verdict.
    MostlyRecording,
    /// It failed, or has no samples.
    Failed,
    /// Runs of a side have bit-identical samples.
    Copies,
}

/// A difference between the sides that is not the program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Other {
    /// The same name, device and size, but another workload, number of items, bytes or flops, or
    /// another counter.
    OtherWork,
    /// The clock: its source, or its steps by more than a factor of two.
    Clock,
    /// Processor, cores, system, or a GPU that operations ran on, or its driver.
    OtherMachine,
    /// The build profile. Different revisions are normal.
    OtherBuild,
}

/// What is wrong with how a side was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Measuring {
    /// All its runs were made before those of the other side.
    NotInTurns,
    /// Its profiles come from different machines or builds.
    Mixed,
    /// It was cut short.
    Interrupted,
}

/// A device's state that makes times longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Load {
    /// Other programs used more of the cores: fraction of the cores' time.
    Busy,
    /// It was hot: mean temperature, °C.
    Hot,
    /// Its clocks were throttled more often: fraction of the readings.
    ClocksLimited,
    /// It ran at a lower clock while in use: mean clock, Hz.
    LowerClock,
}

fn of_doubt(kind: Doubt, sides: &[Side], least: usize, operations: &[String]) -> String {
    let sides: Vec<String> = sides.iter().map(Side::to_string).collect();
    let (on, of) = (sides.join(" and the "), named(operations, "; "));
    let runs = match least {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    };
    match kind {
        Doubt::NoHistory => format!("the history does not cover the noise of {of}"),
        Doubt::FewRuns => format!(
            "too few runs to estimate the noise: {runs} on the {on} of {of}; make at \
             least {FEWEST_RUNS}, or give earlier profiles as the history"
        ),
        Doubt::FewSamples => format!(
            "too few samples: {least} in a run on the {on} of {of}; measure {ENOUGH_SAMPLES} or \
             more"
        ),
        Doubt::NearClock => {
            format!("near the clock's resolution on the {on}: {of}; measure more work in a call")
        }
        Doubt::MostlyRecording => {
            format!("mostly the recorder's overhead: {of}; record the caller instead")
        }
        Doubt::Failed => format!("failed, or without samples, on the {on}: {of}"),
        Doubt::Copies => format!(
            "runs have the same samples on the {on} of {of}: copies of one measurement, which \
             counts once; remove results of benchmarks that no longer run, and measure each run \
             anew"
        ),
    }
}

fn of_other(kind: Other, what: &str, baseline: &str, current: &str) -> String {
    let values = format!("{baseline} in the baseline, {current} now");
    match kind {
        Other::OtherWork => {
            let (operation, what) = what.rsplit_once(": ").unwrap_or((what, ""));
            format!("{operation} is not the same work ({what}: {values})")
        }
        Other::Clock => format!("another clock: {values}"),
        Other::OtherMachine => {
            format!("another machine ({what}: {values}); differences may be the machine's")
        }
        Other::OtherBuild => format!("another build profile: {values}; build both sides alike"),
    }
}

fn of_side(kind: Measuring, side: Side, what: &str) -> String {
    match kind {
        Measuring::NotInTurns => format!(
            "the sides were not measured in turns: all runs on the {} came after those on the \
             {side}, so a change of the machine in between looks like a change of the program",
            side.other()
        ),
        Measuring::Mixed => format!(
            "the profiles of the {side} differ in {what}: their runs are not of one machine and \
             build"
        ),
        Measuring::Interrupted => format!(
            "measuring the {side} was interrupted: some of the requested measurements are missing"
        ),
    }
}

fn of_state(kind: Load, side: Side, device: &str, values: [f64; 2], reasons: &[String]) -> String {
    let other = side.other();
    let [share, there] = values.map(unit::percent);
    match kind {
        Load::Busy => format!(
            "other programs used {share} of the cores while the {side} was measured, and {there} \
             while the {other} was: differences may be theirs; measure again while nothing else \
             runs"
        ),
        Load::Hot => format!(
            "{device} had {:.0} °C on average while the {side} was measured, and {:.0} °C while \
             the {other} was: heat lowers clocks; let it cool, or warm both sides up alike",
            values[0], values[1]
        ),
        Load::ClocksLimited => {
            let reasons = match reasons {
                [] => String::new(),
                all => format!(" ({})", all[..all.len().min(MOST_NAMED)].join(", ")),
            };
            format!(
                "the clocks of {device} were throttled in {share} of the readings on the \
                 {side}{reasons}, and in {there} on the {other}: differences may be theirs"
            )
        }
        Load::LowerClock => format!(
            "{device} ran at {:.2} GHz while the {side} was measured, and at {:.2} GHz while the \
             {other} was: differences may be the clock's; set the same governor and limits",
            values[0] / 1e9,
            values[1] / 1e9
        ),
    }
}

/// The first few, and the number of the remaining ones.
fn named(all: &[String], between: &str) -> String {
    let shown = all[..all.len().min(MOST_NAMED)].join(between);
    match all.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

const EACH_SIDE: [Side; 2] = [Side::Baseline, Side::Current];

impl Side {
    /// The opposite side.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Current,
            Self::Current => Self::Baseline,
        }
    }
}

/// Times of fewer clock readings than this are mostly the clock's error.
const READINGS: f64 = 20.0;

/// An operation that is on both sides.
struct Both<'a, 'p> {
    pair: &'a Pair<'p>,
    sides: [&'a Measured<'p>; 2],
}

/// Reasons to trust the verdicts less, for operations on both sides: one warning for the operations
/// that are doubted on the same sides.
fn of_operations(pairs: &[Pair<'_>], options: &Options) -> Vec<Warning> {
    let both = pairs.iter().filter_map(|pair| {
        let sides = [pair.baseline.as_ref()?, pair.current.as_ref()?];
        Some(Both { pair, sides })
    });
    let both: Vec<Both<'_, '_>> = both.collect();
    let is_time = !options.metric.is_count();
    let history = History::of(&options.history, &options.metric);
    // The number that the doubt is about, if a side is to be doubted.
    let least = |kind: Doubt, each: &Both<'_, '_>, side: &Measured<'_>| {
        let runs = side.runs().count();
        let is_few = (1..FEWEST_RUNS).contains(&runs);
        let is_doubted = match kind {
            Doubt::NoHistory => {
                !options.history.is_empty() && history.noise(&each.pair.key).is_none()
            }
            Doubt::FewRuns if options.plain_threshold => false,
            Doubt::FewRuns => return (is_few && !history.knows(&each.pair.key)).then_some(runs),
            Doubt::FewSamples => {
                let samples = || side.runs().map(|(_, run)| run.samples_ns.len());
                // A program has one time per run, which its runs' spread includes.
                let is_program = samples().all(|samples| samples == 1) && !is_few;
                let least = samples().min().filter(|_| !is_program);
                return least.filter(|samples| *samples < ENOUGH_SAMPLES);
            }
            Doubt::NearClock => is_time && is_near_clock(side),
            Doubt::MostlyRecording => {
                is_time && each.sides.iter().any(|side| side.is_mostly_recording())
            }
            Doubt::Failed => side.failed(),
            Doubt::Copies => side.is_copied,
        };
        is_doubted.then_some(0)
    };
    let kinds = [
        Doubt::NoHistory,
        Doubt::FewRuns,
        Doubt::FewSamples,
        Doubt::NearClock,
        Doubt::MostlyRecording,
        Doubt::Failed,
        Doubt::Copies,
    ];
    let mut warnings = Vec::new();
    for kind in kinds {
        for on in [[false, true], [true, false], [true, true]] {
            let doubted = both.iter().filter_map(|each| {
                let found = each.sides.map(|side| least(kind, each, side));
                let is_here = found.map(|least| least.is_some()) == on;
                Some((each.pair.name(), found.into_iter().flatten().min()?)).filter(|_| is_here)
            });
            let (operations, counts): (Vec<String>, Vec<usize>) = doubted.unzip();
            let sides = EACH_SIDE.into_iter().zip(on).filter(|(_, is_on)| *is_on);
            let sides = sides.map(|(side, _)| side).collect();
            warnings.extend(counts.into_iter().min().map(|least| Warning::Operations {
                kind,
                sides,
                least,
                operations,
            }));
        }
    }
    warnings.extend(both.iter().filter_map(other_work));
    warnings.extend(both.iter().find_map(other_processors));
    warnings
}

/// True if a median is only a few readings or steps of its clock.
fn is_near_clock(measured: &Measured<'_>) -> bool {
    measured.parts().any(|(profile, operation)| {
        let Some(clock) = &profile.environment.clock else {
            return false;
        };
        let least_ns = READINGS * clock.read_ns.max(clock.resolution_ns);
        let mut medians_ms = operation
            .runs
            .iter()
            .filter_map(|run| Metric::TIME.of(operation, run, false));
        medians_ms.any(|ms| ms * 1e6 < least_ns)
    })
}

/// How many processors Go used, if the sides differ.
fn other_processors(each: &Both<'_, '_>) -> Option<Warning> {
    let [baseline, current] = each.sides.map(processors);
    let (baseline, current) = baseline.zip(current)?;
    (baseline != current).then(|| Warning::Other {
        kind: Other::OtherMachine,
        what: "GOMAXPROCS".to_owned(),
        baseline: baseline.to_string(),
        current: current.to_string(),
    })
}

/// Which property of a call differs between the sides.
fn other_work(each: &Both<'_, '_>) -> Option<Warning> {
    let [before, after] = each.sides.map(Measured::first);
    let (what, baseline, current) = before.other_work(after)?;
    Some(Warning::Other {
        kind: Other::OtherWork,
        what: format!("{}: {what}", each.pair.name()),
        baseline,
        current,
    })
}

/// Whether all profiles of one side are older than those of the other. A single profile may combine
/// runs taken in turns.
fn not_in_turns(baseline: &[Profile], current: &[Profile]) -> Option<Warning> {
    let created = |side: &[Profile]| -> Option<[String; 2]> {
        let all = side.iter().map(|profile| profile.created.clone());
        let all = all.collect::<Option<Vec<String>>>()?;
        // RFC 3339 in UTC sorts as text.
        let ends = [all.iter().min()?.clone(), all.iter().max()?.clone()];
        (all.len() > 1).then_some(ends)
    };
    let ([first, last], [other_first, other_last]) = (created(baseline)?, created(current)?);
    let side = match (last < other_first, other_last < first) {
        (true, _) => Side::Baseline,
        (_, true) => Side::Current,
        _ => return None,
    };
    Some(measuring(Measuring::NotInTurns, side, String::new()))
}

fn measuring(kind: Measuring, side: Side, what: String) -> Warning {
    Warning::Measuring { kind, side, what }
}

/// Ratio of clock steps from which the clocks count as different; smaller differences come from
/// measuring the steps anew at every start.
const OTHER_STEPS: f64 = 2.0;

/// Differences between the sides, by their first profiles, and within each side.
fn of_environments(baseline: &[Profile], current: &[Profile]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (side, profiles) in EACH_SIDE.into_iter().zip([baseline, current]) {
        if profiles.iter().any(|profile| profile.interrupted) {
            warnings.push(measuring(Measuring::Interrupted, side, String::new()));
        }
        let mixed = mixed(profiles).into_iter();
        warnings.extend(mixed.map(|what| measuring(Measuring::Mixed, side, what)));
    }
    let (Some(first), Some(second)) = (baseline.first(), current.first()) else {
        return warnings;
    };
    let operations = second.operations.iter();
    let used: HashSet<&str> = operations.map(|each| each.device.as_str()).collect();
    let differences = first.environment.differences(&second.environment);
    let of_used = differences.into_iter();
    warnings.extend(of_used.filter_map(|difference| of_difference(difference, &used)));
    warnings.extend(of_load(baseline, current, &used));
    let clocks = (&first.environment.clock, &second.environment.clock);
    if let (Some(before), Some(after)) = clocks
        && other_clock(before, after)
    {
        let text = |clock: &Clock| {
            let steps = unit::time(clock.resolution_ns);
            format!("{} in steps of {steps}", clock.source)
        };
        warnings.push(Warning::Other {
            kind: Other::Clock,
            what: "clock".to_owned(),
            baseline: text(before),
            current: text(after),
        });
    }
    warnings
}

/// Differences among the profiles of one side, each property once.
fn mixed(profiles: &[Profile]) -> Vec<String> {
    let others = profiles.iter().skip(1);
    let found = others.flat_map(|other| profiles[0].environment.differences(&other.environment));
    let mut parts: Vec<String> = Vec::new();
    for difference in found {
        if !parts.contains(&difference.what) {
            parts.push(difference.what);
        }
    }
    parts
}

fn of_difference(difference: Difference, used: &HashSet<&str>) -> Option<Warning> {
    let kind = match &difference.part {
        // A comparison of revisions is the normal case; the clock is checked below.
        Part::Revision | Part::Clock => return None,
        Part::Gpu(device) if !used.contains(device.as_str()) => return None,
        Part::Build => Other::OtherBuild,
        _ => Other::OtherMachine,
    };
    Some(Warning::Other {
        kind,
        what: difference.what,
        baseline: difference.first,
        current: difference.second,
    })
}

fn other_clock(before: &Clock, after: &Clock) -> bool {
    let fine = before.resolution_ns.min(after.resolution_ns);
    let coarse = before.resolution_ns.max(after.resolution_ns);
    before.source != after.source || coarse > OTHER_STEPS * fine
}

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
fn of_load(baseline: &[Profile], current: &[Profile], used: &HashSet<&str>) -> Vec<Warning> {
    let figures = |side: &[Profile]| load_figures(side.iter().flat_map(|profile| &profile.load));
    let (before, after) = (figures(baseline), figures(current));
    let mut warnings = Vec::new();
    for one in &before {
        let other = after.iter().find(|other| other.device == one.device);
        let is_used = |id: &&str| id.split('+').any(|id| id == one.device);
        if one.device == Device::CPU || used.iter().any(is_used) {
            let kinds = [Load::Busy, Load::Hot, Load::ClocksLimited, Load::LowerClock];
            let found = kinds.map(|kind| of_device(kind, one, other?));
            warnings.extend(found.into_iter().flatten());
        }
    }
    warnings
}

/// The warning about the side with the larger figure; a lower clock is that of the other one.
fn of_device(kind: Load, baseline: &LoadFigures, current: &LoadFigures) -> Option<Warning> {
    let figure = |figures: &LoadFigures| match kind {
        Load::Busy => figures.other_used.map(|level| level.mean),
        Load::Hot => figures.temperature_celsius.map(|level| level.mean),
        Load::ClocksLimited => figures.limited,
        Load::LowerClock => figures.busy_clock_hz,
    };
    let (before, after) = (figure(baseline)?, figure(current)?);
    let (high, low) = (after.max(before), after.min(before));
    let differs = match kind {
        Load::Busy => high - low >= OTHERS,
        Load::Hot => high >= HOT && high - low >= COOLER_BY,
        Load::ClocksLimited => high - low >= LIMITED,
        Load::LowerClock => low > 0.0 && high >= low * (1.0 + CLOCK),
    };
    let (side, value, other_value, figures) = match (after >= before) == (kind != Load::LowerClock)
    {
        true => (Side::Current, after, before, current),
        false => (Side::Baseline, before, after, baseline),
    };
    let reasons = figures.reasons.iter().map(|(reason, _)| reason.clone());
    let reasons = reasons.filter(|_| kind == Load::ClocksLimited).collect();
    differs.then(|| Warning::Load {
        kind,
        side,
        device: figures.device.clone(),
        value,
        other_value,
        reasons,
    })
}
