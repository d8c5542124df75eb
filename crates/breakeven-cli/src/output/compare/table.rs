//! For people, 100 columns: what became worse first, what did not change only
//! counted.

use std::io::Write;

use anstyle::Style;
use anyhow::Result;
use breakeven_judge::{ChangeType, OperationComparison, Outcome, ProfilerComparison, Standing};
use breakeven_profile::unit;

use super::Report;
use crate::output::table::TABLE;
use crate::output::text::{
    BAD, BOLD, FAINT, GOOD, WARNING, clipped, clipped_middle, left, right, styled, wrapped,
};

/// Columns of the name and of the figures after it.
const NAME: usize = 42;
const WIDTHS: [usize; 5] = [10, 10, 10, 20, 8];

/// Rows of a section, and lines of a list, before the rest is only counted.
const MOST_ROWS: usize = 200;
const MOST_LINES: usize = 20;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let comparison = &report.comparison;
    for (side, source) in ["baseline", "current"].iter().zip(&report.sources) {
        let line = format!("{} {}", left(side, 8), source.text());
        writeln!(out, "{}", clipped(&line, TABLE))?;
    }
    writeln!(out, "{}", styled(&comparison.how_text(), FAINT))?;
    write_rows(comparison, out)?;
    write_budgets(comparison, out)?;
    let warnings: Vec<String> = comparison
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    write_list("Warnings", &warnings, WARNING, out)?;
    let reasons: Vec<String> = report
        .verdict
        .reasons
        .iter()
        .map(ToString::to_string)
        .collect();
    write_list("Not passed", &reasons, BAD, out)?;
    writeln!(out)?;
    write!(out, "{}", styled(&comparison.get_summary().text(), BOLD))?;
    match report.gated {
        true => writeln!(out, "; gate {}", outcome(report.verdict.outcome))?,
        false => writeln!(out)?,
    }
    Ok(())
}

fn outcome(outcome: Outcome) -> String {
    let style = match outcome {
        Outcome::Passed => GOOD,
        Outcome::Inconclusive => WARNING,
        Outcome::Mismatched | Outcome::Failed => BAD,
    };
    styled(&outcome.to_string(), style)
}

fn write_rows(comparison: &ProfilerComparison, out: &mut dyn Write) -> Result<()> {
    let rows: Vec<&OperationComparison> = comparison
        .by_weight()
        .into_iter()
        .filter(|row| row.change_type != ChangeType::NoChange)
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let level = comparison.level_text();
    let heads = ["baseline", "current", "change", &level, "p"].map(str::to_owned);
    writeln!(out, "\n{}", styled(&line("", &heads), FAINT))?;
    for section in rows.chunk_by(|a, b| a.change_type == b.change_type) {
        let kind = section[0].change_type;
        writeln!(out, "{}", styled(&kind.to_string(), style(kind)))?;
        for row in section.iter().take(MOST_ROWS) {
            write_row(row, comparison, out)?;
        }
        if section.len() > MOST_ROWS {
            writeln!(out, "… and {} more", section.len() - MOST_ROWS)?;
        }
    }
    Ok(())
}

fn style(kind: ChangeType) -> Style {
    match kind {
        ChangeType::Regression => BAD,
        ChangeType::Improvement => GOOD,
        ChangeType::Inconclusive | ChangeType::Removed => WARNING,
        ChangeType::New | ChangeType::NoChange => BOLD,
    }
}

fn write_row(
    row: &OperationComparison,
    comparison: &ProfilerComparison,
    out: &mut dyn Write,
) -> Result<()> {
    let metric = comparison.metric;
    let value = |value: Option<f64>| value.map_or_else(String::new, |value| metric.text(value));
    let cells = [
        value(row.baseline_value),
        value(row.current_value),
        row.change_text(),
        row.interval_text().replace(" %", "%"),
        row.p_text(),
    ];
    writeln!(out, "{}", line(&row.name(), &cells))?;
    let mut notes = vec![row.note_text()];
    notes.extend(row.beside_text(metric));
    for note in notes.iter().filter(|note| !note.is_empty()) {
        writeln!(out, "{}", styled(&format!("  {note}"), FAINT))?;
    }
    Ok(())
}

fn line(name: &str, cells: &[String; 5]) -> String {
    let mut line = left(&clipped_middle(name, NAME), NAME);
    for (cell, width) in cells.iter().zip(WIDTHS) {
        line.push_str(&right(&clipped(cell, width - 1), width));
    }
    line.trim_end().to_owned()
}

fn write_budgets(comparison: &ProfilerComparison, out: &mut dyn Write) -> Result<()> {
    if comparison.budgets.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled("Budgets", BOLD))?;
    for held in comparison.budgets.iter().take(MOST_ROWS) {
        let style = match held.standing {
            Standing::Within => GOOD,
            Standing::Near => WARNING,
            Standing::Over => BAD,
        };
        let name = left(&clipped_middle(&held.name(), 48), 48);
        let standing = styled(&left(&held.standing.to_string(), 7), style);
        let used = unit::percent(held.mean_ns / held.max_ns);
        writeln!(
            out,
            "{name} {standing} {used} of {}",
            unit::time(held.max_ns)
        )?;
    }
    if comparison.budgets.len() > MOST_ROWS {
        writeln!(out, "… and {} more", comparison.budgets.len() - MOST_ROWS)?;
    }
    Ok(())
}

fn write_list(title: &str, lines: &[String], style: Style, out: &mut dyn Write) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(title, style))?;
    for text in lines.iter().take(MOST_LINES) {
        for (index, part) in wrapped(text, TABLE - 2).iter().enumerate() {
            let indent = if index == 0 { "" } else { "  " };
            writeln!(out, "{indent}{}", clipped(part, TABLE - 2))?;
        }
    }
    if lines.len() > MOST_LINES {
        writeln!(out, "… and {} more", lines.len() - MOST_LINES)?;
    }
    Ok(())
}
