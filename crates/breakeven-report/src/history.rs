//! How operations developed over earlier revisions.

use breakeven_judge::page::figures::{plural, revision};
use breakeven_judge::page::shown;
use serde_json::{Value, json};

use crate::part::{MOST_NAME, MOST_TEXT, Part, number};
use crate::sections;

/// One operation's values over revisions, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistorySeries {
    /// The operation, with its device and, if there are several, its environment.
    pub label: String,
    /// The values.
    pub points: Vec<HistoryPoint>,
    /// The changes of level.
    pub changes: Vec<HistoryChange>,
}

/// The value of one revision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryPoint {
    /// The revision.
    pub commit: String,
    /// When it was measured, RFC 3339.
    pub time: String,
    /// The value, ns.
    pub value_ns: f64,
    /// Ends of its interval, ns.
    pub low_ns: f64,
    /// The upper end.
    pub high_ns: f64,
}

/// A change of level that was found in a series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryChange {
    /// Index of the first point of the new level.
    pub index: usize,
    /// The level before, ns.
    pub before_ns: f64,
    /// The level from there on, ns.
    pub after_ns: f64,
    /// Ends of the interval of the relative change, fractions: 0.05 is 5 % more.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Status of the change, such as `regression, open`.
    pub state: String,
}

/// None without a history.
pub(crate) fn part(series: &[HistorySeries]) -> Option<Part> {
    use breakeven_profile::unit::{change, time};
    let mut part = Part::new(sections::HISTORY);
    let mut data = Vec::new();
    let known = series.iter().filter(|series| !series.points.is_empty());
    for (index, series) in known.enumerate() {
        let label = shown(&series.label, MOST_NAME);
        let mut changes: Vec<&HistoryChange> = series.changes.iter().collect();
        changes.retain(|change| change.index < series.points.len());
        changes.sort_by_key(|change| change.index);
        let texts: Vec<String> = changes
            .iter()
            .map(|at| {
                let commit = series.points[at.index].short();
                format!(
                    "at {commit} from {} to {} ({} to {}): {}",
                    time(at.before_ns),
                    time(at.after_ns),
                    change(at.low),
                    change(at.high),
                    shown(&at.state, MOST_NAME),
                )
            })
            .collect();
        let found = match texts.len() {
            0 => "no change found".to_owned(),
            n => plural(n as u64, "change"),
        };
        let ends = series.points.first().zip(series.points.last());
        let ends = ends.map_or_else(String::new, |(first, last)| {
            format!(" from {} to {}", time(first.value_ns), time(last.value_ns))
        });
        let points = series.points.len();
        let finding = format!("{label}: {points} points{ends}; {found}");
        part.chart("history", index, &finding);
        if !texts.is_empty() {
            let mut page = breakeven_judge::page::Page::default();
            page.items(texts.iter().map(|text| text.clone().into()).collect());
            part.page(&page);
        }
        let marks = changes.iter().zip(&texts).map(|(change, text)| {
            let (worse, text) = (change.after_ns > change.before_ns, shown(text, MOST_TEXT));
            json!({"index": change.index, "worse": worse, "text": text})
        });
        data.push(json!({
            "label": label,
            "unit": "median time",
            "points": series.points.iter().map(HistoryPoint::data).collect::<Vec<_>>(),
            "levels": levels(&changes, points.saturating_sub(1)),
            "changes": marks.collect::<Vec<_>>(),
        }));
    }
    part.data(&data);
    (!data.is_empty()).then_some(part)
}

impl HistoryPoint {
    /// The commit, abbreviated.
    fn short(&self) -> String {
        shown(&revision(&self.commit), MOST_NAME)
    }

    fn data(&self) -> Value {
        use breakeven_profile::unit::time;
        let text = format!(
            "{}\n{}\n{} ({} to {})",
            shown(&self.commit, MOST_NAME),
            shown(&self.time, MOST_NAME),
            time(self.value_ns),
            time(self.low_ns),
            time(self.high_ns),
        );
        let day = self.time.split('T').next().unwrap_or_default();
        // The commit and its day, for the axis.
        let tick = format!("{}\n{}", self.short(), shown(day, MOST_NAME));
        let [value, low, high] = [self.value_ns, self.low_ns, self.high_ns].map(number);
        json!({"tick": tick, "value": value, "low": low, "high": high, "text": text})
    }
}

/// The levels before and behind each change, up to the last point.
fn levels(changes: &[&HistoryChange], last: usize) -> Vec<Value> {
    let level = |from: usize, to: usize, ns: f64| {
        let value = number(ns);
        json!({"from": from, "to": to, "value": value})
    };
    let first = changes.first();
    let first = first.map(|change| level(0, change.index.saturating_sub(1), change.before_ns));
    let later = changes.iter().enumerate().map(|(place, change)| {
        let next = changes.get(place + 1);
        let to = next.map_or(last, |next| next.index.saturating_sub(1));
        level(change.index, to, change.after_ns)
    });
    first.into_iter().chain(later).collect()
}
