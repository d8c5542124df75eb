//! A table of every operation's figures, which sorts and filters. An opened row shows the
//! distribution of the operation's times.

use std::collections::HashMap;
use std::fmt::Write;

use breakeven_judge::page::{html, shown};
use breakeven_judge::{OperationComparison, Row};
use breakeven_profile::profile::{Operation, OperationKey};
use breakeven_profile::{stats::Summary, unit};
use serde::Serialize;

use crate::Report;
use crate::histogram::{Histogram, bins_for};
use crate::json::Number;
use crate::part::{MOST_NAME, MOST_TEXT, Part};

/// Most rows; the operations with the least time are omitted.
const MOST_ROWS: usize = 5_000;

/// A column of figures.
struct Column {
    /// The column's name in the page's address.
    key: &'static str,
    head: &'static str,
    /// Explanation of the column.
    about: &'static str,
    value: fn(&Row) -> Option<f64>,
    text: fn(f64) -> String,
}

fn figure(row: &Row, field: fn(&Summary) -> Option<f64>) -> Option<f64> {
    row.summary.as_ref().and_then(field)
}

/// Only shown if there are samples.
fn whole(row: &Row, value: f64) -> Option<f64> {
    row.summary.is_some().then_some(value)
}

#[expect(
    clippy::cast_sign_loss,
    reason = "casts saturate; sizes are not negative"
)]
fn bytes(value: f64) -> String {
    unit::bytes(value as u64)
}

#[rustfmt::skip]
const COLUMNS: [Column; 22] = [
    Column { key: "size", head: "size", about: "elements in one call's input", value: |row| row.key.size.map(|size| size as f64), text: unit::count },
    Column { key: "runs", head: "runs", about: "processes that measured it", value: |row| whole(row, row.runs as f64), text: unit::count },
    Column { key: "calls", head: "calls", about: "measured calls of all runs", value: |row| whole(row, row.calls as f64), text: unit::count },
    Column { key: "total", head: "total", about: "time of all calls", value: |row| whole(row, row.total_ns), text: unit::time },
    Column { key: "own", head: "own", about: "time of all calls without that of the operations inside", value: |row| whole(row, row.own_ns), text: unit::time },
    Column { key: "share", head: "share", about: "fraction of the profile's time, of own times", value: |row| whole(row, row.share_of_total), text: unit::percent },
    Column { key: "mean", head: "mean", about: "mean time of a call", value: |row| figure(row, |s| Some(s.mean)), text: unit::time },
    Column { key: "dev", head: "± dev", about: "standard deviation of the calls", value: |row| figure(row, |s| s.deviation), text: unit::time },
    Column { key: "min", head: "min", about: "shortest call", value: |row| figure(row, |s| Some(s.min)), text: unit::time },
    Column { key: "median", head: "median", about: "median of the calls", value: |row| figure(row, |s| Some(s.median)), text: unit::time },
    Column { key: "p95", head: "p95", about: "time that 95 % of the calls stay within", value: |row| figure(row, |s| Some(s.p95)), text: unit::time },
    Column { key: "p99", head: "p99", about: "time that 99 % of the calls stay within", value: |row| figure(row, |s| Some(s.p99)), text: unit::time },
    Column { key: "max", head: "max", about: "longest call", value: |row| figure(row, |s| Some(s.max)), text: unit::time },
    Column { key: "cv", head: "CV", about: "standard deviation as a fraction of the mean", value: |row| figure(row, |s| s.cv), text: unit::percent },
    Column { key: "rate", head: "call/s", about: "calls per second at the mean", value: |row| row.calls_per_s, text: unit::per_s },
    Column { key: "memory", head: "memory", about: "memory that a call holds at its peak", value: |row| row.memory_bytes.map(|bytes| bytes as f64), text: bytes },
    Column { key: "energy", head: "J/call", about: "energy of a call, idle power included", value: |row| row.joules_per_call, text: unit::joules },
    Column { key: "gpu", head: "GPU use", about: "fraction of the GPU's units that a call keeps busy", value: |row| row.gpu_use, text: unit::percent },
    Column { key: "bandwidth", head: "bandwidth", about: "bytes per second at the median", value: |row| row.roofline.bytes_per_s, text: unit::bytes_per_s },
    Column { key: "bandwidth-share", head: "of peak", about: "bandwidth as a fraction of the device's measured peak", value: |row| row.roofline.bytes_share, text: unit::percent },
    Column { key: "arithmetic", head: "arithmetic", about: "floating-point operations per second at the median", value: |row| row.roofline.flops_per_s, text: unit::flops_per_s },
    Column { key: "arithmetic-share", head: "of peak", about: "arithmetic as a fraction of the device's measured peak", value: |row| row.roofline.flops_share, text: unit::percent },
];

