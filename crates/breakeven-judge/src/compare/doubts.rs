//! Warnings about single operations, gathered over all of them.

use breakeven_profile::profile::{Operation, Run};

use super::metric::Metric;
use super::options::Options;
use super::sides::{Measured, Pair};
use super::warning::{ENOUGH_RUNS, ENOUGH_SAMPLES, Side, Warning};

/// Times of fewer readings of the clock than this are mostly its error.
const READINGS: f64 = 20.0;

/// What weakens the verdicts on operations that are on both sides.
pub(super) fn warnings(pairs: &[Pair<'_>], options: &Options) -> Vec<Warning> {
    let both: Vec<Both<'_, '_>> = pairs
        .iter()
        .filter_map(|pair| {
            Some(Both {
                name: pair.name(),
                baseline: pair.baseline.as_ref()?,
                current: pair.current.as_ref()?,
            })
        })
        .collect();
    let mut warnings = Vec::new();
    for side in [Side::Baseline, Side::Current] {
        warnings.extend(runs(&both, side, options));
        warnings.extend(samples(&both, side));
        if !options.metric.is_count() {
            let operations = names(&both, |each| is_near_clock(each.on(side)));
            warnings.extend(unless_none(operations, |operations| Warning::NearClock {
                side,
                operations,
            }));
        }
    }
    let operations = names(&both, |each| {
        let recording = each.baseline.is_mostly_recording() || each.current.is_mostly_recording();
        recording && !options.metric.is_count()
    });
    warnings.extend(unless_none(operations, |operations| {
        Warning::MostlyRecording { operations }
    }));
    for sides in [
        vec![Side::Current],
        vec![Side::Baseline],
        vec![Side::Baseline, Side::Current],
    ] {
        let failed = |each: &Both<'_, '_>| {
            let of = |side| each.on(side).failed() == sides.contains(&side);
            of(Side::Baseline) && of(Side::Current)
        };
        let operations = names(&both, failed);
        warnings.extend(unless_none(operations, |operations| Warning::Failed {
            sides: sides.clone(),
            operations,
        }));
    }
    warnings.extend(both.iter().filter_map(other_work));
    warnings
}

/// An operation that is on both sides.
struct Both<'a, 'p> {
    name: String,
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

fn names(both: &[Both<'_, '_>], fits: impl Fn(&Both<'_, '_>) -> bool) -> Vec<String> {
    let found = both.iter().filter(|each| fits(each));
    found.map(|each| each.name.clone()).collect()
}

fn unless_none(
    operations: Vec<String>,
    warning: impl FnOnce(Vec<String>) -> Warning,
) -> Option<Warning> {
    (!operations.is_empty()).then(|| warning(operations))
}

/// Runs that are one, or few.
fn runs(both: &[Both<'_, '_>], side: Side, options: &Options) -> Vec<Warning> {
    let count = |each: &Both<'_, '_>| each.on(side).runs().count();
    let mut warnings = Vec::new();
    if options.noise.is_none() {
        let one = names(both, |each| count(each) == 1);
        warnings.extend(unless_none(one, |operations| Warning::OneRun {
            side,
            operations,
        }));
    }
    let is_few = |runs: &usize| (2..ENOUGH_RUNS).contains(runs);
    let few = names(both, |each| is_few(&count(each)));
    if let Some(runs) = both.iter().map(count).filter(is_few).min() {
        warnings.push(Warning::FewRuns {
            side,
            runs,
            operations: few,
        });
    }
    warnings
}

/// Runs of few samples.
fn samples(both: &[Both<'_, '_>], side: Side) -> Option<Warning> {
    let fewest = |each: &Both<'_, '_>| {
        let of = |(_, run): (&Operation, &Run)| run.samples_ns.len();
        each.on(side).runs().map(of).min()
    };
    let is_few = |samples: &usize| *samples < ENOUGH_SAMPLES;
    let few = names(both, |each| fewest(each).as_ref().is_some_and(is_few));
    let samples = both.iter().filter_map(fewest).filter(is_few).min()?;
    Some(Warning::FewSamples {
        side,
        samples,
        operations: few,
    })
}

/// True where a median is a few readings or steps of the clock that took it.
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

/// In what one call of the two sides is not the same work.
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
