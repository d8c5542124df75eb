//! Summarises a profile: one row per operation and device, the winner per operation, the
//! bottlenecks, the budgets. Data only; other modules print it.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Energy, Executions, Failure, Operation, OperationKey, Profile};
use breakeven_profile::stats::Summary;
use serde::Serialize;

use crate::advise::CallsOf;
use crate::bottleneck::{Finding, Subject, Targets};
use crate::budget::{Held, Limits};
use crate::roofline::{Roofline, compute_ns};
use crate::winner::{self, Winner};

mod columns;
mod page;

pub use columns::{COLUMNS, Cell, Column, Line};

/// The known phases of a call on a GPU or of an asynchronous call.
const PHASES: [&str; 6] = [
    "upload", "launch", "kernel", "download", "polled", "waiting",
];

/// The figures that the tables show of a profile.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Overview {
    /// One per operation, in the profile's order.
    pub rows: Vec<Row>,
    /// One per operation that was measured on more than one device.
    pub winners: Vec<Winner>,
    /// All bottlenecks, those with the most time first.
    pub findings: Vec<Finding>,
}

/// One operation on one device. Serialised, it contains only computed figures, which are added to
/// the operation's own fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Row {
    /// The operation.
    #[serde(skip_serializing)]
    pub key: OperationKey,
    /// True for a software GPU.
    pub software_gpu: bool,
    /// The workload in words.
    #[serde(skip_serializing)]
    pub workload: Option<String>,
    /// Number of processes that measured the operation.
    pub runs: usize,
    /// Measured calls of all runs.
    pub calls: u64,
    /// Time of all calls, ns.
    pub total_ns: f64,
    /// Peak memory of a call, bytes.
    pub memory_bytes: Option<u64>,
    /// Energy of all devices over a call, idle power included, J.
    pub joules_per_call: Option<f64>,
    /// The idle energy in it, which the devices would use without the call, J.
    pub idle_joules_per_call: Option<f64>,
    /// Fraction of the GPU's units that a call keeps busy, 0 to 1.
    #[serde(skip_serializing)]
    pub gpu_use: Option<f64>,
    /// All samples together, ns; `None` if there are none.
    pub summary: Option<Summary>,
    /// The medians of the runs, ns, if there are two or more runs: they show the difference between
    /// processes.
    pub between_runs: Option<Summary>,
    /// Calls per second at the mean.
    pub calls_per_s: Option<f64>,
    /// Items per second at the mean, if the profile has the items per call.
    pub items_per_s: Option<f64>,
    /// Achieved rates and the fractions of the device's peaks.
    pub roofline: Roofline,
    /// Phases of a call with their times, ns.
    pub phases: Vec<(String, Summary)>,
    /// Median over the runs of the very first call, ns.
    pub first_call_ns: Option<f64>,
    /// Own time: the time of all calls, ns, minus that of the operations inside, if the profile has
    /// it.
    pub own_ns: f64,
    /// This operation's fraction of the profile's total own time; 0 for an operation inside an
    /// execution, which counts its time.
    pub share_of_total: f64,
    /// Fraction of its time spent on recording, 0 to 1, if a recorder took the samples.
    pub recording_share: Option<f64>,
    /// True if most of its time is recording cost: the operation gets no verdict.
    pub mostly_recording: bool,
    /// The targets that it meets.
    pub targets: Option<Targets>,
    /// The results for its budgets.
    pub budgets: Vec<Held>,
    /// Why samples are missing.
    #[serde(skip_serializing)]
    pub failure: Option<Failure>,
    /// What an executor decided and where the tasks ran, of a batch's operation; with the tasks
    /// that its device and size imply.
    #[serde(skip_serializing)]
    pub executions: Option<Executions>,
}

