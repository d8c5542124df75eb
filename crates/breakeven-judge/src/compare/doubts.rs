//! Warnings about single operations, collected over all operations.

use breakeven_profile::profile::{OperationKey, Profile};

use super::history::History;
use super::judgement::FEWEST_RUNS;
use super::metric::Metric;
use super::options::Options;
use super::sides::{Measured, Pair, processors};
use super::warning::{ENOUGH_SAMPLES, Side, Warning};

/// Times of fewer clock readings than this are mostly the clock's error.
const READINGS: f64 = 20.0;

/// Reasons to trust the verdicts less, for operations on both sides.
pub(super) fn warnings(pairs: &[Pair<'_>], options: &Options) -> Vec<Warning> {
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
    let is_unknown = |each: &Both<'_, '_>| !history.tells(each.key);
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
            let samples = each.on(side).runs().map(|(_, run)| run.samples_ns.len());
            samples.min().filter(|samples| *samples < ENOUGH_SAMPLES)
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
pub(super) fn not_in_turns(baseline: &[Profile], current: &[Profile]) -> Option<Warning> {
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
            .filter_map(|run| Metric::Time.of(operation, run, false));
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
