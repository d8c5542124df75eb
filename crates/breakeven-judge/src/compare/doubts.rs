//! Warnings about single operations, gathered over all of them.

use breakeven_profile::profile::OperationKey;

use super::history::History;
use super::judgement::FEWEST_RUNS;
use super::metric::Metric;
use super::options::Options;
use super::sides::{Measured, Pair};
use super::warning::{ENOUGH_SAMPLES, Side, Warning};

/// Times of fewer readings of the clock than this are mostly its error.
const READINGS: f64 = 20.0;

/// What weakens the verdicts on operations that are on both sides.
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
    let history = History::of(&options.history, options.metric);
    let is_unknown =
        |each: &Both<'_, '_>| !options.history.is_empty() && history.noise(each.key).is_none();
    warn(&is_unknown, &|operations| Warning::NoHistory { operations });
    for side in [Side::Baseline, Side::Current] {
        let count = |each: &Both<'_, '_>| each.on(side).runs().count();
        let is_few = |runs: usize| (1..FEWEST_RUNS).contains(&runs);
        let is_unknown = |each: &Both<'_, '_>| {
            let is_known = options.noise.is_some() || history.tells(each.key);
            is_few(count(each)) && !is_known
        };
        let fewest = both.iter().filter(|each| is_unknown(each)).map(count).min();
        if let Some(runs) = fewest {
            warn(&is_unknown, &|operations| Warning::FewRuns {
                side,
                runs,
                operations,
            });
        }
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
    for sides in [
        vec![Side::Current],
        vec![Side::Baseline],
        vec![Side::Baseline, Side::Current],
    ] {
        let failed = |each: &Both<'_, '_>| {
            let of = |side| each.on(side).failed() == sides.contains(&side);
            of(Side::Baseline) && of(Side::Current)
        };
        warn(&failed, &|operations| Warning::Failed {
            sides: sides.clone(),
            operations,
        });
    }
    warnings.extend(both.iter().filter_map(other_work));
    warnings.extend(options.noise.map(|noise| Warning::OneNoise { noise }));
    warnings
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
