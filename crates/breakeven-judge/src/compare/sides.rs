//! Pairs the operations of the two sides, with the runs of several profiles merged.

use std::collections::HashMap;

use breakeven_profile::profile::{Counter, Operation, OperationKey, Profile, Run};

use super::options::{CompareError, Options, Side};
use crate::metric::Metric;

/// One operation of one side, from all profiles that contain it.
pub(super) struct Measured<'p> {
    parts: Vec<(&'p Profile, &'p Operation)>,
    runs: Vec<(&'p Operation, &'p Run)>,
    /// True if runs have bit-identical samples: they are copies of one measurement, which counts
    /// once.
    pub(super) is_copied: bool,
}

/// Fewest and most distinct samples that a run needs, of those it has, to count as a copy of
/// another run: samples of a coarse clock may be equal in two of several runs.
const DISTINCT: (usize, usize) = (3, 4);

impl<'p> Measured<'p> {
    /// The operation, as in the first profile.
    pub(super) fn first(&self) -> &'p Operation {
        let (_, operation) = self.parts[0];
        operation
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = (&'p Profile, &'p Operation)> + '_ {
        self.parts.iter().copied()
    }

    /// The runs with samples or other figures, each with its operation; of copies only the first.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&'p Operation, &'p Run)> + '_ {
        self.runs.iter().copied()
    }

    /// Gathers the runs, once all profiles are known.
    fn gather(&mut self) {
        let runs = self.parts.iter().flat_map(|(_, operation)| {
            let runs = operation.runs.iter().map(|run| (*operation, run));
            let has_figures = |run: &Run| run.memory_bytes.is_some() || !run.counters.is_empty();
            runs.filter(move |(_, run)| !run.samples_ns.is_empty() || has_figures(run))
        });
        let all: Vec<_> = runs.collect();
        self.runs.clear();
        for (operation, run) in &all {
            let samples = &run.samples_ns;
            let fewest = samples.len().clamp(DISTINCT.0, DISTINCT.1);
            let mut known = self.runs.iter().map(|(_, other)| &other.samples_ns);
            if distinct(samples) < fewest || !known.any(|other| other == samples) {
                self.runs.push((operation, run));
            }
        }
        self.is_copied = self.runs.len() < all.len();
    }

    /// One value per run; `None` if a run lacks it, or has it in another unit. `by_items` as in
    /// [`Metric::of`].
    pub(super) fn values(&self, metric: &Metric, by_items: bool) -> Option<Vec<f64>> {
        if let Metric::Counter(name, counter) = metric {
            let mut stated = self
                .parts()
                .map(|(_, operation)| operation.counters.get(name));
            stated.all(|stated| stated == Some(counter)).then_some(())?;
        }
        self.runs()
            .map(|(operation, run)| metric.of(operation, run, by_items))
            .collect()
    }

    /// True if the number of items per call is known.
    fn records_items(&self) -> bool {
        let items = |operation: &Operation| operation.items.is_some_and(|items| items > 0);
        self.parts().all(|(_, operation)| items(operation))
    }

    /// True if its file says that it failed.
    fn has_failure(&self) -> bool {
        self.parts
            .iter()
            .any(|(_, operation)| operation.failure.is_some())
    }

    /// True where it failed, or has no samples.
    pub(super) fn failed(&self) -> bool {
        self.has_failure() || self.runs().next().is_none()
    }

    /// True if most of its time is recording cost, in every profile.
    pub(super) fn is_mostly_recording(&self) -> bool {
        self.parts().all(|(profile, operation)| {
            let cost = profile.environment.recorder.as_ref();
            cost.is_some_and(|cost| operation.is_mostly_recording(cost))
        })
    }

    /// The largest step of a clock, as a fraction of the times measured with it; 0 if no profile
    /// names its clock.
    pub(super) fn clock_step(&self) -> f64 {
        let steps = self.parts().filter_map(|(profile, operation)| {
            let clock = profile.environment.clock.as_ref()?;
            let times = operation.samples_ns().reduce(f64::min);
            Some(clock.resolution_ns / times.filter(|ns| *ns > 0.0)?)
        });
        steps.fold(0.0, f64::max)
    }

    /// True for a software GPU.
    pub(super) fn is_on_software_gpu(&self) -> bool {
        self.parts()
            .any(|(profile, operation)| profile.is_software_gpu(&operation.device))
    }
}

