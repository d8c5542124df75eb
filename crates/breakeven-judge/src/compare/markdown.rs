//! A comparison as Markdown, for a report or the step summary of a CI job.

use std::io::{self, Write};

use breakeven_profile::unit;

use super::comparison::{ChangeType, OperationComparison, ProfilerComparison};
use super::metric::Metric;
use crate::budget::Standing;

/// Rows of a table. With names and texts cut as below, tables and lists stay
/// under 600 KB: a step summary of GitHub may have 1 MiB.
const MOST_ROWS: usize = 300;

/// Lines of a list.
const MOST_LINES: usize = 50;

/// Characters of a name or a text, before they are escaped.
const MOST_NAME: usize = 120;
const MOST_TEXT: usize = 400;

impl ProfilerComparison {
    /// Writes the comparison as Markdown: what changed most first, what did not
    /// change only counted. Long tables are cut, with a count; regressions come
    /// first and are cut last.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "**{}**, {}",
            self.get_summary().text(),
            self.how_text()
        )?;
        let rows: Vec<&OperationComparison> = self
            .by_weight()
            .into_iter()
            .filter(|operation| operation.change_type != ChangeType::NoChange)
            .collect();
        if !rows.is_empty() {
            writeln!(
                out,
                "\n| verdict | operation | baseline | current | change | {} | p | runs | |",
                self.level_text()
            )?;
            writeln!(out, "|---|---|--:|--:|--:|--:|--:|--:|---|")?;
        }
        for operation in rows.iter().take(MOST_ROWS) {
            writeln!(out, "{}", row(operation, self.metric))?;
        }
        if rows.len() > MOST_ROWS {
            writeln!(out, "\n… and {} more", rows.len() - MOST_ROWS)?;
        }
        let budgets = self
            .budgets
            .iter()
            .filter(|held| held.standing != Standing::Within)
            .map(|held| {
                let used = unit::percent(held.mean_ns / held.max_ns);
                format!("{}: {}, {used}", held.name(), held.standing)
            });
        write_list("Budgets", budgets.collect(), out)?;
        let warnings = self.warnings.iter().map(ToString::to_string).collect();
        write_list("Warnings", warnings, out)
    }
}

/// Writes a titled list of texts, escaped and cut, with a count of what is left out.
///
/// # Errors
///
/// Those of the writer.
pub fn write_list(title: &str, lines: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n**{title}**\n")?;
    for line in lines.iter().take(MOST_LINES) {
        writeln!(out, "- {}", escaped(line, MOST_TEXT))?;
    }
    if lines.len() > MOST_LINES {
        writeln!(out, "- … and {} more", lines.len() - MOST_LINES)?;
    }
    Ok(())
}

fn row(operation: &OperationComparison, metric: Metric) -> String {
    let value = |value: Option<f64>| value.map_or_else(String::new, |value| metric.text(value));
    let mut notes = vec![operation.note_text()];
    notes.extend(operation.beside_text(metric));
    notes.retain(|note| !note.is_empty());
    let verdict = match operation.change_type {
        ChangeType::Regression => "**REGRESSION**".to_owned(),
        other => other.to_string(),
    };
    let cells = [
        verdict,
        escaped(&operation.name(), MOST_NAME),
        value(operation.baseline_value),
        value(operation.current_value),
        operation.change_text(),
        operation.interval_text(),
        escaped(&operation.p_text(), MOST_NAME),
        format!("{} → {}", operation.baseline_runs, operation.current_runs),
        escaped(&notes.join("; "), MOST_TEXT),
    ];
    format!("| {} |", cells.join(" | "))
}

/// Text that stays text and stays in its cell, at most `most` characters of it.
fn escaped(text: &str, most: usize) -> String {
    let mut escaped = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == most {
            escaped.push('…');
            break;
        }
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_cell() {
        assert_eq!(escaped("a|b\n<c>&`d`", 99), r"a\|b &lt;c&gt;&amp;\`d\`");
        assert_eq!(escaped("[x](y) *z* _w_", 99), r"\[x\](y) \*z\* \_w\_");
        assert_eq!(escaped("abcdef", 3), "abc…");
    }
}
