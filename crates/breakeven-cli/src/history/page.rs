//! Prints a history as a page.

use breakeven_history::{Change, ChangeState, Entry, Failed, Point, Series};
use breakeven_judge::page::figures::revision;
use breakeven_judge::page::{Block, Column, Item, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;

use crate::history::data::Found;

/// Columns of a series' bar chart.
const PICTURE: usize = 72;

/// Most listed points of a series, the newest.
const LISTED: usize = 30;

/// The abbreviated commit, else the time.
fn name(entry: &Entry) -> String {
    match &entry.commit {
        Some(commit) => revision(commit),
        None => minute(&entry.time),
    }
}

/// A time without its seconds.
fn minute(time: &str) -> String {
    let short = time.get(..16).unwrap_or(time);
    short.replace('T', " ")
}

/// An entry in a line: number, commit, time, operations.
pub(super) fn named(entry: &Entry) -> String {
    let commit = entry.commit.as_deref().unwrap_or("no commit");
    let (id, time, count) = (entry.id, minute(&entry.time), entry.operations);
    format!("entry {id}: {commit}, {time}, {count} operation(s)")
}

/// The entries.
pub(super) fn entries(entries: &[Entry]) -> Page {
    let mut page = Page::default();
    let row = |entry: &Entry| {
        let cells = [
            entry.id.to_string(),
            minute(&entry.time),
            entry.commit.as_deref().map(revision).unwrap_or_default(),
            entry.branch.clone().unwrap_or_default(),
            entry.operations.to_string(),
            entry.machine.clone(),
        ];
        Row {
            notes: entry
                .notes
                .iter()
                .map(|note| Text::new(note, Tone::Faint))
                .collect(),
            ..Row::new(cells)
        }
    };
    page.table(Table {
        columns: vec![
            Column::figures("entry", Column::KEPT),
            Column::words("time", 5),
            Column::words("commit", Column::KEPT),
            Column::words("branch", 4),
            Column::figures("operations", 2),
            Column::words("machine", 1),
        ],
        rows: entries.iter().map(row).collect(),
        ..Table::default()
    });
    if entries.is_empty() {
        page.say("There are no entries.");
    }
    page
}

/// All series, one per row.
pub(super) fn overview(found: &Found<'_>) -> Page {
    let row = |(number, series): (usize, &Series)| {
        let newest = series.points.last().map_or(0.0, |point| point.value_ns);
        let oldest = series.points.first().map_or(0.0, |point| point.value_ns);
        let alert = found.of(number).rev().find(|change| change.is_alert());
        let last = found.of(number).next_back();
        let since = alert.or(last).map_or_else(Text::default, |change| {
            let at = name(found.loaded.entry(&change.after));
            Text::new(format!("{} at {at}", sized(change)), tone(change))
        });
        Row {
            group: Text::from(series.machine.clone()),
            ..Row::new([
                Text::from(series.key.to_string()),
                series.points.len().to_string().into(),
                unit::time(newest).into(),
                unit::change(newest / oldest - 1.0).into(),
                since,
            ])
        }
    };
    let mut series: Vec<(usize, &Series)> = found.loaded.series.iter().enumerate().collect();
    series.sort_by_key(|(_, series)| &series.machine);
    let mut page = Page::default();
    page.table(Table {
        groups: "machine".to_owned(),
        columns: vec![
            Column::words("operation", Column::KEPT),
            Column::figures("values", 1),
            Column::figures("newest", 4),
            Column::figures("since the first", 3),
            Column::words("last change", 5),
        ],
        rows: series.into_iter().map(row).collect(),
    });
    page
}

/// Series with their values.
pub(super) fn series(found: &Found<'_>) -> Page {
    let mut page = Page::default();
    for (number, series) in found.loaded.series.iter().enumerate() {
        page.heading(format!("{}, {}", series.key, series.machine));
        page.blocks.push(Block::Picture(picture(&series.points)));
        let hidden = series.points.len().saturating_sub(LISTED);
        let rows = series.points.iter().enumerate().skip(hidden);
        let row = |(index, point): (usize, &Point)| {
            let entry = found.loaded.entry(point);
            let changes = found.of(number).filter(|change| change.index == index);
            let notes = changes.map(|change| Text::new(sentence(change), tone(change)));
            let said = entry.notes.iter().map(|note| Text::new(note, Tone::Faint));
            Row {
                notes: notes.chain(said).collect(),
                ..Row::new([
                    name(entry),
                    minute(&entry.time),
                    unit::time(point.value_ns),
                    match point.runs {
                        0 | 1 => String::new(),
                        _ => format!(
                            "{} – {}",
                            unit::time(point.low_ns),
                            unit::time(point.high_ns)
                        ),
                    },
                    point.runs.to_string(),
                ])
            }
        };
        page.table(Table {
            columns: vec![
                Column::words("commit", Column::KEPT),
                Column::words("time", 1),
                Column::figures("median", Column::KEPT),
                Column::figures("runs from – to", 3),
                Column::figures("runs", 2),
            ],
            rows: rows.map(row).collect(),
            ..Table::default()
        });
        if hidden > 0 {
            page.aside(format!(
                "{hidden} older values are not listed; `breakeven history export` has all."
            ));
        }
    }
    page
}

/// The values as a line of bars, the newest at the right; each bar is the median of the
/// values in its column.
fn picture(points: &[Point]) -> Vec<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let wide = points.len().div_ceil(PICTURE).max(1);
    let columns: Vec<f64> = (points.chunks(wide))
        .map(|chunk| {
            let mut values: Vec<f64> = chunk.iter().map(|point| point.value_ns).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
        .collect();
    let least = columns.iter().copied().fold(f64::INFINITY, f64::min);
    let most = columns.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        let height = match most > least {
            true => (value - least) / (most - least) * 7.0,
            false => 0.0,
        };
        #[expect(clippy::cast_sign_loss, reason = "0 to 7")]
        let height = height.round() as usize;
        BARS[height.min(7)]
    };
    let line = columns.iter().map(bar).collect();
    vec![
        line,
        format!("from {} to {}", unit::time(least), unit::time(most)),
    ]
}

/// The changes, alerts first.
pub(super) fn changes(found: &Found<'_>) -> Page {
    let alerts = found
        .changes
        .iter()
        .filter(|change| change.is_alert())
        .count();
    let mut page = Page::default();
    let failed = |failed: &Failed| Item {
        head: vec![
            Text::new(failed.key.to_string(), Tone::Strong),
            Text::new(format!("failed: {}", failed.failure), Tone::Bad),
        ],
        facts: vec![("at".to_owned(), name(&failed.entry).into())],
    };
    if !found.failed.is_empty() {
        let count = found.failed.len();
        page.heading(Text::new(format!("{count} operation(s) failed"), Tone::Bad));
        page.items(found.failed.iter().map(failed).collect());
    }
    page.heading(match (found.changes.len(), alerts) {
        (0, _) => Text::new("no changes", Tone::Good),
        (all, 0) => Text::new(format!("{all} change(s), no alert"), Tone::Good),
        (all, alerts) => Text::new(format!("{all} change(s), {alerts} alert(s)"), Tone::Bad),
    });
    let mut order: Vec<&Change> = found.changes.iter().collect();
    order.sort_by_key(|change| (!change.is_alert(), std::cmp::Reverse(change.after.entry)));
    page.items(order.iter().map(|change| item(found, change)).collect());
    page
}

fn item(found: &Found<'_>, change: &Change) -> Item {
    let series = found.series(change);
    let [before, after] = [&change.before, &change.after].map(|point| found.loaded.entry(point));
    let mut facts: Vec<(String, Text)> = Vec::new();
    let mut fact = |label: &str, text: String| facts.push((label.to_owned(), text.into()));
    fact("between", format!("{} and {}", name(before), name(after)));
    let [old, new] = change.levels_ns.map(unit::time);
    fact("level", format!("{old} → {new}"));
    fact("machine", series.machine.clone());
    if let ChangeState::Recovered(back) = change.state
        && let Some(back) = series.points.get(back)
    {
        let at = name(found.loaded.entry(back));
        fact("recovered", format!("at {at}"));
    }
    for note in &after.notes {
        fact("note", note.clone());
    }
    if let Some(between) = found.between(change) {
        for what in &between.environment {
            fact("changed too", what.clone());
        }
        for commit in &between.commits {
            fact("commit", commit.clone());
        }
        if between.more > 0 {
            fact("", format!("and {} more", between.more));
        }
    }
    let head = vec![
        Text::new(series.key.to_string(), Tone::Strong),
        Text::new(sentence(change), tone(change)),
    ];
    Item { head, facts }
}

fn tone(change: &Change) -> Tone {
    match change.state {
        _ if change.is_alert() => Tone::Bad,
        ChangeState::Recovered(_) | ChangeState::Accepted => Tone::Faint,
        _ => Tone::Good,
    }
}

fn sized(change: &Change) -> String {
    unit::change(change.ratio - 1.0)
}

/// The change in words: `+12.5 % (+11.9 % to +13.1 %), still there`.
fn sentence(change: &Change) -> String {
    let interval = change.interval.map_or_else(String::new, |interval| {
        let [low, high] = interval.map(|ratio| unit::change(ratio - 1.0));
        format!(" ({low} to {high})")
    });
    let state = match change.state {
        ChangeState::Improved => String::new(),
        ChangeState::Drift => {
            let entries = change
                .after
                .entry
                .saturating_sub(change.before.entry)
                .max(1);
            let each = change.ratio.powf((entries as f64).recip());
            format!(
                ", {}: {} per entry",
                state(change),
                unit::change(each - 1.0)
            )
        }
        _ => format!(", {}", state(change)),
    };
    format!("{}{interval}{state}", sized(change))
}

/// Status of a change, in words.
pub(crate) fn state(change: &Change) -> &'static str {
    match change.state {
        ChangeState::Open => "still there",
        ChangeState::Newest => "the newest values alone",
        ChangeState::Recovered(_) => "recovered since",
        ChangeState::Accepted => "accepted",
        ChangeState::Improved => "improved",
        ChangeState::Drift => "a drift",
    }
}