fn distinct(samples: &[f64]) -> usize {
    let mut distinct = samples.to_vec();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    distinct.len()
}

/// One operation, on one or both sides.
pub(super) struct Pair<'p> {
    pub(super) key: OperationKey,
    pub(super) baseline: Option<Measured<'p>>,
    pub(super) current: Option<Measured<'p>>,
}

impl Pair<'_> {
    /// True if the current side's file says that it failed: an answer, even if nothing else
    /// can be compared.
    pub(super) fn fails(&self) -> bool {
        self.current.as_ref().is_some_and(Measured::has_failure)
    }

    /// True if throughput can count items: all profiles have them.
    pub(super) fn records_items(&self) -> bool {
        self.sides().all(Measured::records_items)
    }

    fn sides(&self) -> impl Iterator<Item = &Measured<'_>> {
        self.baseline.iter().chain(&self.current)
    }

    /// What the operation states of a counter.
    pub(super) fn counter(&self, name: &str) -> Option<&Counter> {
        let mut parts = self.sides().flat_map(Measured::parts);
        parts.find_map(|(_, operation)| operation.counters.get(name))
    }

    /// True if the same counters measured the energy of all runs.
    pub(super) fn is_counted_alike(&self) -> bool {
        let runs = self.sides().flat_map(Measured::runs);
        let mut all = runs.filter_map(|(_, run)| run.energy.as_ref());
        let Some(first) = all.next() else { return true };
        all.all(|other| other.is_counted_like(first))
    }

    /// The applicable threshold, a fraction: the comparison's, or the operation's own.
    pub(super) fn threshold(&self, options: &Options) -> f64 {
        let any = self.current.as_ref().or(self.baseline.as_ref());
        let own = any.and_then(|measured| options.limits.increase_of(measured.first()));
        own.unwrap_or(options.threshold.as_fraction())
    }

    /// The operation in words.
    pub(super) fn name(&self) -> String {
        let is_software = self.sides().any(Measured::is_on_software_gpu);
        self.key.label(is_software)
    }
}

/// All operations: in the baseline's order, then the new ones.
///
/// # Errors
///
/// If a side is empty or they have nothing in common.
pub(super) fn pairs<'p>(
    baseline: &'p [Profile],
    current: &'p [Profile],
) -> Result<Vec<Pair<'p>>, CompareError> {
    let mut pairs: Vec<Pair<'p>> = Vec::new();
    let mut index: HashMap<OperationKey, usize> = HashMap::new();
    for (side, profiles) in [(Side::Baseline, baseline), (Side::Current, current)] {
        if profiles.iter().all(|profile| profile.operations.is_empty()) {
            return Err(CompareError::Empty { side });
        }
        for profile in profiles {
            for operation in &profile.operations {
                let key = operation.key();
                let at = *index.entry(key.clone()).or_insert_with(|| {
                    pairs.push(Pair {
                        key,
                        baseline: None,
                        current: None,
                    });
                    pairs.len() - 1
                });
                let measured = match side {
                    Side::Baseline => &mut pairs[at].baseline,
                    Side::Current => &mut pairs[at].current,
                };
                let measured = measured.get_or_insert(Measured {
                    parts: Vec::new(),
                    runs: Vec::new(),
                    is_copied: false,
                });
                measured.parts.push((profile, operation));
            }
        }
    }
    for pair in &mut pairs {
        let sides = pair.baseline.iter_mut().chain(&mut pair.current);
        sides.for_each(Measured::gather);
    }
    let is_common = |pair: &Pair<'_>| pair.baseline.is_some() && pair.current.is_some();
    if pairs.iter().any(|pair| is_common(pair) || pair.fails()) {
        return Ok(pairs);
    }
    let one = |has: fn(&Pair<'_>) -> bool| {
        let found = pairs.iter().find(|pair| has(pair));
        found.map_or_else(String::new, Pair::name)
    };
    Err(CompareError::NothingInCommon {
        baseline: one(|pair| pair.baseline.is_some()),
        current: one(|pair| pair.current.is_some()),
    })
}
