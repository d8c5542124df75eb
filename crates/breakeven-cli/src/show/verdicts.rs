//! The page below the main table: winners, bottlenecks, targets, budgets.

use std::collections::HashMap;

use breakeven_judge::bottleneck::{NextStep, Targets};
use breakeven_judge::page::figures::times;
use breakeven_judge::page::{Column, Item, Page, Row, Table, Text, Tone};
use breakeven_judge::{Finding, FindingKind, Standing, Winner};
use breakeven_profile::profile::OperationKey;
use breakeven_profile::unit;
use serde_json::Value;

use super::Report;

/// Most printed groups of findings with one cause, and most operations that miss a target; the rest
/// is counted.
const MOST_PRINTED: usize = 8;

pub(super) fn add(report: &Report, page: &mut Page) {
    add_winners(report, page);
    add_findings(report, page);
    add_targets(report, page);
    add_budgets(report, page);
    add_rounded(report, page);
    for note in &report.notes {
        page.say(Text::new(note, Tone::Bad));
    }
    for remark in &report.remarks {
        page.aside(remark);
    }
    if report.profile.interrupted {
        let text = "interrupted: some of what was requested was not measured";
        page.say(Text::new(text, Tone::Warning));
    }
}

fn add_winners(report: &Report, page: &mut Page) {
    let winners = &report.overview.winners;
    if winners.is_empty() {
        return;
    }
    page.heading("Winners");
    let rows = winners.iter().map(|winner| {
        let tone = if winner.clear {
            Tone::Good
        } else {
            Tone::Warning
        };
        let operation = report.operation(&winner.operation, winner.size);
        Row::new([
            Text::from(operation),
            Text::new(report.label(&winner.device), tone),
            ahead(report, winner).into(),
        ])
    });
    page.table(Table {
        columns: vec![
            Column::words("operation", Column::KEPT),
            Column::words("fastest", Column::KEPT),
            Column::words("by", Column::KEPT),
        ],
        rows: rows.collect(),
        ..Table::default()
    });
    if winners.iter().any(|winner| !winner.over_runs) {
        page.aside(
            "with 95 % intervals within one run; --runs 5 also measures how much runs differ",
        );
    }
}

/// What rounding the inputs costs in accuracy, and gains in time.
fn add_rounded(report: &Report, page: &mut Page) {
    let rows = &report.overview.rows;
    for (operation, row) in report.profile.operations.iter().zip(rows) {
        let error = operation.attributes.get("largest_error");
        let Some(error) = error.and_then(Value::as_f64) else {
            continue;
        };
        let key = OperationKey {
            name: "matrix_multiply".to_owned(),
            ..row.key.clone()
        };
        let exact = rows.iter().find(|row| row.key == key);
        let summaries = exact.and_then(|exact| exact.summary).zip(row.summary);
        let gained = summaries.map_or_else(String::new, |(exact, rounded)| {
            let ratio = times(exact.median / rounded.median);
            format!("; the product in f32 takes {ratio} × the time")
        });
        page.aside(format!(
            "{}: inputs in half precision: an error of up to {error:.1e} of the largest value{gained}",
            report.who(&row.key)
        ));
    }
}

/// The winner's lead, and the runner-up.
fn ahead(report: &Report, winner: &Winner) -> String {
    let interval = winner.interval.map_or_else(String::new, |[lower, upper]| {
        format!(" ({} to {})", times(lower), times(upper))
    });
    let (next, ahead) = (report.label(&winner.runner_up), times(winner.ratio));
    match winner.clear {
        true => format!("{ahead}×{interval} faster than {next}"),
        false => format!("{ahead}×{interval} as fast as {next}, not clearly"),
    }
}

