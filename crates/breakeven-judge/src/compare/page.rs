//! A comparison as a page: the largest changes first; unchanged operations are only counted.

use std::io::{self, Write};

use breakeven_profile::unit;

use super::change::{Change, ChangeType};
use super::comparison::{OperationComparison, ProfilerComparison};
use super::method::{Method, NotTested};
use super::warning::Warning;
use crate::budget::{Held, Standing};
use crate::page::{Column, Page, Row, Table, Text, Tone, WIDTH};

impl ProfilerComparison {
    /// Builds the page: verdicts, budgets, warnings.
    pub fn page(&self) -> Page {
        let mut page = Page::default();
        if let Some(shift) = self.shift_text() {
            page.say(Text::new(shift, Tone::Warning));
        }
        let is_first = |warning: &&Warning| matches!(warning, Warning::NotInTurns { .. });
        for warning in self.warnings.iter().filter(is_first) {
            page.say(Text::new(warning.to_string(), Tone::Warning));
        }
        let rows = self.by_weight().into_iter();
        let changed = rows.filter(|row| {
            row.change_type != ChangeType::NoChange || row.changed_beside().next().is_some()
        });
        page.table(self.table(changed));
        if !self.budgets.is_empty() {
            page.heading("Budgets");
        }
        page.table(Standing::table(
            self.budgets.iter().map(|held| (held.name(), held.held)),
        ));
        let warnings = self.warnings.iter().filter(|warning| !is_first(warning));
        let warnings = warnings.map(ToString::to_string);
        page.list(Text::new("Warnings", Tone::Warning), warnings);
        if let Some(text) = self.decided_from_text() {
            page.aside(text);
        }
        page
    }

    /// Prints the number of operations per verdict, and the warnings.
    pub fn print_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let summary = self.get_summary();
        let mut page = Page::default();
        page.say(format!(
            "{} operation(s) compared by {}, threshold {}: {}",
            summary.operations_count,
            self.metric,
            unit::percent(self.threshold),
            summary.text()
        ));
        for warning in &self.warnings {
            page.say(format!("warning: {warning}"));
        }
        page.text(WIDTH, false, out)
    }

    /// Prints the regressions, the largest first, at most `top_n`.
    pub fn print_regressions(&self, top_n: usize, out: &mut dyn Write) -> io::Result<()> {
        self.print_table("regressions", self.get_regressions(top_n), out)
    }

    /// Prints the improvements, the largest first, at most `top_n`.
    pub fn print_improvements(&self, top_n: usize, out: &mut dyn Write) -> io::Result<()> {
        self.print_table("improvements", self.get_improvements(top_n), out)
    }

    fn print_table(
        &self,
        what: &str,
        rows: Vec<&OperationComparison>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut page = Page::default();
        if rows.is_empty() {
            let summary = self.get_summary();
            page.say(match summary.inconclusive_count {
                0 => format!("no {what}"),
                // If nothing is decided, there may well be regressions.
                n => format!(
                    "no {what} found; {n} of {} operation(s) are inconclusive",
                    summary.operations_count
                ),
            });
        }
        page.table(self.table(rows.into_iter()));
        page.text(WIDTH, false, out)
    }

    fn table<'c>(&self, rows: impl Iterator<Item = &'c OperationComparison>) -> Table {
        let rows = rows.map(|row| {
            let value =
                |value: Option<f64>| value.map_or_else(String::new, |v| row.judged.metric.text(v));
            let suspected = "changed by more than the samples differ".to_owned();
            // One warning for all operations already says that there are too few runs.
            let is_told = row.judged.method == Method::NotTested(NotTested::FewRuns);
            let note = (!is_told).then(|| row.judged.note_text());
            let notes = (note.into_iter())
                .chain(row.is_suspected.then_some(suspected))
                .chain(row.changed_beside().map(Change::beside_text));
            let notes = notes.filter(|note| !note.is_empty());
            Row {
                group: Text::new(row.change_type.to_string(), tone(row.change_type)),
                notes: notes.map(|note| Text::new(note, Tone::Faint)).collect(),
                ..Row::new([
                    row.name(),
                    value(row.judged.baseline_value),
                    value(row.judged.current_value),
                    row.judged.change_text(),
                    row.judged.interval_text(),
                    row.judged.p_text(),
                    format!("{} → {}", row.baseline_runs, row.current_runs),
                ])
            }
        });
        let change = match self.relative_to_common_shift {
            true => "relative change",
            false => "change",
        };
        let figures = |head: &str, weight| Column::figures(head, weight);
        Table {
            groups: "verdict".to_owned(),
            columns: vec![
                Column::words("operation", Column::KEPT),
                figures("baseline", Column::KEPT),
                figures("current", Column::KEPT),
                figures(change, Column::KEPT),
                figures(&self.level_text(), 3),
                figures("p", 2),
                figures("runs", 1),
            ],
            rows: rows.collect(),
        }
    }
}

impl Standing {
    /// A table of operations with their verdicts.
    pub fn table(held: impl Iterator<Item = (String, Held)>) -> Table {
        let rows = held.map(|(who, held)| {
            let tone = match held.standing {
                Self::Within => Tone::Good,
                Self::Near => Tone::Warning,
                Self::Over => Tone::Bad,
            };
            Row::new([
                who.into(),
                Text::new(held.standing.to_string(), tone),
                held.limited.to_string().into(),
                Text::from(unit::percent(held.value / held.max)),
                held.limited.text(held.max).into(),
            ])
        });
        Table {
            columns: vec![
                Column::words("operation", Column::KEPT),
                Column::words("stands", Column::KEPT),
                Column::words("by", Column::KEPT),
                Column::figures("uses", Column::KEPT),
                Column::figures("of", Column::KEPT),
            ],
            rows: rows.collect(),
            ..Table::default()
        }
    }
}

fn tone(kind: ChangeType) -> Tone {
    match kind {
        ChangeType::Regression => Tone::Bad,
        ChangeType::Improvement => Tone::Good,
        ChangeType::Inconclusive | ChangeType::Removed => Tone::Warning,
        ChangeType::New | ChangeType::NoChange => Tone::Strong,
    }
}
