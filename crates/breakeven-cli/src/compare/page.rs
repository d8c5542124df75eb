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
    let mut said = format!(
        "{}: {} to {}",
        operation.change_type,
        value(operation.judged.baseline_value),
        value(operation.judged.current_value)
    );
    let test = operation.judged.interval.map(|_| {
        let (interval, p) = (operation.judged.interval_text(), operation.judged.p_text());
        format!("({interval}), p {p}")
    });
    let mut change = operation.judged.change_text();
    if report.comparison.relative_to_common_shift && !change.is_empty() {
        change += " relative to the common shift";
    }
    let limit = report.comparison.limit_text(operation);
    let parts = [
        (", ", change),
        (" ", test.unwrap_or_default()),
        ("; ", operation.judged.note_text()),
        ("; ", limit.unwrap_or_default()),
    ];
    for (before, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
        said.push_str(before);
        said.push_str(part);
    }
    said
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
