//! Prints a comparison, one function per format.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::{Compared, Hint, OperationComparison};

/// The flag for what a page reports.
pub(crate) fn flag(hint: Hint) -> Option<&'static str> {
    Some(match hint {
        Hint::CommonShift => "--relative judges the changes relative to the common shift",
        Hint::Missing => "--allow-missing lets it pass",
        Hint::MeanAlone => "--strict fails on it, --metric mean judges it",
        Hint::Undecided => "--require-decided fails the gate (code 3) while one is undecided",
    })
}

/// The verdict on an operation, in one line.
pub(super) fn said(report: &Compared, operation: &OperationComparison) -> String {
    let value = |value: Option<f64>| {
        value.map_or_else(|| "none".to_owned(), |v| report.comparison.metric.text(v))
    };
    let mut said = vec![format!(
        "{}: {} to {}",
        operation.change_type,
        value(operation.judged.baseline_value),
        value(operation.judged.current_value)
    )];
    let mut change = operation.judged.change_text();
    if report.comparison.relative_to_common_shift && !change.is_empty() {
        change += " relative to the common shift";
    }
    if operation.judged.interval.is_some() {
        let (interval, p) = (operation.judged.interval_text(), operation.judged.p_text());
        change += &format!(" ({interval}), p {p}");
    }
    said.extend([change, operation.judged.note_text()]);
    said.extend(report.comparison.limit_text(operation));
    said.retain(|part| !part.is_empty());
    said.join("; ")
}

/// Prints the page for a terminal.
pub(super) fn table(report: &Compared, out: &mut dyn Write) -> Result<()> {
    crate::print::print(&report.page(flag), out)
}

/// Prints the page as Markdown.
pub(super) fn markdown(report: &Compared, out: &mut dyn Write) -> Result<()> {
    match report.gated {
        true => writeln!(out, "### breakeven: {}\n", report.verdict.outcome)?,
        false => writeln!(out, "### breakeven\n")?,
    }
    Ok(report.page(flag).markdown(out)?)
}
