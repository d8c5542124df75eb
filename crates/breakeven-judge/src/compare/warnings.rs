//! What weakens the verdicts: few runs, other machines, load, copies.

use std::collections::HashSet;
use std::fmt;

use breakeven_profile::profile::{Device, Difference, Part, Profile};
use breakeven_profile::unit;
use serde::Serialize;

use super::options::{FEWEST_RUNS, Options, Side};
use super::sides::{Measured, Pair};
use crate::history::History;
use crate::load::{LoadFigures, load_figures};
use crate::metric::Metric;

/// Fewest samples per run; with fewer, its median depends on single calls.
const ENOUGH_SAMPLES: usize = 5;

/// Fewest operations for a common shift.
pub(super) const FEWEST_TOGETHER: usize = 5;

/// Operations that a warning's text names before it only counts.
const MOST_NAMED: usize = 3;

/// A property of the input that the verdicts do not show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// The operations concerned, as in "conv2d on cpu, size 65536"; empty if it is about all.
    pub operations: Vec<String>,
    /// The warning in words, which name the first operations only.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// The history does not cover an operation's noise.
    NoHistory,
    /// A side has fewer runs of an operation than a verdict needs.
    FewRuns,
    /// A run has fewer than five samples.
    FewSamples,
    /// Times are less than twenty readings or steps of the clock.
    NearClock,
    /// An operation is mostly the recorder's overhead on a side; if on both, it has no verdict.
    MostlyRecording,
    /// An operation failed, or has no samples.
    Failed,
    /// Runs of a side have bit-identical samples.
    Copies,
    /// The same name, device and size, but another workload, number of items, bytes or flops, or
    /// another counter.
    OtherWork,
    /// Processor, cores, system, or a GPU that operations ran on, or its driver.
    OtherMachine,
    /// The build profile. Different revisions are normal.
    OtherBuild,
    /// All runs of a side were made before those of the other side.
    NotInTurns,
    /// The profiles of a side come from different machines or builds.
    Mixed,
    /// Measuring a side was cut short.
    Interrupted,
    /// Other programs used more of the cores on one side.
    Busy,
    /// A device ran at a lower clock on one side while in use.
    LowerClock,
    /// Changes relative to a common shift were requested, but there is none.
    NotRelative,
}

impl Warning {
    fn new(kind: WarningKind, text: String) -> Self {
        Self {
            kind,
            operations: Vec::new(),
            text,
        }
    }

    /// That the changes of this many tested operations have no common shift.
    pub(super) fn not_relative(tested: usize) -> Self {
        let text = format!(
            "the changes are not relative: {tested} tested operation(s) have no common shift, \
             which needs at least {FEWEST_TOGETHER} that move together"
        );
        Self::new(WarningKind::NotRelative, text)
    }
}

const EACH_SIDE: [Side; 2] = [Side::Baseline, Side::Current];

