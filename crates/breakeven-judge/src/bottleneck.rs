//! Bottlenecks: which operations are slow, unsteady or spiky, the likely cause
//! as far as the profile shows it, and the next step.

use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::{self, Summary};
use breakeven_profile::unit::percent;
use serde::Serialize;

/// From when an operation counts as a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Slow: mean above this, ns.
    pub slow_ns: f64,
    /// Unsteady: coefficient of variation above this fraction.
    pub high_cv: f64,
    /// Spiky: greatest sample above this many times the mean.
    pub outlier_ratio: f64,
    /// Target: mean below this, ns.
    pub target_mean_ns: f64,
    /// Target: coefficient of variation below this fraction.
    pub target_cv: f64,
    /// Target: calls per second above this.
    pub target_per_s: f64,
    /// Share of a budget from which it is nearly used up.
    pub near_budget: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            slow_ns: 5e6,
            high_cv: 0.20,
            outlier_ratio: 2.0,
            target_mean_ns: 1e6,
            target_cv: 0.10,
            target_per_s: 100.0,
            near_budget: 0.80,
        }
    }
}

/// Which targets an operation meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Targets {
    /// The mean is short enough.
    pub mean: bool,
    /// The spread is small enough; false where one sample has none.
    pub cv: bool,
    /// There are enough calls per second.
    pub rate: bool,
}

impl Targets {
    pub(crate) fn of(summary: &Summary, thresholds: &Thresholds) -> Self {
        Self {
            mean: summary.mean < thresholds.target_mean_ns,
            cv: summary.cv.is_some_and(|cv| cv < thresholds.target_cv),
            // A mean of zero is a rate past counting.
            rate: 1e9 / summary.mean > thresholds.target_per_s,
        }
    }

    /// True when all are met.
    pub fn all(self) -> bool {
        self.mean && self.cv && self.rate
    }
}

/// What is wrong with an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// It takes long.
    Slow,
    /// Its times differ much.
    HighVariance,
    /// Single calls take far longer than the rest.
    Outliers,
}

impl std::fmt::Display for FindingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Slow => "slow",
            Self::HighVariance => "high variance",
            Self::Outliers => "outliers",
        })
    }
}

/// A bottleneck with its likely cause and the next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The operation's name.
    pub operation: String,
    /// The device's id.
    pub device: String,
    /// Elements in one call.
    pub size: Option<u64>,
    /// What is wrong.
    pub what: FindingKind,
    /// The figure that shows it: ns for slow, a fraction for variance, a ratio for outliers.
    pub value: f64,
    /// The threshold that it passed, in the same unit.
    pub threshold: f64,
    /// The likely cause, from what the profile shows.
    pub cause: String,
    /// What to try next.
    pub next_step: String,
}

/// The findings of one operation, worst kind first.
pub(crate) fn findings(
    profile: &Profile,
    operation: &Operation,
    summary: &Summary,
    thresholds: &Thresholds,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut find = |what, value: f64, threshold: f64, why: &dyn Fn() -> Why| {
        if value > threshold {
            let (cause, next_step) = why();
            found.push(Finding {
                operation: operation.name.clone(),
                device: operation.device.clone(),
                size: operation.size,
                what,
                value,
                threshold,
                cause,
                next_step: next_step.to_owned(),
            });
        }
    };
    find(FindingKind::Slow, summary.mean, thresholds.slow_ns, &|| {
        why_slow(profile, operation, summary)
    });
    // One sample has no spread, and what is no number is above nothing.
    find(
        FindingKind::HighVariance,
        summary.cv.unwrap_or(f64::NAN),
        thresholds.high_cv,
        &|| why_unsteady(profile, operation, summary, thresholds),
    );
    find(
        FindingKind::Outliers,
        summary.max / summary.mean,
        thresholds.outlier_ratio,
        &|| why_spiky(operation, summary, thresholds),
    );
    found
}

