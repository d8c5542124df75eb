//! Writes the comparison as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::{Compared, ComparisonSummary, ProfilerComparison, Source, Verdict};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'r> {
    baseline: &'r Source,
    current: &'r Source,
    summary: ComparisonSummary,
    gated: bool,
    /// `null` without a gate and without budgets.
    verdict: Option<&'r Verdict>,
    #[serde(flatten)]
    comparison: &'r ProfilerComparison,
}

pub(super) fn write(report: &Compared, out: &mut dyn Write) -> Result<()> {
    let [baseline, current] = &report.sources;
    let comparison = &report.comparison;
    let has_budgets = !(comparison.budgets.is_empty() && comparison.idle_budgets.is_empty());
    let document = Document {
        baseline,
        current,
        summary: comparison.get_summary(),
        gated: report.gated,
        verdict: (report.gated || has_budgets).then_some(&report.verdict),
        comparison,
    };
    crate::print::document(&document, out)
}
