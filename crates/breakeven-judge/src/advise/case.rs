//! A profile as the rules see it: the figures of its operations, in an order that does not depend
//! on the file.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Device, Operation, Peak, Profile};
use breakeven_profile::stats::Summary;
use serde::Serialize;

use super::calls::{CallsOf, Sequences};
use crate::overview::{own_ns, own_shares};
use crate::winner::{Work, work};

/// An operation below this fraction of a program's time gets no advice.
const MINOR: f64 = 0.01;

/// An operation with more than this fraction of recording cost gets no advice.
const MOST_RECORDING: f64 = 0.5;

/// How many operations were examined, and why the remaining ones were not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LookedAt {
    /// Operations that were examined.
    pub operations: usize,
    /// Operations that failed.
    pub failed: usize,
    /// Operations without samples, or with none but zeros.
    pub without_time: usize,
    /// Operations whose time is mostly recording cost.
    pub recording: usize,
    /// Operations that take too small a fraction of a program's time to matter.
    pub minor: usize,
}

/// A profile, prepared for the rules.
pub(super) struct Case<'p> {
    pub(super) profile: &'p Profile,
    pub(super) calls_of: CallsOf,
    pub(super) sequences: Sequences<'p>,
    /// True if the profile separates own times from those of nested operations.
    pub(super) nesting: bool,
    /// The own time of all operations, ns.
    pub(super) whole_ns: f64,
    /// Operations with valid samples, by name, device and size.
    pub(super) subjects: Vec<Subject<'p>>,
    /// Indices of the operations that do the same work.
    works: BTreeMap<Work<'p>, Vec<usize>>,
    pub(super) looked_at: LookedAt,
}

/// An operation with samples.
pub(super) struct Subject<'p> {
    /// Its index in [`Case::subjects`].
    pub(super) place: usize,
    pub(super) operation: &'p Operation,
    pub(super) summary: Summary,
    /// Calls in a run, on average.
    pub(super) calls_per_run: f64,
    /// Its time minus that of the operations inside it, ns.
    pub(super) own_ns: f64,
    /// Memory that a call uses, bytes.
    pub(super) memory_bytes: Option<u64>,
    /// False if its fraction of the total time is too small for advice.
    pub(super) matters: bool,
    /// True if this size takes the most time of all sizes on this device.
    pub(super) leads_sizes: bool,
}

impl<'p> Case<'p> {
    pub(super) fn new(profile: &'p Profile) -> Self {
        let calls_of = CallsOf::in_profile(profile);
        let mut looked_at = LookedAt::default();
        let mut whole_ns = 0.0;
        let mut subjects = Vec::new();
        let paths = own_shares(profile);
        // Sorted by key, so that sums do not depend on the file's order either.
        let mut operations: Vec<&Operation> = profile.operations.iter().collect();
        // A benchmark measures a software GPU for comparison; no program would run there.
        let is_software = |each: &Operation| profile.is_software_gpu(&each.device);
        operations.retain(|operation| {
            !operation.within_execution
                && (calls_of != CallsOf::Benchmark || !is_software(operation))
        });
        operations.sort_by_cached_key(|operation| operation.key());
        for operation in operations {
            let summary = operation.summary().ok().filter(|all| all.total > 0.0);
            let own_ns = summary.map_or(0.0, |summary| own_ns(operation, summary.total, &paths));
            whole_ns += own_ns;
            let recording = profile.environment.recorder.as_ref();
            let recording = recording.and_then(|cost| operation.recording_share(cost));
            match summary {
                _ if operation.failure.is_some() => looked_at.failed += 1,
                None => looked_at.without_time += 1,
                Some(_) if recording.is_some_and(|part| part > MOST_RECORDING) => {
                    looked_at.recording += 1;
                }
                Some(summary) => {
                    let place = subjects.len();
                    subjects.push(Subject::new(place, operation, summary, own_ns));
                }
            }
        }
        // The author of a benchmark chose its rows.
        let minor_ns = match calls_of {
            CallsOf::Program => MINOR * whole_ns,
            _ => 0.0,
        };
        let mut works: BTreeMap<Work<'p>, Vec<usize>> = BTreeMap::new();
        for subject in &mut subjects {
            works
                .entry(work(subject.operation))
                .or_default()
                .push(subject.place);
            subject.matters = subject.own_ns > 0.0 && subject.own_ns >= minor_ns;
            match subject.matters {
                true => looked_at.operations += 1,
                false => looked_at.minor += 1,
            }
        }
        mark_leaders(&mut subjects);
        let mut runs = profile.operations.iter().flat_map(|each| &each.runs);
        Self {
            profile,
            works,
            calls_of,
            sequences: Sequences::in_profile(profile),
            nesting: !profile.stacks.is_empty() || runs.any(|run| run.self_ns.is_some()),
            whole_ns,
            subjects,
            looked_at,
        }
    }

    /// The operations of this name, on every device and of every size.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Subject<'p>> {
        let is_before = |other: &Subject<'_>| other.operation.name.as_str() < name;
        let from = &self.subjects[self.subjects.partition_point(is_before)..];
        from.iter()
            .take_while(move |other| other.operation.name == name)
    }

    /// The operations that do the same work, on every device.
    pub(super) fn same_work(&self, subject: &Subject<'_>) -> Vec<&Subject<'p>> {
        let places = self.works.get(&work(subject.operation));
        let places = places.into_iter().flatten();
        places.map(|place| &self.subjects[*place]).collect()
    }

    /// True for a GPU that an operation can be moved to: not a software GPU.
    pub(super) fn is_real_gpu(&self, device: &str) -> bool {
        Device::of(device).is_gpu() && !self.profile.is_software_gpu(device)
    }

    /// The measured peaks of the operation's own device.
    pub(super) fn peak_of(&self, subject: &Subject<'_>) -> Option<&'p Peak> {
        self.profile.peak(&subject.operation.device)
    }
}

impl<'p> Subject<'p> {
    fn new(place: usize, operation: &'p Operation, summary: Summary, own_ns: f64) -> Self {
        let runs = operation.runs.iter().filter(|run| run.calls() > 0).count();
        let of_runs = operation.runs.iter().filter_map(|run| run.memory_bytes);
        Self {
            calls_per_run: summary.count as f64 / runs.max(1) as f64,
            own_ns,
            memory_bytes: operation.memory_bytes.or(of_runs.max()),
            matters: true,
            leads_sizes: false,
            place,
            operation,
            summary,
        }
    }

    pub(super) fn device(&self) -> Device<'p> {
        Device::of(&self.operation.device)
    }

    /// Mean own time of a call, ns.
    pub(super) fn own_call_ns(&self) -> f64 {
        self.own_ns / self.summary.count as f64
    }

    /// True if most of its time is that of operations inside it, which then get the advice.
    pub(super) fn mostly_others(&self) -> bool {
        self.own_ns < 0.5 * self.summary.total
    }
}

/// Marks, of all sizes of an operation on a device, the one that takes the most time; the first if
/// several do.
fn mark_leaders(subjects: &mut [Subject<'_>]) {
    let together = |a: &Subject<'_>, b: &Subject<'_>| {
        (&a.operation.name, &a.operation.device) == (&b.operation.name, &b.operation.device)
    };
    for sizes in subjects.chunk_by_mut(together) {
        let sized = sizes
            .iter_mut()
            .filter(|each| each.operation.size > Some(0));
        // In reverse, because `max_by` returns the last maximum.
        if let Some(leader) = sized.rev().max_by(|a, b| a.own_ns.total_cmp(&b.own_ns)) {
            leader.leads_sizes = true;
        }
    }
}