/// Computes everything that the tables show.
pub fn overview(profile: &Profile, limits: &Limits) -> Overview {
    let (paths, calls_of) = (own_shares(profile), CallsOf::in_profile(profile));
    // Own times, so that a call is not counted again in the one around it.
    let own_ns = |operation: &Operation| own_ns(operation, operation.total_ns(), &paths);
    let counted = |operation: &&Operation| !operation.within_execution;
    let total: f64 = (profile.operations.iter().filter(counted))
        .map(own_ns)
        .sum();
    let (mut rows, mut findings) = (Vec::new(), Vec::new());
    for operation in &profile.operations {
        let (summary, own_ns) = (operation.summary().ok(), own_ns(operation));
        let is_counted = counted(&operation);
        if let Some(summary) = summary.as_ref().filter(|_| is_counted) {
            let subject = Subject {
                profile,
                operation,
                summary,
                own_ns,
                thresholds: &limits.thresholds,
                calls_of,
            };
            let found = subject.findings().into_iter();
            findings.extend(found.map(|finding| (own_ns, finding)));
        }
        let share = match is_counted && total > 0.0 {
            true => own_ns / total,
            false => 0.0,
        };
        rows.push(row(profile, operation, summary, [own_ns, share], limits));
    }
    findings.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    Overview {
        winners: winner::winners(profile),
        findings: findings.into_iter().map(|(_, finding)| finding).collect(),
        rows,
    }
}

fn row(
    profile: &Profile,
    operation: &Operation,
    summary: Option<Summary>,
    [own_ns, share_of_total]: [f64; 2],
    limits: &Limits,
) -> Row {
    let per_s = |mean: f64| (mean > 0.0).then(|| 1e9 / mean);
    let calls_per_s = summary.and_then(|summary| per_s(summary.mean));
    let phases = PHASES.into_iter().filter_map(|phase| {
        let samples: Vec<f64> = operation.phase_ns(phase).collect();
        Some((phase.to_owned(), Summary::of(&samples).ok()?))
    });
    let memory_bytes = operation.peak_memory_bytes();
    let energy = operation.energy();
    let mean_ns = summary.map(|summary| summary.mean);
    let recorder = profile.environment.recorder.as_ref();
    let runs = operation.runs.iter();
    Row {
        recording_share: recorder.and_then(|cost| operation.recording_share(cost)),
        mostly_recording: recorder.is_some_and(|cost| operation.is_mostly_recording(cost)),
        key: operation.key(),
        software_gpu: profile.is_software_gpu(&operation.device),
        workload: operation.workload.clone(),
        runs: (runs.clone().filter(|run| !run.samples_ns.is_empty())).count(),
        calls: operation.calls(),
        total_ns: operation.total_ns(),
        memory_bytes,
        joules_per_call: energy.as_ref().and_then(Energy::joules_per_call),
        idle_joules_per_call: energy.as_ref().and_then(Energy::idle_joules_per_call),
        gpu_use: operation.gpu_use,
        calls_per_s,
        items_per_s: calls_per_s
            .zip(operation.items)
            .map(|(calls, items)| calls * items as f64),
        roofline: summary.map_or_else(Roofline::default, |summary| {
            Roofline::of(profile, operation, compute_ns(operation, &summary))
        }),
        phases: phases.collect(),
        first_call_ns: winner::median(runs.filter_map(|run| run.first_call_ns)),
        own_ns,
        share_of_total,
        targets: summary.map(|summary| Targets::of(&summary, &limits.thresholds)),
        budgets: limits.hold(operation, mean_ns, memory_bytes.map(|bytes| bytes as f64)),
        failure: operation.failure.clone(),
        executions: (operation.executions.as_ref())
            .map(|executions| executions.complete(&operation.device, operation.size)),
        between_runs: Some(winner::run_medians(operation))
            .filter(|medians| medians.len() > 1)
            .and_then(|medians| Summary::of(&medians).ok()),
        summary,
    }
}

/// An operation's time minus that of the operations inside it, ns: from its runs, else from the
/// call paths of its name, else its complete time.
pub(crate) fn own_ns(operation: &Operation, total_ns: f64, paths: &BTreeMap<&str, f64>) -> f64 {
    if operation.runs.iter().any(|run| run.self_ns.is_some()) {
        return operation.own_ns().min(total_ns);
    }
    let share = paths.get(operation.name.as_str()).copied().unwrap_or(1.0);
    total_ns * share
}

/// By name, the own fraction of its time on all call paths.
pub(crate) fn own_shares(profile: &Profile) -> BTreeMap<&str, f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for stack in &profile.stacks {
        if let Some(name) = stack.frames.last() {
            let (own, total) = sums.entry(name).or_default();
            *own += stack.self_ns as f64;
            *total += stack.total_ns as f64;
        }
    }
    let timed = sums.into_iter().filter(|(_, (_, total))| *total > 0.0);
    timed
        .map(|(name, (own, total))| (name, (own / total).min(1.0)))
        .collect()
}