/// Everything that weakens the verdicts on these pairs.
pub(super) fn of(
    pairs: &[Pair<'_>],
    baseline: &[Profile],
    current: &[Profile],
    options: &Options,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (side, profiles) in EACH_SIDE.into_iter().zip([baseline, current]) {
        if profiles.iter().any(|profile| profile.interrupted) {
            let text = format!(
                "measuring the {side} was interrupted: some of the requested measurements are \
                 missing"
            );
            warnings.push(Warning::new(WarningKind::Interrupted, text));
        }
        let what = mixed(profiles).join(", ");
        if !what.is_empty() {
            let text = format!(
                "the profiles of the {side} differ in {what}: their runs are not of one machine \
                 and build"
            );
            warnings.push(Warning::new(WarningKind::Mixed, text));
        }
    }
    if let (Some(first), Some(second)) = (baseline.first(), current.first()) {
        let operations = second.operations.iter();
        let used: HashSet<&str> = operations.map(|each| each.device.as_str()).collect();
        let differences = first.environment.differences(&second.environment);
        let of_used = differences.into_iter();
        warnings.extend(of_used.filter_map(|difference| of_difference(&difference, &used)));
        warnings.extend(of_load(baseline, current, &used));
    }
    warnings.extend(not_in_turns(baseline, current));
    warnings.extend(of_operations(pairs, options));
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

fn of_difference(difference: &Difference, used: &HashSet<&str>) -> Option<Warning> {
    let Difference {
        part,
        what,
        first,
        second,
    } = difference;
    let values = format!("{first} in the baseline, {second} now");
    Some(match part {
        // A comparison of revisions is the normal case; a coarse clock is doubted where it matters.
        Part::Revision | Part::Clock => return None,
        Part::Gpu(device) if !used.contains(device.as_str()) => return None,
        Part::Build => Warning::new(
            WarningKind::OtherBuild,
            format!("another build profile: {values}; build both sides alike"),
        ),
        _ => Warning::new(
            WarningKind::OtherMachine,
            format!("another machine ({what}: {values}); differences may be the machine's"),
        ),
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
    let [earlier, later] = match (last < other_first, other_last < first) {
        (true, _) => EACH_SIDE,
        (_, true) => [Side::Current, Side::Baseline],
        _ => return None,
    };
    let text = format!(
        "the sides were not measured in turns: all runs on the {later} came after those on the \
         {earlier}, so a change of the machine in between looks like a change of the program"
    );
    Some(Warning::new(WarningKind::NotInTurns, text))
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
    use WarningKind::{Copies, Failed, FewRuns, FewSamples, MostlyRecording, NearClock, NoHistory};
    let both = pairs.iter().filter_map(|pair| {
        let sides = [pair.baseline.as_ref()?, pair.current.as_ref()?];
        Some(Both { pair, sides })
    });
    let both: Vec<Both<'_, '_>> = both.collect();
    let is_time = !options.metric.is_count();
    let history = History::of(&options.history, &options.metric);
    // The number that the doubt is about, or 0, if a side is to be doubted.
    let least = |kind: WarningKind, each: &Both<'_, '_>, side: &Measured<'_>| {
        let runs = side.runs().count();
        let is_few = (1..FEWEST_RUNS).contains(&runs);
        let is_doubted = match kind {
            NoHistory => !options.history.is_empty() && history.noise(&each.pair.key).is_none(),
            FewRuns => {
                let is_tested = !options.plain_threshold && !history.knows(&each.pair.key);
                return (is_few && is_tested).then_some(runs);
            }
            FewSamples => {
                let samples = || side.runs().map(|(_, run)| run.samples_ns.len());
                // A program has one time per run, which its runs' spread includes.
                let is_program = samples().all(|samples| samples == 1) && !is_few;
                let least = samples().min().filter(|_| !is_program);
                return least.filter(|samples| *samples < ENOUGH_SAMPLES);
            }
            NearClock => is_time && is_near_clock(side),
            MostlyRecording => is_time && each.sides.iter().any(|side| side.is_mostly_recording()),
            Failed => side.failed(),
            _ => side.is_copied,
        };
        is_doubted.then_some(0)
    };
    let mut warnings = Vec::new();
    for kind in [
        NoHistory,
        FewRuns,
        FewSamples,
        NearClock,
        MostlyRecording,
        Failed,
        Copies,
    ] {
        for on in [[false, true], [true, false], [true, true]] {
            let doubted = both.iter().filter_map(|each| {
                let found = each.sides.map(|side| least(kind, each, side));
                let is_here = found.map(|least| least.is_some()) == on;
                Some((each.pair.name(), found.into_iter().flatten().min()?)).filter(|_| is_here)
            });
            let (operations, counts): (Vec<String>, Vec<usize>) = doubted.unzip();
            let sides = EACH_SIDE.iter().zip(on).filter(|(_, is_on)| *is_on);
            let sides: Vec<String> = sides.map(|(side, _)| side.to_string()).collect();
            if let Some(least) = counts.into_iter().min() {
                warnings.push(Warning {
                    kind,
                    text: doubt(kind, &sides.join(" and the "), least, &named(&operations)),
                    operations,
                });
            }
        }
    }
    warnings.extend(both.iter().filter_map(other_work));
    warnings
}

fn doubt(kind: WarningKind, on: &str, least: usize, of: &str) -> String {
    let runs = match least {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    };
    match kind {
        WarningKind::NoHistory => format!("the history does not cover the noise of {of}"),
        WarningKind::FewRuns => format!(
            "too few runs to estimate the noise: {runs} on the {on} of {of}; make at \
             least {FEWEST_RUNS}, or give earlier profiles as the history"
        ),
        WarningKind::FewSamples => format!(
            "too few samples: {least} in a run on the {on} of {of}; measure {ENOUGH_SAMPLES} or \
             more"
        ),
        WarningKind::NearClock => {
            format!("near the clock's resolution on the {on}: {of}; measure more work in a call")
        }
        WarningKind::MostlyRecording => {
            format!("mostly the recorder's overhead: {of}; record the caller instead")
        }
        WarningKind::Failed => format!("failed, or without samples, on the {on}: {of}"),
        _ => format!(
            "runs have the same samples on the {on} of {of}: copies of one measurement, which \
             counts once; remove results of benchmarks that no longer run, and measure each run \
             anew"
        ),
    }
}

/// The first few, and the number of the remaining ones.
fn named(all: &[String]) -> String {
    let shown = all[..all.len().min(MOST_NAMED)].join("; ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
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

/// Which property of a call differs between the sides.
fn other_work(each: &Both<'_, '_>) -> Option<Warning> {
    let [before, after] = each.sides.map(Measured::first);
    let (what, baseline, current) = before.other_work(after)?;
    let name = each.pair.name();
    Some(Warning {
        kind: WarningKind::OtherWork,
        text: format!(
            "{name} is not the same work ({what}: {baseline} in the baseline, {current} now)"
        ),
        operations: vec![name],
    })
}

/// Fraction of the cores that is lost to other programs: as much as the change that a comparison
/// detects by default.
const OTHERS: f64 = 0.05;

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
        if let Some(other) = other
            && (one.device == Device::CPU || used.iter().any(is_used))
        {
            warnings.extend(busier(one, other));
            warnings.extend(slower(one, other));
        }
    }
    warnings
}

/// Names of the two sides, the one with the larger figure first, and the figures.
fn larger(before: f64, after: f64) -> ([Side; 2], [f64; 2]) {
    match after >= before {
        true => ([Side::Current, Side::Baseline], [after, before]),
        false => (EACH_SIDE, [before, after]),
    }
}

fn busier(baseline: &LoadFigures, current: &LoadFigures) -> Option<Warning> {
    let (before, after) = (baseline.other_used?.mean, current.other_used?.mean);
    let ([side, other], [more, less]) = larger(before, after);
    let (used, there) = (unit::percent(more), unit::percent(less));
    let text = format!(
        "other programs used {used} of the cores while the {side} was measured, and {there} while \
         the {other} was: differences may be theirs; measure again while nothing else runs"
    );
    (more - less >= OTHERS).then(|| Warning::new(WarningKind::Busy, text))
}

fn slower(baseline: &LoadFigures, current: &LoadFigures) -> Option<Warning> {
    let (before, after) = (baseline.busy_clock_hz?, current.busy_clock_hz?);
    let ([other, side], [fast, slow]) = larger(before, after);
    let (device, ghz, there) = (&current.device, slow / 1e9, fast / 1e9);
    let text = format!(
        "{device} ran at {ghz:.2} GHz while the {side} was measured, and at {there:.2} GHz while \
         the {other} was: differences may be the clock's; set the same governor and limits"
    );
    (slow > 0.0 && fast >= slow * (1.0 + CLOCK))
        .then(|| Warning::new(WarningKind::LowerClock, text))
}
