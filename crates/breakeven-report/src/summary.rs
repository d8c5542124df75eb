//! The head of the page: how much was measured, what stands out, and where the time goes.

use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Page, Text, Tone};
use breakeven_judge::{Row, Standing};
use breakeven_profile::unit;
use serde_json::{Value, json};

use crate::Report;
use crate::operations::label;
use crate::part::{Part, number};
use crate::sections;

/// Operations in the chart of shares.
const MOST_BARS: usize = 12;

pub(crate) fn part(report: &Report<'_>) -> Option<Part> {
    let mut part = Part::new(sections::OVERVIEW);
    let rows = &report.overview.rows;
    part.page(&facts(report));
    let mut largest: Vec<&Row> = rows.iter().filter(|row| row.share_of_total > 0.0).collect();
    largest.sort_by(|a, b| b.share_of_total.total_cmp(&a.share_of_total));
    let bars: Vec<Value> = largest
        .iter()
        .take(MOST_BARS)
        .map(|row| {
            let share = number(row.share_of_total);
            json!({"name": label(row), "share": share, "text": text(row)})
        })
        .collect();
    if let Some(first) = largest.first() {
        let finding = format!(
            "Where the time goes, by own time: {} takes {}{}",
            label(first),
            text(first),
            match largest.len().checked_sub(bars.len()) {
                None | Some(0) => String::new(),
                Some(more) => format!("; {more} operations take less than those drawn"),
            }
        );
        part.chart("shares", 0, &finding);
        part.data(&bars);
    }
    Some(part)
}

fn text(row: &Row) -> String {
    let share = unit::percent(row.share_of_total);
    format!("{share}, {}", unit::time(row.own_ns))
}

fn facts(report: &Report<'_>) -> Page {
    let (profile, overview) = (report.profile, report.overview);
    let rows = &overview.rows;
    let mut page = Page::default();
    let mut facts: Vec<(&str, Text)> = Vec::new();
    let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
    let calls: u64 = rows
        .iter()
        .map(|row| row.calls)
        .fold(0, u64::saturating_add);
    let count = |count: usize, one: &str| plural(count as u64, one);
    facts.push((
        "measured",
        format!(
            "{}, {} calls, up to {} each",
            count(rows.len(), "operation"),
            unit::count(calls as f64),
            count(runs, "run")
        )
        .into(),
    ));
    let own = rows.iter().filter(|row| row.share_of_total > 0.0);
    let own: f64 = own.map(|row| row.own_ns).sum();
    facts.push(("time", unit::time(own).into()));
    if let Some(comparison) = report.comparison {
        let summary = comparison.get_summary();
        let tone = match (summary.regressions_count, summary.improvements_count) {
            (0, 0) => Tone::Plain,
            (0, _) => Tone::Good,
            _ => Tone::Bad,
        };
        facts.push(("against the baseline", Text::new(summary.text(), tone)));
    }
    let over = rows.iter().flat_map(|row| &row.budgets);
    let over = over.filter(|held| held.standing == Standing::Over).count();
    if over > 0 {
        let text = format!("{} exceeded", count(over, "budget"));
        facts.push(("budgets", Text::new(text, Tone::Bad)));
    }
    let findings = match overview.findings.len() {
        0 => Text::new("none", Tone::Good),
        n => Text::new(count(n, "finding"), Tone::Warning),
    };
    facts.push(("bottlenecks", findings));
    facts.push(("advice", report.advice.conclusion().into()));
    let failed = rows.iter().filter(|row| row.failure.is_some()).count();
    if failed > 0 {
        let text = count(failed, "operation");
        facts.push(("failed", Text::new(text, Tone::Bad)));
    }
    if rows.iter().any(|row| row.software_gpu) {
        let text = "it runs on the CPU: its times say nothing about a real GPU";
        facts.push(("software GPU", Text::new(text, Tone::Warning)));
    }
    if profile.interrupted {
        let text = "some of the requested operations were not measured";
        facts.push(("interrupted", Text::new(text, Tone::Warning)));
    }
    page.facts(facts);
    page
}
