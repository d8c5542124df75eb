//! Bottlenecks: which operations are slow, unsteady or spiky, the likely cause
//! as far as the profile shows it, and the next step.

use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::{self, Summary};
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
    let finding = |what, value, threshold, (cause, next_step): (String, String)| Finding {
        operation: operation.name.clone(),
        device: operation.device.clone(),
        size: operation.size,
        what,
        value,
        threshold,
        cause,
        next_step,
    };
    let mut found = Vec::new();
    if summary.mean > thresholds.slow_ns {
        let why = why_slow(profile, operation, summary);
        found.push(finding(
            FindingKind::Slow,
            summary.mean,
            thresholds.slow_ns,
            why,
        ));
    }
    if let Some(cv) = summary.cv.filter(|cv| *cv > thresholds.high_cv) {
        let why = why_unsteady(profile, operation, summary, thresholds);
        found.push(finding(
            FindingKind::HighVariance,
            cv,
            thresholds.high_cv,
            why,
        ));
    }
    let ratio = summary.max / summary.mean;
    if ratio > thresholds.outlier_ratio {
        let why = why_spiky(operation, summary, thresholds);
        found.push(finding(
            FindingKind::Outliers,
            ratio,
            thresholds.outlier_ratio,
            why,
        ));
    }
    found
}

/// From which share of a call a part of it counts as the cause.
const MAIN_SHARE: f64 = 0.5;

/// From which share of a peak an operation counts as bound by it.
const BOUND_SHARE: f64 = 0.6;

fn why_slow(profile: &Profile, operation: &Operation, summary: &Summary) -> (String, String) {
    let part = |phase: &str| median(operation.phase_ns(phase)).unwrap_or(0.0);
    let transfer = part("upload") + part("download");
    let whole = transfer + part("kernel") + part("launch");
    if whole > 0.0 && transfer > MAIN_SHARE * whole {
        return (
            format!(
                "{} of a call is transfer to and from the device",
                percent(transfer / whole)
            ),
            "keep the data on the device between calls, or send larger batches while one computes"
                .to_owned(),
        );
    }
    if whole > 0.0 && part("launch") > MAIN_SHARE * whole {
        return (
            format!(
                "{} of a call is launch latency",
                percent(part("launch") / whole)
            ),
            "put more work into one launch".to_owned(),
        );
    }
    let compute_ns = crate::overview::compute_ns(operation, summary);
    let shares = crate::overview::Roofline::of(profile, operation, compute_ns);
    if let Some(share) = shares.flops_share.filter(|share| *share > BOUND_SHARE) {
        return (
            format!(
                "bound by arithmetic: {} of the device's peak",
                percent(share)
            ),
            "fewer operations (a better algorithm, lower precision) or a faster device".to_owned(),
        );
    }
    if let Some(share) = shares.bytes_share.filter(|share| *share > BOUND_SHARE) {
        return (
            format!(
                "bound by memory: {} of the device's bandwidth",
                percent(share)
            ),
            "move fewer bytes: fuse it with its neighbours, smaller types, better reuse".to_owned(),
        );
    }
    if profile.is_software_gpu(&operation.device) {
        return (
            "the device is a software GPU: it computes on the CPU".to_owned(),
            "run it on the CPU form, or on a real GPU".to_owned(),
        );
    }
    if shares.flops_share.is_some() || shares.bytes_share.is_some() {
        return (
            "neither arithmetic nor memory is near its peak: latency, dependent steps or too \
             little parallel work"
                .to_owned(),
            "look at the algorithm's inner loop and at how many cores or units are busy".to_owned(),
        );
    }
    (
        "unknown: the profile has no peaks to compare with".to_owned(),
        "measure with peaks (`breakeven profile` does), or look at it in a sampling profiler"
            .to_owned(),
    )
}

fn why_unsteady(
    profile: &Profile,
    operation: &Operation,
    summary: &Summary,
    thresholds: &Thresholds,
) -> (String, String) {
    if let Some(why) = cold_start(operation, summary, thresholds) {
        return why;
    }
    let read_ns = profile
        .environment
        .clock
        .as_ref()
        .map_or(0.0, |clock| clock.read_ns);
    if read_ns > 0.0 && summary.median < 20.0 * read_ns {
        return (
            "the call is so short that reading the clock is much of it".to_owned(),
            "measure many calls as one".to_owned(),
        );
    }
    let drifting = operation
        .runs
        .iter()
        .filter(|run| settles(&run.samples_ns))
        .count();
    if drifting * 2 > operation.runs.len() {
        return (
            "the first calls of a run take longer than its last".to_owned(),
            "more --warmup".to_owned(),
        );
    }
    let medians = crate::winner::run_medians(operation);
    if let (Some(low), Some(high)) = (
        medians.iter().copied().reduce(f64::min),
        medians.iter().copied().reduce(f64::max),
    ) && high > 1.2 * low
    {
        return (
            format!(
                "whole runs differ: the slowest one's median is {:.2} × that of the fastest",
                high / low
            ),
            "more --runs; look for what else ran, and at clock frequency".to_owned(),
        );
    }
    if profile.is_software_gpu(&operation.device) {
        return (
            "the software GPU shares the CPU's cores with everything else".to_owned(),
            "use it for tests, not for times".to_owned(),
        );
    }
    (
        "interference inside the run: other processes, frequency changes, allocation".to_owned(),
        "quiet the machine, more calls, look at the median instead of the mean".to_owned(),
    )
}

/// True where the last quarter of a run is at least 10 % faster than its first.
fn settles(samples: &[u64]) -> bool {
    let quarter = samples.len() / 4;
    if quarter == 0 {
        return false;
    }
    let first = median(samples[..quarter].iter().copied());
    let last = median(samples[samples.len() - quarter..].iter().copied());
    matches!((first, last), (Some(first), Some(last)) if last < 0.9 * first)
}

/// The cause where only the first calls of runs are far above the mean.
fn cold_start(
    operation: &Operation,
    summary: &Summary,
    thresholds: &Thresholds,
) -> Option<(String, String)> {
    let limit = thresholds.outlier_ratio * summary.mean;
    let is_spike = |ns: &u64| *ns as f64 > limit;
    let spikes = operation.samples_ns().filter(is_spike).count();
    let runs = operation.runs.iter();
    let first = runs
        .filter(|run| run.samples_ns.first().is_some_and(is_spike))
        .count();
    (first > 0 && first == spikes).then(|| {
        (
            format!("only the first call of {first} run(s) is slow: cold caches or compilation"),
            "more --warmup".to_owned(),
        )
    })
}

fn why_spiky(
    operation: &Operation,
    summary: &Summary,
    thresholds: &Thresholds,
) -> (String, String) {
    if let Some(why) = cold_start(operation, summary, thresholds) {
        return why;
    }
    let limit = thresholds.outlier_ratio * summary.mean;
    let spikes = operation
        .samples_ns()
        .filter(|ns| *ns as f64 > limit)
        .count();
    let total = operation.samples_ns().count();
    (
        format!(
            "calls far above the mean: {spikes} of {total}; preemption, page faults, a driver's housekeeping"
        ),
        "judge by median and p95; for latency look at what runs beside it".to_owned(),
    )
}

pub(crate) fn median(samples: impl Iterator<Item = u64>) -> Option<f64> {
    let samples: Vec<f64> = samples.map(|ns| ns as f64).collect();
    stats::median(&samples).ok()
}

fn percent(fraction: f64) -> String {
    breakeven_profile::unit::percent(fraction)
}
