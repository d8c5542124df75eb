//! Finds bottlenecks: operations that are slow, unsteady or spiky, with the likely cause as far as
//! the profile shows it, and the next step.

use breakeven_profile::profile::{Limit, Operation, OperationKey, Profile};
use breakeven_profile::stats::{Moments, Summary};
use breakeven_profile::unit::percent;
use breakeven_stats::{log_ratio_test, mean_interval, one_way_anova};
use serde::Serialize;

use crate::advise::CallsOf;
use crate::roofline::{BOUND_SHARE, Roofline, compute_ns};
use crate::winner::median;

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
            Self::MoreRuns => {
                "check for other inputs and other programs, and the clock frequency; make more runs"
            }
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
        let mut findings = Vec::new();
        let mut find = |what, value, threshold, (cause, next_step): Why| {
            findings.push(Finding {
                key: operation.key(),
                what,
                value,
                threshold,
                cause,
                next_step,
            });
        };
        // An operation whose time is mostly that of operations inside it is slow because of them.
        let is_others = self.own_ns < (1.0 - MAIN_SHARE) * summary.total;
        // How long a program may take is its user's to say.
        let is_judged = !is_others && !operation.is_process();
        if is_judged && summary.mean > limits.slow_ns {
            let why = self.why_slow();
            find(FindingKind::Slow, summary.mean, limits.slow_ns, why);
        }
        if let Some(cv) = summary.cv.filter(|cv| *cv > limits.high_cv) {
            let why = self.why_unsteady();
            find(FindingKind::HighVariance, cv, limits.high_cv, why);
        }
        let spike = summary.max / summary.mean;
        if spike > limits.outlier_ratio {
            let why = self.why_spiky();
            find(FindingKind::Outliers, spike, limits.outlier_ratio, why);
        }
        findings
    }
}

/// The likely cause and the next step.
type Why = (String, NextStep);

/// Fraction of a call from which one of its phases counts as the cause.
const MAIN_SHARE: f64 = 0.5;

impl Subject<'_> {
    fn is_software_gpu(&self) -> bool {
        self.profile.is_software_gpu(&self.operation.device)
    }

    fn why_slow(&self) -> Why {
        let part = |phase: &str| median(self.operation.phase_ns(phase)).unwrap_or(0.0);
        let (transfer, launch) = (part("upload") + part("download"), part("launch"));
        let whole = transfer + part("kernel") + launch;
        let compute_ns = compute_ns(self.operation, self.summary);
        let shares = Roofline::of(self.profile, self.operation, compute_ns);
        let above = |share: f64, limit| (share > limit).then(|| percent(share));
        let bound = |share: Option<f64>| share.and_then(|share| above(share, BOUND_SHARE));
        let (cause, step) = if let Some(share) = above(transfer / whole, MAIN_SHARE) {
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
        };
        (cause, NextStep::Other(step))
    }
}

// Why times vary. A cause is named if a test finds it; by chance that happens for at most
// [`ERROR_RATE`] of operations. Otherwise no cause is named.

/// False-positive rate. The two tests that every unsteady operation undergoes share it, half each.
const ERROR_RATE: f64 = 0.05;

/// Ratio from which times count as falling during a run.
const FALL: f64 = 1.1;

/// Ratio of the slowest run's median to the fastest one's from which runs count as different.
const DIFFERENCE: f64 = 1.2;

/// Segments of a run. The first and the last are compared by their medians, because neighbouring
/// samples are not independent.
const PARTS: usize = 4;

/// Fewest runs for a test over runs.
const OVER_RUNS: usize = 3;

/// Phases of a call on a GPU, with the usual reason of their variance.
const PHASES: [(&str, &str); 4] = [
    (
        "kernel",
        "clock and power limits, other users of the device",
    ),
    ("upload", "PCIe, pageable memory, other users of the link"),
    ("download", "PCIe, pageable memory, other users of the link"),
    (
        "launch",
        "the driver, scheduling on the CPU, other users of the device",
    ),
];

/// The evidence for the cause.
const SHOWN_BY: &str = "watch the device while it runs: on NVIDIA `nvidia-smi dmon -s pucvmet` \
                        (power, use, clocks, PCIe) and `nvidia-smi -q -d CLOCK,PERFORMANCE` \
                        (limits); pin the host's memory, keep cores free";

