//! Finds bottlenecks: operations that are slow, unsteady or spiky, with the likely cause as far as
//! the profile shows it, and the next step.

use breakeven_profile::profile::{Limit, Operation, OperationKey, Profile};
use breakeven_profile::stats::Summary;
use breakeven_profile::unit::percent;
use serde::Serialize;

use crate::advise::CallsOf;
use crate::roofline::{Roofline, compute_ns};
use crate::winner::median;

mod unsteady;

/// Thresholds from which an operation counts as a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Slow: mean above this, ns.
    pub slow_ns: f64,
    /// Unsteady: coefficient of variation above this fraction.
    pub high_cv: f64,
    /// Spiky: largest sample above this many times the mean.
    pub outlier_ratio: f64,
    /// Target: mean below this, ns.
    pub target_mean_ns: f64,
    /// Target: coefficient of variation below this fraction.
    pub target_cv: f64,
    /// Target: calls per second above this.
    pub target_per_s: f64,
    /// Fraction of a budget from which a warning is given.
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
    /// The spread is small enough; true if it is unknown, as with one sample.
    pub cv: bool,
    /// There are enough calls per second.
    pub rate: bool,
}

impl Targets {
    pub(crate) fn of(summary: &Summary, thresholds: &Thresholds) -> Self {
        Self {
            mean: summary.mean < thresholds.target_mean_ns,
            cv: summary.cv.is_none_or(|cv| cv < thresholds.target_cv),
            // A mean of zero means a rate too high to measure.
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
    /// Its mean time is long.
    Slow,
    /// Its times vary much.
    HighVariance,
    /// Some calls take far longer than the others.
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
#[must_use]
pub struct Finding {
    /// The operation.
    #[serde(flatten)]
    pub key: OperationKey,
    /// The kind of problem.
    pub what: FindingKind,
    /// The figure that exceeds the threshold: ns for slow, a fraction for variance, a ratio for
    /// outliers.
    pub value: f64,
    /// The threshold that it exceeded, in the same unit.
    pub threshold: f64,
    /// The likely cause, from what the profile shows.
    pub cause: String,
    /// What to try next.
    pub next_step: NextStep,
}

/// What to try next about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextStep {
    /// Measure with more warm-up calls.
    MoreWarmUp,
    /// Measure with more runs.
    MoreRuns,
    /// Something that changes the program or its surroundings, in words.
    Other(&'static str),
}

impl std::fmt::Display for NextStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MoreWarmUp => "more warm-up calls",
            Self::MoreRuns => "check for other programs, and the clock frequency; make more runs",
            Self::Other(words) => words,
        })
    }
}

impl Serialize for NextStep {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An operation and the figures that it is judged by.
pub(crate) struct Subject<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) operation: &'a Operation,
    pub(crate) summary: &'a Summary,
    /// Its time minus that of the operations inside it, ns.
    pub(crate) own_ns: f64,
    pub(crate) thresholds: &'a Thresholds,
    pub(crate) calls_of: CallsOf,
}

impl Subject<'_> {
    /// Its findings, worst kind first.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let (operation, summary, limits) = (self.operation, self.summary, self.thresholds);
        // One sample has no spread; NaN is above nothing.
        let cv = summary.cv.unwrap_or(f64::NAN);
        let spike = summary.max / summary.mean;
        // An operation whose time is mostly that of operations inside it is slow because of them.
        let is_others = self.own_ns < (1.0 - MAIN_SHARE) * summary.total;
        // How long a program may take is its user's to say.
        let is_slow = !is_others && !operation.is_process();
        let slow = if is_slow { summary.mean } else { f64::NAN };
        type Kind<'s> = (FindingKind, f64, f64, &'s dyn Fn() -> Why);
        let kinds: [Kind<'_>; 3] = [
            (FindingKind::Slow, slow, limits.slow_ns, &|| self.why_slow()),
            (FindingKind::HighVariance, cv, limits.high_cv, &|| {
                self.why_unsteady()
            }),
            (FindingKind::Outliers, spike, limits.outlier_ratio, &|| {
                self.why_spiky()
            }),
        ];
        let passed = kinds
            .into_iter()
            .filter(|(_, value, limit, _)| value > limit);
        let findings = passed.map(|(what, value, threshold, why)| {
            let (cause, next_step) = why();
            Finding {
                key: operation.key(),
                what,
                value,
                threshold,
                cause,
                next_step,
            }
        });
        findings.collect()
    }
}

/// The likely cause and the next step.
type Why = (String, NextStep);

/// Fraction of a call from which one of its phases counts as the cause.
const MAIN_SHARE: f64 = 0.5;

/// Fraction of a peak from which an operation counts as bound by it.
const BOUND_SHARE: f64 = 0.6;

impl Subject<'_> {
    fn is_software_gpu(&self) -> bool {
        self.profile.is_software_gpu(&self.operation.device)
    }

    fn why_slow(&self) -> Why {
        let (cause, step) = self.slow_because();
        (cause, NextStep::Other(step))
    }

    fn slow_because(&self) -> (String, &'static str) {
        let part = |phase: &str| median(self.operation.phase_ns(phase)).unwrap_or(0.0);
        let (transfer, launch) = (part("upload") + part("download"), part("launch"));
        let whole = transfer + part("kernel") + launch;
        let compute_ns = compute_ns(self.operation, self.summary);
        let shares = Roofline::of(self.profile, self.operation, compute_ns);
        let above = |share: f64, limit| (share > limit).then(|| percent(share));
        let bound = |share: Option<f64>| share.and_then(|share| above(share, BOUND_SHARE));
        if let Some(share) = above(transfer / whole, MAIN_SHARE) {
            (
                format!("{share} of a call is transfer to and from the device"),
                "keep the data on the device between calls, or send larger batches while one \
                 computes",
            )
        } else if let Some(share) = above(launch / whole, MAIN_SHARE) {
            (
                format!("{share} of a call is launch latency"),
                "put more work into one launch",
            )
        } else if let Some(share) = bound(shares.bound_share)
            && let Some(limit @ (Limit::SharedMemory | Limit::Atomics | Limit::Latency)) =
                shares.bound
        {
            (
                format!("bound by {limit}: {share} of what the device can do"),
                "another algorithm: fewer accesses to shared memory, or fewer that wait for others",
            )
        } else if let Some(share) = bound(shares.flops_share) {
            (
                format!("bound by arithmetic: {share} of the device's peak"),
                "fewer operations (a better algorithm, lower precision) or a faster device",
            )
        } else if let Some(share) = bound(shares.bytes_share) {
            (
                format!("bound by memory: {share} of the device's bandwidth"),
                "move fewer bytes: fuse it with its neighbours, smaller types, better reuse",
            )
        } else if self.is_software_gpu() {
            (
                "the device is a software GPU: it computes on the CPU".to_owned(),
                "run it on the CPU form, or on a real GPU",
            )
        } else if shares.flops_share.is_some() || shares.bytes_share.is_some() {
            (
                "neither arithmetic nor memory is near its peak: latency, dependent steps or too \
                 little parallel work"
                    .to_owned(),
                "check the algorithm's inner loop and how many cores or units are busy",
            )
        } else if self.operation.bytes.is_none() && self.operation.flops.is_none() {
            (
                "unknown: its bytes and arithmetic are not recorded".to_owned(),
                "find its most expensive lines with a sampling profiler",
            )
        } else {
            (
                "unknown: the profile has no peaks to compare with".to_owned(),
                "measure with peaks (`breakeven profile` does), or use a sampling profiler",
            )
        }
    }
}
