//! One line per operation, device and phase of a call, then those of the devices' activity in a
//! trace; times in ns.

use std::io::Write;
use std::iter;

use anyhow::Result;
use breakeven_judge::page::clean;
use breakeven_judge::{Held, Limited, Roofline, Row};
use breakeven_profile::stats::Summary;

use super::executions::Executions;
use super::{Report, activity};

/// What a row is about: complete calls, the runs' medians, or a phase.
struct Line<'r> {
    row: &'r Row,
    part: &'r str,
    summary: Option<&'r Summary>,
    /// Complete calls.
    execution: Option<Executions<'r>>,
}

/// The cell of a column in a line.
type Cell = fn(&Line<'_>) -> Option<String>;

const COLUMNS: [(&str, Cell); 35] = [
    ("operation", |line| text(Some(&line.row.key.name))),
    ("device", |line| text(Some(&line.row.key.device))),
    ("software_gpu", |line| text(Some(line.row.software_gpu))),
    ("size", |line| text(line.row.key.size)),
    ("part", |line| text(Some(line.part))),
    ("runs", |line| text(Some(line.row.runs))),
    ("calls", |line| text(Some(line.summary?.count))),
    ("mean_ns", |line| text(Some(line.summary?.mean))),
    ("deviation_ns", |line| text(line.summary?.deviation)),
    ("min_ns", |line| text(Some(line.summary?.min))),
    ("median_ns", |line| text(Some(line.summary?.median))),
    ("p95_ns", |line| text(Some(line.summary?.p95))),
    ("p99_ns", |line| text(Some(line.summary?.p99))),
    ("max_ns", |line| text(Some(line.summary?.max))),
    ("cv", |line| text(line.summary?.cv)),
    ("calls_per_s", |line| text(line.whole()?.calls_per_s)),
    ("items_per_s", |line| text(line.whole()?.items_per_s)),
    ("bytes_per_s", |line| text(line.rates()?.bytes_per_s)),
    ("bytes_share", |line| text(line.rates()?.bytes_share)),
    ("flops_per_s", |line| text(line.rates()?.flops_per_s)),
    ("flops_share", |line| text(line.rates()?.flops_share)),
    ("first_call_ns", |line| text(line.whole()?.first_call_ns)),
    ("budget_ns", |line| text(Some(line.budget()?.max))),
    ("budget", |line| text(Some(line.budget()?.standing))),
    ("failure", |line| text(line.whole()?.failure.as_ref())),
    ("strategy", |line| text(Some(line.executed()?.strategy()))),
    ("decided_by", |line| {
        text(Some(line.executed()?.decided_by()))
    }),
    ("gpu_tasks", |line| text(line.executed()?.record.gpu_tasks)),
    ("predicted_ns", |line| {
        text(line.executed()?.record.predicted_ns)
    }),
    ("fallback_tasks", |line| {
        text(line.executed()?.fallback_tasks())
    }),
    ("device_errors", |line| {
        text(Some(line.executed()?.errors()))
    }),
    ("total_ns", |line| text(Some(line.summary?.total))),
    ("device_tasks", |line| text(line.executed()?.device_tasks())),
    ("joules_per_call", |line| {
        text(line.whole()?.joules_per_call)
    }),
    ("idle_joules_per_call", |line| {
        text(line.whole()?.idle_joules_per_call)
    }),
];

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS.map(|(head, _)| head))?;
    for row in &report.overview.rows {
        let medians = row.between_runs.iter();
        let medians = medians.map(|medians| ("run_medians", Some(medians)));
        let phases = row.phases.iter();
        let phases = phases.map(|(phase, summary)| (phase.as_str(), Some(summary)));
        let parts = iter::once((WHOLE, row.summary.as_ref()));
        for (part, summary) in parts.chain(medians).chain(phases) {
            let line = Line {
                row,
                part,
                summary,
                execution: Executions::of(row).filter(|_| part == WHOLE),
            };
            let cells = COLUMNS.map(|(_, cell)| clean(&cell(&line).unwrap_or_default()));
            csv.write_record(cells)?;
        }
    }
    for line in activity::lines(report) {
        let cell = |head| line.iter().find(|(of, _)| *of == head);
        let cells = COLUMNS.map(|(head, _)| cell(head).map_or("", |(_, cell)| cell));
        csv.write_record(cells.map(clean))?;
    }
    csv.flush()?;
    Ok(())
}

/// The name for complete calls.
const WHOLE: &str = "call";

impl<'r> Line<'r> {
    fn whole(&self) -> Option<&'r Row> {
        (self.part == WHOLE).then_some(self.row)
    }

    /// Rates belong to the phase that computes: the kernel if there is one.
    fn rates(&self) -> Option<&'r Roofline> {
        let mut phases = self.row.phases.iter();
        let has_kernel = phases.any(|(phase, _)| phase == "kernel");
        let computes = if has_kernel { "kernel" } else { WHOLE };
        (self.part == computes).then_some(&self.row.roofline)
    }

    fn budget(&self) -> Option<&'r Held> {
        let mut budgets = self.whole()?.budgets.iter();
        budgets.find(|held| held.limited == Limited::Mean)
    }

    fn executed(&self) -> Option<&Executions<'r>> {
        self.execution.as_ref()
    }
}
