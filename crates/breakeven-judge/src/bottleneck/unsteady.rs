//! Why times vary. A cause is named if a test finds it; by chance that happens for at most
//! [`ERROR_RATE`] of operations. Otherwise no cause is named.

use breakeven_profile::stats::Moments;
use breakeven_profile::unit::percent;
use breakeven_stats::{log_ratio_test, mean_interval, one_way_anova};

use super::{MAIN_SHARE, NextStep, Subject, Why, median};
use crate::advise::CallsOf;

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
    pub(super) fn why_unsteady(&self) -> Why {
        if let Some(why) = self.cold_start().or_else(|| self.settling()) {
            return why;
        }
        let clock = self.profile.environment.clock.as_ref();
        let short_ns = clock.map_or(0.0, |clock| 20.0 * clock.read_ns);
        let (cause, next_step) = match (self.whole_runs(), self.phase()) {
            (Some((runs, _)), Some((phase, step))) => return (format!("{runs}; {phase}"), step),
            (Some(why), None) | (None, Some(why)) => return why,
            (None, None) if self.summary.median < short_ns => (
                "the call is so short that reading the clock is a large fraction of it",
                "measure many calls as one sample",
            ),
            (None, None) if self.is_software_gpu() => (
                "nothing stands out; a software GPU shares the CPU's cores with everything else",
                "use it for tests, not for times",
            ),
            (None, None) if (self.operation.runs.iter()).all(|run| run.samples_ns.len() <= 1) => (
                "nothing stands out: runs differ from one another",
                "stop other programs, and measure more runs",
            ),
            (None, None) => (
                "nothing stands out: calls differ inside the run",
                "stop other programs, measure more calls, and judge by the median instead of the \
                 mean",
            ),
        };
        (cause.to_owned(), NextStep::Other(next_step))
    }

    pub(super) fn why_spiky(&self) -> Why {
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
            let next_step = match self.calls_of {
                CallsOf::Program => NextStep::Other(
                    "check for other inputs and other programs, and the clock frequency",
                ),
                _ => NextStep::MoreRuns,
            };
            (format!("runs differ from one another: {of}"), next_step)
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
