//! A comparison as a page, and its figures in words for every format: what changed most first,
//! what did not change only counted.

use std::io::{self, Write};

use breakeven_profile::unit;

use super::comparison::{
    Change, ChangeType, ComparisonSummary, Method, NotTested, OperationComparison,
    ProfilerComparison,
};
use crate::budget::{Held, Standing};
use crate::page::figures::plural;
use crate::page::{Column, Page, Row, Table, Text, Tone, WIDTH};

impl ProfilerComparison {
    /// Builds the page: verdicts, budgets, warnings.
    pub fn page(&self) -> Page {
        let mut page = Page::default();
        if let Some(shift) = self.shift_text() {
            page.say(Text::new(shift, Tone::Warning));
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
        let warnings = self.warnings.iter().map(ToString::to_string);
        page.list(Text::new("Warnings", Tone::Warning), warnings);
        if let Some(text) = self.undecided_text() {
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
            let suspected = "changed by more than its samples vary".to_owned();
            // One warning for all operations already says that there are too few runs.
            let is_reported = row.judged.method == Method::NotTested(NotTested::FewRuns);
            let note = (!is_reported).then(|| row.judged.note_text());
            let notes = (note.into_iter())
                .chain(self.limit_text(row))
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

/// Runs per side that are practical.
const MOST_TO_MAKE: u64 = 100;

/// The step of the clock hides the change.
const STEP: &str = "more runs would not decide it";

impl ProfilerComparison {
    /// The metric, threshold, and error rate of the verdicts, in one line.
    pub fn how_text(&self) -> String {
        let relative = match self.relative_to_common_shift {
            true => " relative to the common shift",
            false => "",
        };
        let mut judged = self.operations.iter().map(|each| &each.judged);
        let test = match judged.any(|each| each.method == Method::PlainThreshold) {
            true => "without a test".to_owned(),
            false => format!(
                "false alarms {}, corrected by Benjamini–Hochberg",
                unit::percent(self.alpha)
            ),
        };
        let threshold = unit::percent(self.threshold);
        format!(
            "by {}{relative}, threshold {threshold}, {test}",
            self.metric
        )
    }

    /// The operation's own limit, in words, if it replaced the threshold.
    pub fn limit_text(&self, operation: &OperationComparison) -> Option<String> {
        let limit = operation.judged.threshold;
        (limit != self.threshold).then(|| format!("its limit is {}", unit::percent(limit)))
    }

    /// The common shift, and its usual cause.
    pub fn shift_text(&self) -> Option<String> {
        let shift = self.common_shift?;
        let change = unit::change(shift.ratio - 1.0);
        let (operations, of) = (shift.operations, shift.of);
        Some(match self.relative_to_common_shift {
            true => format!(
                "{operations} of {of} operations changed by about {change}; the changes below \
                 are relative to that, the values are as measured"
            ),
            false => format!(
                "{operations} of {of} operations changed by about {change}. A change of the \
                 program seldom does that: look for another machine, clock speed, load, toolchain \
                 or setting, or judge the changes relative to it"
            ),
        })
    }

    /// Why operations are undecided although they were tested: the noise, the threshold that these
    /// runs could decide, below which changes may be hidden, and the runs that would be needed.
    pub fn undecided_text(&self) -> Option<String> {
        let all = self.operations.iter().map(|each| &each.judged);
        let undecided = all
            .filter(|each| each.change_type == ChangeType::Inconclusive && each.interval.is_some());
        let undecided: Vec<&Change> = undecided.collect();
        let intervals = undecided.iter().filter_map(|each| each.interval);
        let from = intervals.map(|[lower, upper]| lower.ln().abs().max(upper.ln().abs()).exp_m1());
        let from = from.reduce(f64::max)?;
        // Rounded up, so that the printed threshold suffices; 100 % is the largest.
        let decides = match (from * 1e3).ceil() / 10.0 {
            percent @ ..=100.0 => format!(
                "These runs decide at a threshold of {percent} %, which hides smaller changes. "
            ),
            _ => String::new(),
        };
        let noise = undecided.iter().filter_map(|each| each.noise);
        let noise = unit::percent(noise.fold(0.0, f64::max));
        let runs = undecided.iter().filter_map(|each| each.runs_needed).max();
        let runs = runs.map(runs_text).unwrap_or_else(|| STEP.to_owned());
        let (count, of) = (undecided.len(), self.operations.len());
        let threshold = unit::percent(self.threshold);
        Some(format!(
            "{count} of {} undecided: runs differ by up to {noise}. {decides}At {threshold}, {runs}",
            plural(of as u64, "operation")
        ))
    }

    /// Name of the interval: `95 % interval`.
    pub fn level_text(&self) -> String {
        // Ten digits remove the rounding error of the subtraction.
        let percent = ((1.0 - self.alpha) * 1e12).round() / 1e10;
        format!("{percent} % interval")
    }
}

impl Change {
    /// The change of the judged metric, `+16.7 %`; from or to zero in words.
    pub fn change_text(&self) -> String {
        match (self.ratio, self.baseline_value, self.current_value) {
            (Some(ratio), ..) => unit::change(ratio - 1.0),
            (None, Some(0.0), Some(0.0)) => unit::change(0.0),
            (None, Some(0.0), Some(_)) => "from zero".to_owned(),
            (None, Some(_), Some(0.0)) => "to zero".to_owned(),
            _ => String::new(),
        }
    }

    /// The interval of the change, `+14.1 % to +19.2 %`; empty without a test.
    pub fn interval_text(&self) -> String {
        self.interval.map_or_else(String::new, |[lower, upper]| {
            format!(
                "{} to {}",
                unit::change(lower - 1.0),
                unit::change(upper - 1.0)
            )
        })
    }

    /// The corrected p-value, `0.0312` or `<0.0001`; empty without a test.
    pub fn p_text(&self) -> String {
        match self.adjusted_p_value {
            None => String::new(),
            Some(p) if p < 0.000_1 => "<0.0001".to_owned(),
            Some(p) => format!("{p:.4}"),
        }
    }

    /// A remark on the verdict: how many runs would decide it, why there is none, or how it was
    /// found without a test. May be empty.
    pub fn note_text(&self) -> String {
        match (self.method, self.change_type, self.runs_needed) {
            (_, ChangeType::New | ChangeType::Removed, _) => String::new(),
            (Method::NotTested(why), _, Some(runs)) => format!("{why}; make at least {runs}"),
            (Method::Test(_), ChangeType::Inconclusive, Some(runs)) => runs_text(runs),
            (Method::Test(_), ChangeType::Inconclusive, None) => STEP.to_owned(),
            (Method::Test(_), ..) => String::new(),
            (method, ..) => method.to_string(),
        }
    }

    /// A remark next to another metric: `memory 512 KiB to 1 MiB, +100.0 %: worse`.
    pub fn beside_text(&self) -> String {
        // The words of a verdict would contradict a gate that passes.
        let kind = match self.change_type {
            ChangeType::Regression => "worse",
            ChangeType::Improvement => "better",
            _ => "undecided",
        };
        let value = |value: Option<f64>| value.map_or_else(String::new, |v| self.metric.text(v));
        format!(
            "{} {} to {}, {}: {kind}",
            self.metric,
            value(self.baseline_value),
            value(self.current_value),
            self.change_text()
        )
    }
}

/// The number of runs that an inconclusive operation needs, in words.
pub(crate) fn runs_text(runs: u64) -> String {
    let unit = match runs <= MOST_TO_MAKE {
        true => 1.0,
        false => 10_f64.powf((runs as f64).log10().floor() - 1.0),
    };
    let about = unit::count((runs as f64 / unit).round() * unit);
    format!("about {about} runs per side would be needed")
}

impl ComparisonSummary {
    /// The counts that are not zero: `1 regression, 7 unchanged`.
    pub fn text(&self) -> String {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (worse, better) = (self.regressions_count, self.improvements_count);
        let unchanged = self.no_change_count.saturating_sub(self.worse_mean_count);
        let counts = [
            (worse, format!("regression{}", plural(worse))),
            (better, format!("improvement{}", plural(better))),
            (self.inconclusive_count, "inconclusive".to_owned()),
            (unchanged, "unchanged".to_owned()),
            (self.worse_mean_count, "with a worse mean alone".to_owned()),
            (self.new_count, "new".to_owned()),
            (self.removed_count, "removed".to_owned()),
            (self.left_out_count, "left out".to_owned()),
        ];
        let named: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let mut text = named.join(", ");
        if self.suspected_count > 0 {
            let count = self.suspected_count;
            text += &format!("; {count} may have changed: too few runs for a verdict");
        }
        if self.changed_beside_count > 0 {
            let count = self.changed_beside_count;
            text += &format!("; {count} changed in mean, memory, allocations or calls");
        }
        text
    }
}
