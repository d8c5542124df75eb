//! What weakens the verdicts: few runs, other machines, load, copies. Data, with its text.

use std::collections::HashSet;
use std::fmt;

use breakeven_profile::profile::{Clock, Device, Difference, OperationKey, Part, Profile};
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

/// Operations that a warning names before it only counts.
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
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// A side has fewer runs than a verdict needs.
    #[error(
        "too few runs to estimate the noise: {} on the {} of {}; make 5 runs, or give earlier \
         profiles as the history",
        match *.runs { 1 => "one run".to_owned(), runs => format!("{runs} runs") },
        both(.sides),
        Named(.operations)
    )]
    FewRuns {
        /// The sides with too few runs.
        sides: Vec<Side>,
        /// The smallest number of runs.
        runs: usize,
        /// The operations.
        operations: Vec<String>,
    },
    /// A run with fewer than five samples.
    #[error(
        "too few samples: {samples} in a run on the {side} of {}; measure {ENOUGH_SAMPLES} or more",
        Named(.operations)
    )]
    FewSamples {
        /// The side.
        side: Side,
        /// The smallest number of samples in a run.
        samples: usize,
        /// The operations.
        operations: Vec<String>,
    },
    /// Times of less than twenty readings or steps of the clock.
    #[error(
        "near the clock's resolution on the {side}: {}; measure more work in a call",
        Named(.operations)
    )]
    NearClock {
        /// The side.
        side: Side,
        /// The operations.
        operations: Vec<String>,
    },
    /// Operations that are mostly the recorder's overhead on a side; if they are on both, they are
    /// excluded from the verdicts.
    #[error("mostly the recorder's overhead: {}; record the caller instead", Named(.operations))]
    MostlyRecording {
        /// The operations.
        operations: Vec<String>,
    },
    /// Operations that failed, or have no samples.
    #[error(
        "failed, or without samples, on the {}: {}",
        both(.sides),
        Named(.operations)
    )]
    Failed {
        /// The sides on which they failed.
        sides: Vec<Side>,
        /// The operations.
        operations: Vec<String>,
    },
    /// Runs of a side with bit-identical samples.
    #[error(
        "runs have the same samples on the {} of {}: copies of one measurement, which counts \
         once; remove results of benchmarks that no longer run, and measure each run anew",
        both(.sides),
        Named(.operations)
    )]
    Copies {
        /// The sides with copies.
        sides: Vec<Side>,
        /// The operations.
        operations: Vec<String>,
    },
    /// The same name, device and size, but not the same work.
    #[error("{operation} is not the same work ({what}: {baseline} in the baseline, {current} now)")]
    OtherWork {
        /// The operation.
        operation: String,
        /// The property that differs: `workload`, `items`, `bytes`, `flops`, `counter`.
        what: &'static str,
        /// Its value in the baseline.
        baseline: String,
        /// Its value on the current side.
        current: String,
    },
    /// The history does not cover the noise of these operations.
    #[error("the history does not cover the noise of {}", Named(.operations))]
    NoHistory {
        /// The operations.
        operations: Vec<String>,
    },
    /// All runs of one side were made before those of the other.
    #[error(
        "the sides were not measured in turns: all runs on the {} came after those on the \
         {earlier}, \
         so a change of the machine in between looks like a change of the program",
        .earlier.other()
    )]
    NotInTurns {
        /// The side that was measured first.
        earlier: Side,
    },
    /// Changes relative to a common shift were requested, but there is none.
    #[error(
        "the changes are not relative: {operations} tested operation(s) have no common shift, which needs at least {FEWEST_TOGETHER} that move together"
    )]
    NotRelative {
        /// Operations that were tested.
        operations: usize,
    },
    /// The clock differs: its source, or its steps by more than a factor of two.
    #[error("another clock: {baseline} in the baseline, {current} now")]
    Clock {
        /// The baseline's.
        baseline: String,
        /// The current side's.
        current: String,
    },
    /// The machine differs: processor, cores, system, or a GPU that operations ran on, or its
    /// driver.
    #[error(
        "another machine ({what}: {baseline} in the baseline, {current} now); differences may be \
         the \
         machine's"
    )]
    OtherMachine {
        /// The property, in words.
        what: String,
        /// The baseline's.
        baseline: String,
        /// The current side's.
        current: String,
    },
    /// The build profile differs. Different revisions are normal.
    #[error(
        "another build profile: {baseline} in the baseline, {current} now; build both sides alike"
    )]
    OtherBuild {
        /// The baseline's.
        baseline: String,
        /// The current side's.
        current: String,
    },
    /// The profiles of one side come from different machines or builds.
    #[error(
        "the profiles of the {side} differ in {what}: their runs are not of one machine and build"
    )]
    Mixed {
        /// The side.
        side: Side,
        /// What differs among them, in words.
        what: String,
    },
    /// Other programs used more of the cores on one side.
    #[error(
        "other programs used {} of the cores while the {side} was measured, and {} while the {} \
         was: differences may be theirs; measure again while nothing else runs",
        unit::percent(*.others), unit::percent(*.others_there), .side.other()
    )]
    Busy {
        /// The side on which they used more.
        side: Side,
        /// Their fraction of the cores' time there.
        others: f64,
        /// Their fraction on the other side.
        others_there: f64,
    },
    /// A device was hot on one side and cooler on the other.
    #[error(
        "{device} had {celsius:.0} °C on average while the {side} was measured, and \
         {celsius_there:.0} °C while the {} was: heat lowers clocks; let it cool, or warm both \
         sides up alike", .side.other()
    )]
    Hot {
        /// The side on which it was hot.
        side: Side,
        /// The device.
        device: String,
        /// Its mean temperature there, °C.
        celsius: f64,
        /// Its mean temperature on the other side, °C.
        celsius_there: f64,
    },
    /// A device's clocks were throttled more often on one side than on the other.
    #[error(
        "the clocks of {device} were throttled in {} of the readings on the {side}{}, and in {} on \
         the {}: differences may be theirs",
        unit::percent(*.limited), Reasons(.reasons), unit::percent(*.limited_there), .side.other()
    )]
    ClocksLimited {
        /// The side with more throttling.
        side: Side,
        /// The device.
        device: String,
        /// Fraction of the readings on that side.
        limited: f64,
        /// Fraction of the readings on the other side.
        limited_there: f64,
        /// The reasons, the most frequent first.
        reasons: Vec<String>,
    },
    /// A device ran at a lower clock on one side, while in use.
    #[error(
        "{device} ran at {} while the {side} was measured, and at {} while the {} was: \
         differences may be the clock's; set the same governor and limits",
        gigahertz(*.hz), gigahertz(*.hz_there), .side.other()
    )]
    LowerClock {
        /// The side on which the clock was lower.
        side: Side,
        /// The device.
        device: String,
        /// Its mean clock there while in use, Hz.
        hz: f64,
        /// Its mean clock on the other side, Hz.
        hz_there: f64,
    },
    /// Measuring was cut short.
    #[error("measuring the {side} was interrupted: some of the requested measurements are missing")]
    Interrupted {
        /// The side.
        side: Side,
    },
}

