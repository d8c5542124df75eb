//! Batches that an executor ran: what was decided and by what, where the tasks
//! ran, what fell back, predicted and actual time.

use std::iter;

use breakeven_judge::Row as Judged;
use breakeven_judge::page::figures::{plural, share, time};
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::profile::{Device, Executions, Fallback};
use breakeven_profile::unit;

use super::Report;

/// The executions of one operation on one device.
struct Batches<'r> {
    row: &'r Judged,
    record: &'r Executions,
}

impl Batches<'_> {
    fn cpu_tasks(&self) -> Option<u64> {
        Some(self.record.tasks?.saturating_sub(self.record.gpu_tasks?))
    }

    /// Tasks with their part of the batch.
    fn side(&self, tasks: Option<u64>) -> String {
        match (tasks, self.record.tasks) {
            (Some(tasks), Some(all)) if tasks > 0 && all > 0 => {
                format!("{tasks} {}", share(tasks as f64 / all as f64))
            }
            (Some(tasks), _) => tasks.to_string(),
            (None, _) => unit::UNKNOWN.to_owned(),
        }
    }

    fn median(&self) -> Option<f64> {
        self.row.summary.map(|summary| summary.median)
    }

    /// The prediction, and how much more or less it took.
    fn predicted(&self) -> String {
        let Some(predicted) = self.record.predicted_ns.filter(|ns| *ns > 0.0) else {
            return unit::UNKNOWN.to_owned();
        };
        // What fell back did not run as predicted.
        let as_decided = self.median().filter(|_| self.record.errors().is_empty());
        let off = as_decided.map_or_else(String::new, |median| {
            format!(
                " {}",
                unit::change(median / predicted - 1.0).replace(' ', "")
            )
        });
        time(predicted) + &off
    }

    /// The figures of the table: tasks of each side, median, prediction.
    fn figures(&self) -> [String; 4] {
        [
            self.side(self.record.gpu_tasks),
            self.side(self.cpu_tasks()),
            self.median().map_or_else(|| unit::UNKNOWN.to_owned(), time),
            self.predicted(),
        ]
    }

    /// `card 30 47%, card#2 34 53%`: where there are several GPUs.
    fn by_device(&self, report: &Report) -> Option<String> {
        let each = self.record.device_tasks.iter();
        // A GPU that had nothing is named: it was planned to have a share.
        let each = each.filter(|(id, tasks)| *id != Device::CPU || **tasks > 0);
        let each =
            each.map(|(id, tasks)| format!("{} {}", report.label(id), self.side(Some(*tasks))));
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("tasks: {}", each.join(", ")))
    }

    /// How many there were, what decided them, and why the last one.
    fn how(&self) -> String {
        let decisions = self.record.decisions();
        let counts = decisions.iter().map(|(_, count)| *count);
        let all = counts.fold(0, u64::saturating_add);
        let decided = match &decisions[..] {
            [] => return "as asked".to_owned(),
            [(by, _)] if self.record.decided_by.is_empty() => {
                format!("the last one {}", in_words(by))
            }
            [(by, count)] => format!("{}, {}", plural(*count, "execution"), in_words(by)),
            several => {
                let each = several.iter();
                let each = each.map(|(by, count)| format!("{count} {}", in_words(by)));
                let each = each.collect::<Vec<_>>().join(", ");
                format!("{}: {each}; the last one", plural(all, "execution"))
            }
        };
        // Who asked needs no reason.
        let asked = |(by, _): &(&str, u64)| matches!(*by, "asked" | "operator");
        match &self.record.why {
            Some(why) if !decisions.iter().all(asked) => format!("{decided}: {why}"),
            _ => decided,
        }
    }
}

/// What fell back; the last error if not all are reported.
fn fell_back(report: &Report, record: &Executions) -> Vec<String> {
    let of = |fallback: &Fallback| {
        let Fallback { error, tasks, .. } = fallback;
        let executions = plural(fallback.executions, "execution");
        let device = fallback.device.as_ref().map(|id| report.label(id));
        match tasks {
            // Smaller launches went well, or it was done without the GPU.
            0 => {
                let on = device.map_or_else(String::new, |id| format!(" on {id}"));
                format!("no task fell back; reported{on} in {executions}: {error}")
            }
            tasks => {
                let from = device.map_or_else(String::new, |id| format!(" from {id}"));
                let tasks = plural(*tasks, "task");
                format!("{tasks} fell back{from} to the CPU in {executions}: {error}")
            }
        }
    };
    match (&record.fallbacks[..], &record.device_error) {
        ([], Some(error)) => vec![format!("the last error of the GPU: {error}")],
        (all, _) => all.iter().map(of).collect(),
    }
}

fn in_words(decided_by: &str) -> &str {
    match decided_by {
        "asked" => "as asked",
        "operator" => "by BREAKEVEN_STRATEGY",
        "resident" => "where the inputs are",
        "rule" => "by the rule",
        "model" => "by the cost model",
        "exploration" => "to try the other device",
        other => other,
    }
}

/// Adds the table of executions, where there are any.
pub(super) fn add(report: &Report, page: &mut Page) {
    let rows = report.overview.rows.iter().filter_map(|row| {
        let record = row.executions.as_ref()?;
        Some(Batches { row, record })
    });
    let rows = rows.map(|each| {
        let label = report.label(&each.row.key.device);
        let cells = [label, each.record.strategy().to_owned()].into_iter();
        let fallbacks = fell_back(report, each.record).into_iter();
        let fallbacks = fallbacks.map(|text| Text::new(text, Tone::Warning));
        let by_device = each.by_device(report).into_iter();
        Row {
            group: each.row.title(),
            notes: (by_device.map(Text::from))
                .chain(iter::once(Text::new(each.how(), Tone::Faint)))
                .chain(fallbacks)
                .collect(),
            ..Row::new(cells.chain(each.figures()))
        }
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Executions");
    let heads = ["GPU tasks", "CPU tasks", "median", "predicted"];
    page.table(Table {
        groups: "operation".to_owned(),
        columns: [
            Column::words("", Column::KEPT),
            Column::words("strategy", Column::KEPT),
        ]
        .into_iter()
        .chain(heads.map(|head| Column::figures(head, Column::KEPT)))
        .collect(),
        rows,
    });
}
