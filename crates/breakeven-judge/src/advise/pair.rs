//! The operations of two profiles that a suggestion on the first is about, and
//! what changed between them.

use std::collections::BTreeMap;

use breakeven_stats::{log_ratio_test, log_ratio_with_noise};

use super::case::Subject;
use crate::winner::run_medians;

/// Confidence level of the intervals.
pub(super) const LEVEL: f64 = 0.95;

/// What is left of calls, at most, for them to have fallen.
pub(super) const FALLEN_CALLS: f64 = 0.5;

/// What is left of memory, or of growth, at most, for it to have fallen.
pub(super) const FALLEN: f64 = 0.9;

/// Times that a call's size or time must be of what it was, to have grown.
const GROWN: f64 = 1.2;

/// Time saved, ns, with the ends of its interval.
pub(super) type Gained = (f64, Option<[f64; 2]>);

/// The operations that a suggestion is about, before and after.
pub(super) struct Pair<'c, 'p> {
    /// The device that the suggestion is about.
    pub(super) device: &'c str,
    /// On that device, before.
    pub(super) before: Vec<&'c Subject<'p>>,
    /// Where the suggestion wants them, after.
    pub(super) after: Vec<&'c Subject<'p>>,
    /// On every device, before and after.
    pub(super) all_before: Vec<&'c Subject<'p>>,
    pub(super) all_after: Vec<&'c Subject<'p>>,
}

impl<'c, 'p> Pair<'c, 'p> {
    pub(super) fn new(
        all_before: Vec<&'c Subject<'p>>,
        all_after: Vec<&'c Subject<'p>>,
        device: &'c str,
        to: impl Fn(&str) -> bool,
    ) -> Self {
        let (mut before, mut after) = (all_before.clone(), all_after.clone());
        before.retain(|each| each.operation.device == device);
        after.retain(|each| to(&each.operation.device));
        Self {
            device,
            before,
            after,
            all_before,
            all_after,
        }
    }

    /// Operations before and after, size by size; of several devices after, the
    /// one with most calls.
    pub(super) fn matched(&self) -> impl Iterator<Item = (&'c Subject<'p>, &'c Subject<'p>)> + '_ {
        self.before.iter().filter_map(|before| {
            let after = self.after.iter();
            let same = after.filter(|after| after.operation.size == before.operation.size);
            Some((*before, *same.max_by_key(|after| after.summary.count)?))
        })
    }

    /// Whether the calls of a run fell by half, and from what to what.
    pub(super) fn calls_fell(&self) -> (bool, String) {
        let (before, after) = (calls(&self.before), calls(&self.after));
        let sign = format!("{before:.0} calls a run, now {after:.0}");
        (after <= FALLEN_CALLS * before, sign)
    }

    /// Whether a call does more than before: its input is larger, or where no size is
    /// known it takes longer. That tells a batch from a cache, which both leave fewer
    /// calls.
    pub(super) fn calls_grew(&self) -> bool {
        let mean = |all: &[&Subject<'_>], of: &dyn Fn(&Subject<'_>) -> Option<f64>| {
            let each = all.iter().map(|each| Some(of(each)? * each.calls_per_run));
            let sum: Option<f64> = each.sum();
            Some(sum? / calls(all))
        };
        let size = |each: &Subject<'_>| each.operation.size.map(|size| size as f64);
        let time = |each: &Subject<'_>| Some(each.summary.mean);
        let grew = |of| Some(mean(&self.after, of)? > GROWN * mean(&self.before, of)?);
        grew(&size).or(grew(&time)).unwrap_or(false)
    }

    /// What shorter calls saved of the time before, size by size. `noise` is the
    /// standard deviation of ln(run median) from run to run, where it is known.
    pub(super) fn calls_gain(&self, noise: Option<f64>) -> Option<Gained> {
        let each = self.matched().filter_map(|(before, after)| {
            let [was, is] = [before, after].map(|side| run_medians(side.operation));
            saved(before.own_ns, &was, &is, noise)
        });
        each.reduce(|(sum, range), (more, other)| {
            let ends = range.zip(other).map(|([a, b], [c, d])| [a + c, b + d]);
            (sum + more, ends)
        })
    }

    /// What fewer calls saved of the time of one size: the calls of all sizes fall
    /// together, and each size has its fraction of that.
    pub(super) fn runs_gain(&self, size: Option<u64>, noise: Option<f64>) -> Option<Gained> {
        let mut before = self.before.iter();
        let here = before.find(|each| each.operation.size == size)?;
        let (before, after) = (totals(&self.before), totals(&self.after));
        saved(here.own_ns, &before, &after, noise)
    }
}

/// Calls of a run.
pub(super) fn calls(subjects: &[&Subject<'_>]) -> f64 {
    subjects.iter().map(|each| each.calls_per_run).sum()
}

/// The fraction of `own_ns` that was saved, by one figure of each run before and after.
fn saved(own_ns: f64, before: &[f64], after: &[f64], noise: Option<f64>) -> Option<Gained> {
    let test = match (log_ratio_test(before, after, LEVEL), noise) {
        (Ok(test), _) => test,
        // One run a side: the estimate needs no noise, and has no interval without.
        (Err(_), None) => {
            let alone = log_ratio_with_noise(before, after, 1.0, LEVEL).ok()?;
            return Some((own_ns * (1.0 - alone.ratio), None));
        }
        (Err(_), Some(noise)) => log_ratio_with_noise(before, after, noise, LEVEL).ok()?,
    };
    let of = |ratio: f64| own_ns * (1.0 - ratio);
    Some((of(test.ratio), Some([of(test.upper), of(test.lower)])))
}

/// The time of all calls of each run, ns, over operations with as many runs.
fn totals(subjects: &[&Subject<'_>]) -> Vec<f64> {
    let mut totals: BTreeMap<usize, f64> = BTreeMap::new();
    for subject in subjects {
        let runs = subject.operation.runs.iter().filter(|run| run.calls() > 0);
        for (index, run) in runs.enumerate() {
            *totals.entry(index).or_default() += run.total_ns();
        }
    }
    totals.into_values().collect()
}