fn both(sides: &[Side]) -> String {
    let names: Vec<String> = sides.iter().map(Side::to_string).collect();
    names.join(" and the ")
}

fn gigahertz(hz: f64) -> String {
    format!("{:.2} GHz", hz / 1e9)
}

impl Side {
    /// The opposite side.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Current,
            Self::Current => Self::Baseline,
        }
    }
}

/// Reasons in brackets; empty if there are none.
struct Reasons<'a>(&'a [String]);

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            reasons => write!(
                f,
                " ({})",
                reasons[..reasons.len().min(MOST_NAMED)].join(", ")
            ),
        }
    }
}

/// The first few operations, and the number of the remaining ones.
struct Named<'a>(&'a [String]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.len().min(MOST_NAMED);
        f.write_str(&self.0[..shown].join("; "))?;
        match self.0.len() - shown {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Times of fewer clock readings than this are mostly the clock's error.
const READINGS: f64 = 20.0;

/// Reasons to trust the verdicts less, for operations on both sides.
fn of_operations(pairs: &[Pair<'_>], options: &Options) -> Vec<Warning> {
    let both: Vec<Both<'_, '_>> = pairs
        .iter()
        .filter_map(|pair| {
            Some(Both {
                name: pair.name(),
                key: &pair.key,
                baseline: pair.baseline.as_ref()?,
                current: pair.current.as_ref()?,
            })
        })
        .collect();
    let mut warnings = Vec::new();
    let mut warn = |fits: &dyn Fn(&Both<'_, '_>) -> bool, of: &dyn Fn(Vec<String>) -> Warning| {
        let found = both.iter().filter(|each| fits(each));
        let operations: Vec<String> = found.map(|each| each.name.clone()).collect();
        if !operations.is_empty() {
            warnings.push(of(operations));
        }
    };
    let is_time = !options.metric.is_count();
    let history = History::of(&options.history, &options.metric);
    let is_unknown =
        |each: &Both<'_, '_>| !options.history.is_empty() && history.noise(each.key).is_none();
    warn(&is_unknown, &|operations| Warning::NoHistory { operations });
    let count = |each: &Both<'_, '_>, side| each.on(side).runs().count();
    let is_few = |each: &Both<'_, '_>, side| (1..FEWEST_RUNS).contains(&count(each, side));
    let is_unknown = |each: &Both<'_, '_>| !history.knows(each.key);
    for sides in sides() {
        let is_meant = |each: &Both<'_, '_>| {
            let is_few = EACH_SIDE.map(|side| is_few(each, side));
            is_unknown(each) && is_few == sides_of(&sides)
        };
        let found = both.iter().filter(|each| is_meant(each));
        let fewest = found.flat_map(|each| sides.iter().map(move |side| count(each, *side)));
        if let Some(runs) = fewest.min() {
            warn(&is_meant, &|operations| Warning::FewRuns {
                sides: sides.clone(),
                runs,
                operations,
            });
        }
    }
    for side in EACH_SIDE {
        let fewest = |each: &Both<'_, '_>| {
            let samples = || each.on(side).runs().map(|(_, run)| run.samples_ns.len());
            // A program has one time per run, which its runs' spread includes.
            let is_program = samples().all(|samples| samples == 1) && !is_few(each, side);
            let fewest = samples().min().filter(|_| !is_program);
            fewest.filter(|samples| *samples < ENOUGH_SAMPLES)
        };
        if let Some(samples) = both.iter().filter_map(fewest).min() {
            warn(&|each| fewest(each).is_some(), &|operations| {
                Warning::FewSamples {
                    side,
                    samples,
                    operations,
                }
            });
        }
        warn(
            &|each| is_time && is_near_clock(each.on(side)),
            &|operations| Warning::NearClock { side, operations },
        );
    }
    let is_recording = |each: &Both<'_, '_>| {
        is_time && (each.baseline.is_mostly_recording() || each.current.is_mostly_recording())
    };
    warn(&is_recording, &|operations| Warning::MostlyRecording {
        operations,
    });
    for sides in sides() {
        let failed =
            |each: &Both<'_, '_>| EACH_SIDE.map(|side| each.on(side).failed()) == sides_of(&sides);
        warn(&failed, &|operations| Warning::Failed {
            sides: sides.clone(),
            operations,
        });
    }
    for sides in sides() {
        let is_copied =
            |each: &Both<'_, '_>| EACH_SIDE.map(|side| each.on(side).is_copied) == sides_of(&sides);
        warn(&is_copied, &|operations| Warning::Copies {
            sides: sides.clone(),
            operations,
        });
    }
    warnings.extend(both.iter().filter_map(other_work));
    warnings.extend(both.iter().find_map(other_processors));
    warnings
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
    let earlier = match (last < other_first, other_last < first) {
        (true, _) => Side::Baseline,
        (_, true) => Side::Current,
        _ => return None,
    };
    Some(Warning::NotInTurns { earlier })
}

const EACH_SIDE: [Side; 2] = [Side::Baseline, Side::Current];

/// The sides that something is true of: one, the other, or both.
fn sides() -> [Vec<Side>; 3] {
    [
        vec![Side::Current],
        vec![Side::Baseline],
        EACH_SIDE.to_vec(),
    ]
}

/// Whether each side is affected.
fn sides_of(sides: &[Side]) -> [bool; 2] {
    EACH_SIDE.map(|side| sides.contains(&side))
}

/// An operation that is on both sides.
struct Both<'a, 'p> {
    name: String,
    key: &'a OperationKey,
    baseline: &'a Measured<'p>,
    current: &'a Measured<'p>,
}

impl<'a, 'p> Both<'a, 'p> {
    fn on(&self, side: Side) -> &'a Measured<'p> {
        match side {
            Side::Baseline => self.baseline,
            Side::Current => self.current,
        }
    }
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
    let baseline = processors(each.baseline)?;
    let current = processors(each.current)?;
    (baseline != current).then(|| Warning::OtherMachine {
        what: "GOMAXPROCS".to_owned(),
        baseline: baseline.to_string(),
        current: current.to_string(),
    })
}

/// Which property of a call differs between the sides.
fn other_work(each: &Both<'_, '_>) -> Option<Warning> {
    let (before, after) = (each.baseline.first(), each.current.first());
    let (what, baseline, current) = before.other_work(after)?;
    Some(Warning::OtherWork {
        operation: each.name.clone(),
        what,
        baseline,
        current,
    })
}

/// Ratio of clock steps from which the clocks count as different; smaller differences come from
/// measuring the steps anew at every start.
const OTHER_STEPS: f64 = 2.0;

/// Differences between the sides, by their first profiles, and within each side.
fn of_environments(baseline: &[Profile], current: &[Profile]) -> Vec<Warning> {
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
    warnings.extend(of_load(baseline, current, &used));
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
            if !parts.contains(&found.what) {
                parts.push(found.what);
            }
        }
    }
    let warning = |what| Warning::Mixed { side, what };
    parts.into_iter().map(warning).collect()
}

fn of_difference(difference: Difference, used: &HashSet<&str>) -> Option<Warning> {
    let Difference {
        part,
        what,
        first: baseline,
        second: current,
    } = difference;
    Some(match &part {
        // A comparison of revisions is the normal case; the clock is checked below.
        Part::Revision | Part::Clock => return None,
        Part::Gpu(device) if !used.contains(device.as_str()) => return None,
        Part::Build => Warning::OtherBuild { baseline, current },
        _ => Warning::OtherMachine {
            what,
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