/// The rows and columns for the script, as in the table.
#[derive(Serialize)]
struct Data {
    columns: Vec<&'static str>,
    values: Vec<Vec<Number>>,
    facts: Vec<Vec<[String; 2]>>,
    histograms: Vec<Option<Histogram>>,
}

pub(crate) fn part(report: &Report<'_>) -> Part {
    let mut part = Part::new("operations", "Operations");
    let all = &report.overview.rows;
    if all.is_empty() {
        part.say("The profile holds no operations.");
        return part;
    }
    let shown_rows = largest(all);
    let left_out = all.len() - shown_rows.len();
    if left_out > 0 {
        part.say(&format!(
            "The {MOST_ROWS} operations that take most of the time; {left_out} are left out here, \
             and breakeven show has them."
        ));
    }
    let columns = COLUMNS.iter();
    let has_value = |column: &&Column| all.iter().any(|row| (column.value)(row).is_some());
    let columns: Vec<&Column> = columns.filter(has_value).collect();
    let verdicts: HashMap<&OperationKey, &OperationComparison> = report
        .comparison
        .iter()
        .flat_map(|comparison| &comparison.operations)
        .map(|operation| (&operation.key, operation))
        .collect();
    part.body += &head(&columns, !verdicts.is_empty());
    let operations = &report.profile.operations;
    let runs: usize = shown_rows
        .iter()
        .map(|&at| operations.get(at).map_or(0, |each| each.runs.len()))
        .sum();
    let bins = bins_for(runs);
    let mut data = Data {
        columns: columns.iter().map(|column| column.key).collect(),
        values: Vec::new(),
        facts: Vec::new(),
        histograms: Vec::new(),
    };
    if !verdicts.is_empty() {
        data.columns.push("change");
    }
    for at in shown_rows {
        let row = &all[at];
        let verdict = verdicts.get(&row.key).copied();
        let mut values: Vec<Number> = columns.iter().map(|c| Number((c.value)(row))).collect();
        if !verdicts.is_empty() {
            values.push(Number(verdict.and_then(|verdict| verdict.judged.ratio)));
        }
        data.values.push(values);
        part.body += &line(
            report,
            row,
            &columns,
            (!verdicts.is_empty()).then_some(verdict),
        );
        data.facts.push(facts(row));
        let operation = operations.get(at).filter(|each| each.name == row.key.name);
        data.histograms
            .push(operation.and_then(|each| Histogram::of(each, bins)));
    }
    part.body += "</tbody></table></div>\n";
    part.data(&data);
    part
}

/// Indices of the shown rows, in the profile's order.
fn largest(rows: &[Row]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if order.len() > MOST_ROWS {
        order.sort_by(|&a, &b| rows[b].own_ns.total_cmp(&rows[a].own_ns));
        order.truncate(MOST_ROWS);
        order.sort_unstable();
    }
    order
}

fn head(columns: &[&Column], compared: bool) -> String {
    let mut head = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"operations-title\">\
         <table id=\"operations-table\">\n<thead><tr>\
         <th scope=\"col\" class=\"words\" data-key=\"name\">operation</th>\
         <th scope=\"col\" class=\"words\" data-key=\"device\">device</th>",
    );
    if compared {
        head += "<th scope=\"col\" class=\"words\" data-key=\"verdict\">verdict</th>";
    }
    for column in columns {
        let Column {
            key,
            head: name,
            about,
            ..
        } = column;
        let _ = write!(
            head,
            "<th scope=\"col\" class=\"figure\" data-key=\"{key}\" title=\"{about}\">{name}</th>"
        );
    }
    if compared {
        head += "<th scope=\"col\" class=\"figure\" data-key=\"change\" \
                 title=\"current side over baseline\">change</th>";
    }
    head + "</tr></thead>\n<tbody>\n"
}

