//! Everything, for programs.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::{ComparisonSummary, ProfilerComparison, Verdict};
use serde::Serialize;

use super::{Report, Source};

#[derive(Serialize)]
struct Document<'r> {
    baseline: &'r Source,
    current: &'r Source,
    summary: ComparisonSummary,
    gated: bool,
    verdict: &'r Verdict,
    #[serde(flatten)]
    comparison: &'r ProfilerComparison,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let [baseline, current] = &report.sources;
    let document = Document {
        baseline,
        current,
        summary: report.comparison.get_summary(),
        gated: report.gated,
        verdict: &report.verdict,
        comparison: &report.comparison,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}