impl Subject<'_> {
    fn why_unsteady(&self) -> Why {
        let found = self.cold_start().or_else(|| self.settling());
        let found = found.or_else(|| self.whole_runs());
        if let Some(why) = found.or_else(|| self.phase()) {
            return why;
        }
        let clock = self.profile.environment.clock.as_ref();
        let short_ns = clock.map_or(0.0, |clock| 20.0 * clock.read_ns);
        let (cause, next_step) = if self.summary.median < short_ns {
            (
                "the call is so short that reading the clock is a large fraction of it",
                "measure many calls as one sample",
            )
        } else if self.is_software_gpu() {
            (
                "nothing stands out; a software GPU shares the CPU's cores with everything else",
                "use it for tests, not for times",
            )
        } else {
            (
                "nothing stands out: calls differ inside the run or from run to run",
                "stop other programs, measure more calls, and judge by the median instead of the \
                 mean",
            )
        };
        (cause.to_owned(), NextStep::Other(next_step))
    }

    fn why_spiky(&self) -> Why {
        let found = self.cold_start().or_else(|| self.phase());
        found.unwrap_or_else(|| {
            let limit = self.thresholds.outlier_ratio * self.summary.mean;
            let spikes = self.operation.samples_ns().filter(|ns| *ns > limit).count();
            let total = self.operation.samples_ns().count();
            (
                format!("calls far above the mean: {spikes} of {total}; nothing else stands out"),
                NextStep::Other(
                    "judge by median and p95; for latency check what else runs (preemption, page \
                     faults, a driver's housekeeping)",
                ),
            )
        })
    }

    /// The samples of each complete run; the samples of a reservoir have no order.
    fn in_order(&self) -> impl Iterator<Item = &[f64]> {
        let runs = self.operation.runs.iter();
        let whole = runs.filter(|run| run.moments.is_none() && !run.samples_ns.is_empty());
        whole.map(|run| &run.samples_ns[..])
    }

    /// What to do about slow first calls: nobody warms a program up.
    fn at_start(&self) -> NextStep {
        match self.calls_of {
            CallsOf::Program => {
                NextStep::Other("compile, allocate and load at the program's start")
            }
            CallsOf::Benchmark | CallsOf::Unmarked => NextStep::MoreWarmUp,
        }
    }

    /// In most runs the first call is a spike, and few other calls are. If spikes were placed at
    /// random, this many first calls would be spikes with at most this probability: the tail of the
    /// hypergeometric distribution.
    fn cold_start(&self) -> Option<Why> {
        let is_spike = |ns: &&f64| **ns > self.thresholds.outlier_ratio * self.summary.mean;
        let (runs, calls) = (self.in_order().count(), self.in_order().flatten().count());
        let firsts = self.in_order().filter_map(<[f64]>::first);
        let first = firsts.filter(is_spike).count();
        let spikes = self.in_order().flatten().filter(is_spike).count();
        let places = (0..first).map(|i| (runs - i) as f64 / (calls - i) as f64);
        let sets = (0..first).map(|i| (spikes - i) as f64 / (i + 1) as f64);
        let chance: f64 = places.zip(sets).map(|(place, set)| place * set).product();
        let only = if first == spikes { "only" } else { "mostly" };
        (2 * first > runs.max(spikes) && chance <= ERROR_RATE).then(|| {
            let of = format!("{only} the first call of {first} run(s) is slow");
            (format!("{of}: cold caches or compilation"), self.at_start())
        })
    }

    /// Times fall from the first segment of a run to the last: by Student's t-test over runs, or,
    /// with too few runs, over the calls, scaled per run.
    fn settling(&self) -> Option<Why> {
        let (mut falls, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for run in self.in_order().filter(|run| run.len() >= PARTS) {
            let part = run.len() / PARTS;
            let (early, late) = (&run[..part], &run[run.len() - part..]);
            let [from, to] = [early, late].map(|part| median(part.iter().copied()));
            let (from, to) = (from?, to?);
            falls.push((from / to).ln());
            first.extend(early.iter().map(|ns| ns / (from * to).sqrt()));
            last.extend(late.iter().map(|ns| ns / (from * to).sqrt()));
        }
        let level = 1.0 - ERROR_RATE;
        let is_fall = match falls.len() < OVER_RUNS {
            true => log_ratio_test(&last, &first, level).is_ok_and(|it| it.p_value <= ERROR_RATE),
            false => mean_interval(&falls, level).is_ok_and(|[lower, _]| lower > 0.0),
        };
        let fall = (falls.iter().sum::<f64>() / falls.len() as f64).exp();
        (is_fall && fall > FALL).then(|| {
            let times =
                format!("times fall by a factor of {fall:.2} from its first quarter to its last");
            (
                format!("the first calls of a run are slow: {times}"),
                self.at_start(),
            )
        })
    }

    /// Runs differ by more than the segments of a run do.
    fn whole_runs(&self) -> Option<Why> {
        let samples = self.operation.runs.iter().map(|run| &run.samples_ns);
        let logs = samples
            .filter(|samples| !samples.is_empty())
            .map(|samples| {
                let parts = samples.chunks(samples.len().div_ceil(PARTS));
                let medians = parts.filter_map(|part| median(part.iter().copied()));
                medians.map(f64::ln).collect()
            });
        let chance = one_way_anova(&logs.collect::<Vec<_>>()).ok()?;
        let medians = crate::winner::run_medians(self.operation);
        let slowest = medians.iter().copied().fold(0.0, f64::max);
        let times = slowest / medians.into_iter().fold(f64::INFINITY, f64::min);
        (chance <= ERROR_RATE / 2.0 && times > DIFFERENCE).then(|| {
            let of = format!("the slowest run's median is {times:.2} × that of the fastest");
            (
                format!("runs differ from one another: {of}"),
                NextStep::MoreRuns,
            )
        })
    }

    /// The phase with the most variance, if it varies clearly more than any other. Phases are timed
    /// in separate calls, so their variance is compared with the larger one of phases and calls.
    fn phase(&self) -> Option<Why> {
        let of_phase = |phase: &'static (&str, &str)| {
            let times: Vec<f64> = self.operation.phase_ns(phase.0).collect();
            let middle = median(times.iter().copied())?;
            let distances: Vec<f64> = times.iter().map(|ns| (ns - middle).abs()).collect();
            Some((Moments::of(&times).ok()?.variance()?, distances, phase))
        };
        let mut phases: Vec<_> = PHASES.iter().filter_map(of_phase).collect();
        phases.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let whole: f64 = phases.iter().map(|(variance, ..)| variance).sum();
        let [(variance, most, (name, usual)), (_, next, _), ..] = &phases[..] else {
            return None;
        };
        let share = variance / whole.max(self.summary.deviation?.powi(2));
        let chance = one_way_anova(&[most.clone(), next.clone()]).ok()?;
        let found = share > MAIN_SHARE && chance <= ERROR_RATE && !self.is_software_gpu();
        let share = percent(share);
        found.then(|| {
            (
                format!("{share} of the variance is in {name}: {usual}"),
                NextStep::Other(SHOWN_BY),
            )
        })
    }
}
