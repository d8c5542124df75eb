//! Batches that an executor ran: what was decided and by what, where the tasks
//! ran, what fell back, predicted and actual time.

use breakeven_judge::Row as Judged;
use breakeven_judge::page::figures::{plural, share, time};
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::profile::{Device, Executions, Fallback};
use breakeven_profile::unit;

use super::Report;

/// Adds the table of executions, where there are any.
pub(super) fn add(report: &Report, page: &mut Page) {
    let rows = report.overview.rows.iter();
    let rows = rows.filter_map(|row| Some(line(report, row, row.executions.as_ref()?)));
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Executions");
    let heads = ["GPU tasks", "CPU tasks", "median", "predicted"];
    let mut columns = vec![
        Column::words("", Column::KEPT),
        Column::words("strategy", Column::KEPT),
    ];
    columns.extend(heads.map(|head| Column::figures(head, Column::KEPT)));
    page.table(Table {
        groups: "operation".to_owned(),
        columns,
        rows,
    });
}

fn line(report: &Report, row: &Judged, record: &Executions) -> Row {
    let (tasks, on_gpus) = (record.tasks, record.gpu_tasks);
    let on_cpu = tasks.zip(on_gpus).map(|(all, gpu)| all.saturating_sub(gpu));
    let median = row.summary.map(|summary| summary.median);
    let mut notes = Vec::new();
    // A GPU that had nothing is named: it was planned to have a share.
    let each = record.device_tasks.iter();
    let each = each.filter(|(id, tasks)| *id != Device::CPU || **tasks > 0);
    let each: Vec<String> = each
        .map(|(id, tasks)| format!("{} {}", report.label(id), side(record, Some(*tasks))))
        .collect();
    if !each.is_empty() {
        notes.push(format!("tasks: {}", each.join(", ")).into());
    }
    notes.push(Text::new(how(record), Tone::Faint));
    let fallbacks = fell_back(report, record).into_iter();
    notes.extend(fallbacks.map(|text| Text::new(text, Tone::Warning)));
    Row {
        group: row.title(),
        notes,
        ..Row::new([
            report.label(&row.key.device),
            record.strategy().to_owned(),
            side(record, on_gpus),
            side(record, on_cpu),
            median.map_or_else(|| unit::UNKNOWN.to_owned(), time),
            predicted(record, median),
        ])
    }
}

/// Tasks with their part of the batch.
fn side(record: &Executions, tasks: Option<u64>) -> String {
    match (tasks, record.tasks) {
        (Some(tasks), Some(all)) if tasks > 0 && all > 0 => {
            format!("{tasks} {}", share(tasks as f64 / all as f64))
        }
        (Some(tasks), _) => tasks.to_string(),
        (None, _) => unit::UNKNOWN.to_owned(),
    }
}

/// The prediction, and how much more or less it took.
fn predicted(record: &Executions, median: Option<f64>) -> String {
    let Some(predicted) = record.predicted_ns.filter(|ns| *ns > 0.0) else {
        return unit::UNKNOWN.to_owned();
    };
    match median {
        // What fell back did not run as predicted.
        Some(median) if record.errors().is_empty() => {
            let off = unit::change(median / predicted - 1.0).replace(' ', "");
            format!("{} {off}", time(predicted))
        }
        _ => time(predicted),
    }
}

/// How many there were, what decided them, and why the last one.
fn how(record: &Executions) -> String {
    let decisions = record.decisions();
    let each = decisions.iter().map(|(by, count)| {
        let by = match *by {
            "asked" => "as asked",
            "operator" => "by BREAKEVEN_STRATEGY",
            "resident" => "where the inputs are",
            "rule" => "by the rule",
            "model" => "by the cost model",
            "exploration" => "to try the other device",
            other => other,
        };
        match record.decided_by.is_empty() {
            // Of the last one, and no more is known.
            true => by.to_owned(),
            false => format!("{}, {by}", plural(*count, "execution")),
        }
    });
    let how = each.collect::<Vec<_>>().join("; ");
    // Who asked needs no reason.
    let asked = |(by, _): &(&str, u64)| matches!(*by, "asked" | "operator");
    match (&record.why, decisions.len()) {
        (_, 0) => "as asked".to_owned(),
        (Some(why), 1) if !decisions.iter().all(asked) => format!("{how}: {why}"),
        (Some(why), 2..) => format!("{how}; the last one: {why}"),
        _ => how,
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
