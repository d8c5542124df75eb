//! For a report or the step summary of a CI job.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::compare::write_list;

use super::Report;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    match report.gated {
        true => writeln!(out, "### breakeven: {}\n", report.verdict.outcome)?,
        false => writeln!(out, "### breakeven\n")?,
    }
    report.comparison.write_markdown(out)?;
    let reasons = report.verdict.reasons.iter().map(ToString::to_string);
    write_list("Not passed", reasons.collect(), out)?;
    let sides = ["baseline", "current"].iter().zip(&report.sources);
    let sides = sides.map(|(side, source)| format!("{side}: {}", source.text()));
    write_list("Compared", sides.collect(), out)?;
    Ok(())
}
