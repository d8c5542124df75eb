//! One line per operation, device and part of a call; times in ns.

use std::io::Write;
use std::iter;

use anyhow::Result;
use breakeven_judge::page::clean;
use breakeven_judge::{Limited, Row};
use breakeven_profile::stats::Summary;

use super::Report;
use super::executions::Executions;

const HEADS: [&str; 31] = [
    "operation",
    "device",
    "software_gpu",
    "size",
    "part",
    "runs",
    "calls",
    "mean_ns",
    "deviation_ns",
    "min_ns",
    "median_ns",
    "p95_ns",
    "p99_ns",
    "max_ns",
    "cv",
    "calls_per_s",
    "items_per_s",
    "bytes_per_s",
    "bytes_share",
    "flops_per_s",
    "flops_share",
    "first_call_ns",
    "budget_ns",
    "budget",
    "failure",
    "strategy",
    "decided_by",
    "gpu_tasks",
    "predicted_ns",
    "fallback_tasks",
    "device_errors",
];

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(HEADS)?;
    for row in &report.overview.rows {
        let medians = row
            .between_runs
            .iter()
            .map(|medians| ("run_medians", Some(medians)));
        let phases = row
            .phases
            .iter()
            .map(|(phase, summary)| (phase.as_str(), Some(summary)));
        let parts = iter::once(("call", row.summary.as_ref()))
            .chain(medians)
            .chain(phases);
        for (part, summary) in parts {
            csv.write_record(record(row, part, summary).map(|cell| clean(&cell)))?;
        }
    }
    csv.flush()?;
    Ok(())
}

fn record(row: &Row, part: &str, summary: Option<&Summary>) -> [String; 31] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let of = |field: fn(&Summary) -> Option<f64>| number(summary.and_then(field));
    let whole = part == "call";
    // Rates belong to the part that computes: the kernel where there is one.
    let computes = match row.phases.iter().any(|(phase, _)| phase == "kernel") {
        true => part == "kernel",
        false => whole,
    };
    let only = |here: bool, value: Option<f64>| number(value.filter(|_| here));
    let execution = Executions::of(row).filter(|_| whole);
    let executed = |field: &dyn Fn(&Executions<'_>) -> String| {
        execution.as_ref().map_or_else(String::new, field)
    };
    let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let failure = row.failure.as_ref().filter(|_| whole);
    let mut budgets = row.budgets.iter();
    let budget = budgets.find(|held| held.limited == Limited::Mean);
    [
        row.operation.clone(),
        row.device.clone(),
        row.software_gpu.to_string(),
        row.size.map_or_else(String::new, |size| size.to_string()),
        part.to_owned(),
        row.runs.to_string(),
        summary.map_or_else(String::new, |summary| summary.count.to_string()),
        of(|s| Some(s.mean)),
        of(|s| s.deviation),
        of(|s| Some(s.min)),
        of(|s| Some(s.median)),
        of(|s| Some(s.p95)),
        of(|s| Some(s.p99)),
        of(|s| Some(s.max)),
        of(|s| s.cv),
        only(whole, row.calls_per_s),
        only(whole, row.items_per_s),
        only(computes, row.roofline.bytes_per_s),
        only(computes, row.roofline.bytes_share),
        only(computes, row.roofline.flops_per_s),
        only(computes, row.roofline.flops_share),
        only(whole, row.first_call_ns),
        only(whole, budget.map(|held| held.max)),
        budget
            .filter(|_| whole)
            .map_or_else(String::new, |held| held.standing.to_string()),
        failure.map_or_else(String::new, |f| format!("{}: {}", f.kind, f.message)),
        executed(&|each| each.strategy().to_owned()),
        executed(&|each| each.decided_by()),
        executed(&|each| count(each.gpu_tasks())),
        executed(&|each| number(each.predicted_ns())),
        executed(&|each| count(each.fallback_tasks())),
        executed(&|each| each.errors()),
    ]
}