/// Findings with the same cause, with the figures of each.
fn add_findings(report: &Report, page: &mut Page) {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut places = HashMap::new();
    for finding in &report.overview.findings {
        let new = groups.len();
        let place = *places
            .entry((&finding.cause, &finding.next_step))
            .or_insert(new);
        if place == new {
            groups.push(Vec::new());
        }
        groups[place].push(finding);
    }
    if groups.is_empty() {
        return;
    }
    let more = groups.len().saturating_sub(MOST_PRINTED);
    let items = groups.into_iter().take(MOST_PRINTED).flat_map(|group| {
        let mut items: Vec<Item> = group.iter().map(|finding| item(report, finding)).collect();
        if let (Some(last), [finding, ..]) = (items.last_mut(), &group[..]) {
            last.facts = vec![
                ("cause".to_owned(), finding.cause.clone().into()),
                ("next".to_owned(), with_flag(finding.next_step).into()),
            ];
        }
        items
    });
    page.list("Bottlenecks", items);
    if more > 0 {
        page.aside(format!(
            "and {more} more causes, of operations that take less of the time; --format json lists all"
        ));
    }
}

/// The next step, with the flag for it.
fn with_flag(step: NextStep) -> String {
    match step {
        NextStep::MoreWarmUp => format!("{step} (--warmup)"),
        NextStep::MoreRuns => format!("{step} (--runs)"),
        _ => step.to_string(),
    }
}

fn item(report: &Report, finding: &Finding) -> Item {
    let who = report.who(&finding.key);
    let said = Text::new(finding_text(finding), Tone::Warning);
    Item {
        head: vec![format!("{who}:").into(), said],
        facts: Vec::new(),
    }
}

/// A finding in words, with its figure.
fn finding_text(finding: &Finding) -> String {
    let (value, limit) = (finding.value, finding.threshold);
    match finding.what {
        FindingKind::Slow => format!("slow: {} (over {})", unit::time(value), unit::time(limit)),
        FindingKind::HighVariance => format!(
            "high variance: CV {} (over {})",
            unit::percent(value),
            unit::percent(limit)
        ),
        FindingKind::Outliers => format!("outliers: max is {value:.1} × mean (over {limit})"),
    }
}

fn add_targets(report: &Report, page: &mut Page) {
    let judged = report.overview.rows.iter();
    let judged: Vec<_> = judged.filter_map(|row| Some((row, row.targets?))).collect();
    if judged.is_empty() || !report.has_targets {
        return;
    }
    let limits = &report.thresholds;
    page.heading(format!(
        "Targets (mean < {}, CV < {}, > {})",
        unit::time(limits.target_mean_ns),
        unit::percent(limits.target_cv),
        unit::per_s(limits.target_per_s)
    ));
    let mut missed: Vec<_> = judged.iter().filter(|(_, met)| !met.all()).collect();
    let tone = if missed.is_empty() {
        Tone::Good
    } else {
        Tone::Plain
    };
    let met = judged.len() - missed.len();
    page.say(Text::new(format!("met by {met} of {}", judged.len()), tone));
    missed.sort_by(|(a, _), (b, _)| b.share_of_total.total_cmp(&a.share_of_total));
    let more = missed.len().saturating_sub(MOST_PRINTED);
    let items = missed.into_iter().take(MOST_PRINTED).map(|(row, targets)| {
        let (who, missed) = (report.who(&row.key), missed_text(*targets));
        let share = unit::percent(row.share_of_total);
        let text = format!("{who}: missed in {missed} ({share} of the time)");
        Item::from(Text::new(text, Tone::Warning))
    });
    page.items(items.collect());
    if more > 0 {
        page.aside(format!(
            "and {more} more operations that miss a target; --format json lists all"
        ));
    }
}

fn missed_text(targets: Targets) -> String {
    let each = [
        (targets.mean, "mean"),
        (targets.cv, "CV"),
        (targets.rate, "rate"),
    ];
    let missed = each.into_iter().filter(|(met, _)| !met);
    missed.map(|(_, name)| name).collect::<Vec<_>>().join(", ")
}

fn add_budgets(report: &Report, page: &mut Page) {
    let rows = report.overview.rows.iter();
    let table = Standing::table(rows.flat_map(|row| {
        let who = report.who(&row.key);
        row.budgets.iter().map(move |held| (who.clone(), *held))
    }));
    if table.rows.is_empty() && !report.budgets_given {
        return;
    }
    page.heading("Budgets");
    if table.rows.is_empty() && report.unmatched.is_empty() {
        page.aside("the file gives none");
    }
    page.table(table);
    for text in &report.unmatched {
        page.say(Text::new(text, Tone::Bad));
    }
}
