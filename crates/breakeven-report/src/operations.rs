//! A table of every operation's figures, which sorts and filters. An opened row shows the
//! distribution of the operation's times.

use std::collections::HashMap;
use std::fmt::Write;

use breakeven_judge::overview::{COLUMNS, Column};
use breakeven_judge::page::figures::Unit;
use breakeven_judge::page::{html, shown};
use breakeven_judge::{OperationComparison, Row};
use breakeven_profile::profile::{Operation, OperationKey};
use breakeven_profile::unit;
use serde_json::{Value, json};

use crate::Report;
use crate::histogram::{Histogram, bins_for};
use crate::part::{MOST_NAME, MOST_TEXT, Part, largest, number};
use crate::sections;

/// Most rows; the operations with the least time are omitted.
const MOST_ROWS: usize = 5_000;

/// None without operations.
pub(crate) fn part(report: &Report<'_>) -> Option<Part> {
    let mut part = Part::new(sections::OPERATIONS);
    let all = &report.overview.rows;
    let shown_rows = largest(all.len(), MOST_ROWS, |at| all[at].own_ns);
    let left_out = all.len() - shown_rows.len();
    if left_out > 0 {
        part.say(&format!(
            "The {MOST_ROWS} operations that take most of the time; {left_out} are left out here, \
             and breakeven show has them."
        ));
    }
    let columns = COLUMNS.iter().filter(|column| !column.heading.is_empty());
    let has_value = |column: &&Column| all.iter().any(|row| value(column, row).is_some());
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
    let mut keys: Vec<&str> = columns.iter().map(|column| column.key).collect();
    if !verdicts.is_empty() {
        keys.push("change");
    }
    let (mut figures, mut all_facts, mut histograms) = (Vec::new(), Vec::new(), Vec::new());
    for at in shown_rows {
        let row = &all[at];
        let verdict = verdicts.get(&row.key).copied();
        let mut values: Vec<Value> = (columns.iter())
            .map(|column| number(value(column, row)))
            .collect();
        if !verdicts.is_empty() {
            values.push(number(verdict.and_then(|verdict| verdict.judged.ratio)));
        }
        figures.push(values);
        part.body += &line(report, row, &columns, !verdicts.is_empty(), verdict);
        all_facts.push(facts(row));
        let operation = operations.get(at).filter(|each| each.name == row.key.name);
        histograms.push(operation.and_then(|each| Histogram::of(each, bins)));
    }
    part.body += "</tbody></table></div>\n";
    part.data(&json!({
        "columns": keys, "values": figures, "facts": all_facts, "histograms": histograms,
    }));
    (!all.is_empty()).then_some(part)
}

/// A figure of complete calls, else of the phase that has it.
fn value(column: &Column, row: &Row) -> Option<f64> {
    row.lines().find_map(|line| column.value(&line))
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
            heading,
            about,
            ..
        } = column;
        let _ = write!(
            head,
            "<th scope=\"col\" class=\"figure\" data-key=\"{key}\" title=\"{about}\">{heading}</th>"
        );
    }
    if compared {
        head += "<th scope=\"col\" class=\"figure\" data-key=\"change\" \
                 title=\"current side over baseline\">change</th>";
    }
    head + "</tr></thead>\n<tbody>\n"
}

/// A row; `compared` is true if the page has verdicts.
fn line(
    report: &Report<'_>,
    row: &Row,
    columns: &[&Column],
    compared: bool,
    verdict: Option<&OperationComparison>,
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
    if compared {
        let text = verdict.map_or_else(String::new, |verdict| verdict.change_type.to_string());
        let _ = write!(
            line,
            "<td class=\"words {0}\">{0}</td>",
            html(&text, MOST_NAME)
        );
    }
    for column in columns {
        let mut texts = row.lines().map(|line| column.text(&line, Unit::text));
        let text = texts.find(|text| !text.is_empty()).unwrap_or_default();
        let _ = write!(line, "<td>{text}</td>");
    }
    if compared {
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