/// A row; `verdict` is given if the page has verdicts.
fn line(
    report: &Report<'_>,
    row: &Row,
    columns: &[&Column],
    verdict: Option<Option<&OperationComparison>>,
) -> String {
    let name = html(&row.key.name, MOST_NAME);
    let mut line = format!("<tr><th scope=\"row\"><bdi class=\"name\">{name}</bdi>");
    if let Some(about) = &row.workload {
        let about = html(about, MOST_NAME);
        let _ = write!(line, " <bdi class=\"faint\">{about}</bdi>");
    }
    if let Some(failure) = &row.failure {
        let failure = html(&failure.to_string(), MOST_TEXT);
        let _ = write!(line, " <bdi class=\"bad\">failed: {failure}</bdi>");
    }
    if row.mostly_recording {
        line += " <span class=\"warning\">mostly the recorder's overhead</span>";
    }
    let device = html(&report.profile.device_label(&row.key.device), MOST_NAME);
    let _ = write!(line, "</th><td class=\"words\"><bdi>{device}</bdi></td>");
    if let Some(verdict) = verdict {
        let text = verdict.map_or_else(String::new, |verdict| verdict.change_type.to_string());
        let _ = write!(
            line,
            "<td class=\"words {0}\">{0}</td>",
            html(&text, MOST_NAME)
        );
    }
    for column in columns {
        let text = (column.value)(row).map_or_else(String::new, column.text);
        let _ = write!(line, "<td>{text}</td>");
    }
    if let Some(verdict) = verdict {
        let text = verdict.map_or_else(String::new, |verdict| verdict.judged.change_text());
        let _ = write!(line, "<td>{text}</td>");
    }
    line + "</tr>\n"
}

/// The text of an opened row, next to the distribution of its times.
fn facts(row: &Row) -> Vec<[String; 2]> {
    let mut facts: Vec<[String; 2]> = Vec::new();
    let mut fact = |name: &str, text: String| {
        facts.push([shown(name, MOST_NAME), shown(&text, MOST_TEXT)]);
    };
    if let Some(medians) = &row.between_runs {
        let deviation = medians.deviation.map_or_else(String::new, |deviation| {
            format!(", standard deviation {}", unit::time(deviation))
        });
        let (least, most) = (unit::time(medians.min), unit::time(medians.max));
        let runs = medians.count;
        fact(
            "between runs",
            format!("medians of {runs} runs from {least} to {most}{deviation}"),
        );
    }
    if let Some(first) = row.first_call_ns {
        fact("first call", unit::time(first));
    }
    for (phase, summary) in &row.phases {
        let (mean, median) = (unit::time(summary.mean), unit::time(summary.median));
        fact(phase, format!("mean {mean}, median {median}"));
    }
    if let Some(items) = row.items_per_s {
        fact("items", unit::per_s(items));
    }
    for held in &row.budgets {
        let (value, max) = (held.limited.text(held.value), held.limited.text(held.max));
        fact(
            "budget",
            format!("{} {value} of {max}: {}", held.limited, held.standing),
        );
    }
    if let Some(recording) = row.recording_share {
        fact(
            "recording",
            format!("{} of the time", unit::percent(recording)),
        );
    }
    facts
}

/// The operation of a row, for charts.
pub(crate) fn label(row: &Row) -> String {
    shown(&row.key.label(row.software_gpu), MOST_NAME)
}

/// The operations with their rows.
pub(crate) fn pairs<'r>(report: &Report<'r>) -> impl Iterator<Item = (&'r Row, &'r Operation)> {
    let rows = report.overview.rows.iter();
    rows.zip(&report.profile.operations)
}