/// The likely cause and the next step.
type Why = (String, &'static str);

/// From which share of a call a part of it counts as the cause.
const MAIN_SHARE: f64 = 0.5;

/// From which share of a peak an operation counts as bound by it.
const BOUND_SHARE: f64 = 0.6;

fn why_slow(profile: &Profile, operation: &Operation, summary: &Summary) -> Why {
    let part = |phase: &str| median(operation.phase_ns(phase)).unwrap_or(0.0);
    let (transfer, launch) = (part("upload") + part("download"), part("launch"));
    let whole = transfer + part("kernel") + launch;
    if transfer > MAIN_SHARE * whole {
        let share = percent(transfer / whole);
        return (
            format!("{share} of a call is transfer to and from the device"),
            "keep the data on the device between calls, or send larger batches while one computes",
        );
    }
    if launch > MAIN_SHARE * whole {
        let share = percent(launch / whole);
        return (
            format!("{share} of a call is launch latency"),
            "put more work into one launch",
        );
    }
    let compute_ns = crate::overview::compute_ns(operation, summary);
    let shares = crate::overview::Roofline::of(profile, operation, compute_ns);
    let bound = |share: Option<f64>| share.filter(|share| *share > BOUND_SHARE).map(percent);
    if let Some(share) = bound(shares.flops_share) {
        return (
            format!("bound by arithmetic: {share} of the device's peak"),
            "fewer operations (a better algorithm, lower precision) or a faster device",
        );
    }
    if let Some(share) = bound(shares.bytes_share) {
        return (
            format!("bound by memory: {share} of the device's bandwidth"),
            "move fewer bytes: fuse it with its neighbours, smaller types, better reuse",
        );
    }
    let (cause, next_step) = if profile.is_software_gpu(&operation.device) {
        (
            "the device is a software GPU: it computes on the CPU",
            "run it on the CPU form, or on a real GPU",
        )
    } else if shares.flops_share.is_some() || shares.bytes_share.is_some() {
        (
            "neither arithmetic nor memory is near its peak: latency, dependent steps or too \
             little parallel work",
            "look at the algorithm's inner loop and at how many cores or units are busy",
        )
    } else {
        (
            "unknown: the profile has no peaks to compare with",
            "measure with peaks (`breakeven profile` does), or look at it in a sampling profiler",
        )
    };
    (cause.to_owned(), next_step)
}

fn why_unsteady(
    profile: &Profile,
    operation: &Operation,
    summary: &Summary,
    thresholds: &Thresholds,
) -> Why {
    if let Some(why) = cold_start(operation, summary, thresholds) {
        return why;
    }
    let clock = profile.environment.clock.as_ref();
    let short_ns = clock.map_or(0.0, |clock| 20.0 * clock.read_ns);
    let runs = operation.runs.iter();
    let drifting = runs.filter(|run| settles(&run.samples_ns)).count();
    let medians = crate::winner::run_medians(operation);
    let slowest = medians.iter().copied().fold(0.0, f64::max);
    let fastest = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let (cause, next_step) = if summary.median < short_ns {
        (
            "the call is so short that reading the clock is much of it",
            "measure many calls as one",
        )
    } else if drifting * 2 > operation.runs.len() {
        (
            "the first calls of a run take longer than its last",
            "more --warmup",
        )
    } else if slowest > 1.2 * fastest {
        let times = slowest / fastest;
        return (
            format!(
                "whole runs differ: the slowest one's median is {times:.2} × that of the fastest"
            ),
            "more --runs; look for what else ran, and at clock frequency",
        );
    } else if profile.is_software_gpu(&operation.device) {
        (
            "the software GPU shares the CPU's cores with everything else",
            "use it for tests, not for times",
        )
    } else {
        (
            "interference inside the run: other processes, frequency changes, allocation",
            "quiet the machine, more calls, look at the median instead of the mean",
        )
    };
    (cause.to_owned(), next_step)
}

/// True where the last quarter of a run is at least 10 % faster than its first.
fn settles(samples: &[f64]) -> bool {
    let quarter = samples.len() / 4;
    if quarter == 0 {
        return false;
    }
    let first = median(samples[..quarter].iter().copied());
    let last = median(samples[samples.len() - quarter..].iter().copied());
    matches!((first, last), (Some(first), Some(last)) if last < 0.9 * first)
}

/// How many calls are far above the mean, and how many of them are the first of a run.
fn spikes(operation: &Operation, summary: &Summary, thresholds: &Thresholds) -> (usize, usize) {
    let is_spike = |ns: &f64| *ns > thresholds.outlier_ratio * summary.mean;
    let first = operation
        .runs
        .iter()
        .filter_map(|run| run.samples_ns.first());
    let all = operation.samples_ns().filter(is_spike).count();
    (all, first.filter(|ns| is_spike(ns)).count())
}

/// The cause where only the first calls of runs are far above the mean.
fn cold_start(operation: &Operation, summary: &Summary, thresholds: &Thresholds) -> Option<Why> {
    let (all, first) = spikes(operation, summary, thresholds);
    (first > 0 && first == all).then(|| {
        (
            format!("only the first call of {first} run(s) is slow: cold caches or compilation"),
            "more --warmup",
        )
    })
}

fn why_spiky(operation: &Operation, summary: &Summary, thresholds: &Thresholds) -> Why {
    cold_start(operation, summary, thresholds).unwrap_or_else(|| {
        let (spikes, _) = spikes(operation, summary, thresholds);
        let total = operation.samples_ns().count();
        (
            format!(
                "calls far above the mean: {spikes} of {total}; preemption, page faults, a driver's housekeeping"
            ),
            "judge by median and p95; for latency look at what runs beside it",
        )
    })
}

pub(crate) fn median(samples: impl Iterator<Item = f64>) -> Option<f64> {
    stats::median_in_place(&mut samples.collect::<Vec<f64>>())
}
