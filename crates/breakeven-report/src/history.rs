//! How operations developed over earlier revisions.

use breakeven_judge::page::figures::{plural, revision};
use breakeven_judge::page::shown;
use serde::Serialize;

use crate::json::Number;
use crate::part::{MOST_NAME, MOST_TEXT, Part};
use crate::sections;

/// One operation's values over revisions, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistorySeries {
    /// The operation, with its device and, if there are several, its environment.
    pub label: String,
    /// The measured quantity, `median time`.
    pub unit: String,
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

#[derive(Serialize)]
struct Data {
    label: String,
    unit: String,
    points: Vec<PointData>,
    levels: Vec<LevelData>,
    changes: Vec<ChangeData>,
}

#[derive(Serialize)]
struct PointData {
    /// The commit and its day, for the axis.
    tick: String,
    value: Number,
    low: Number,
    high: Number,
    text: String,
}

/// A level that holds from one point to another.
#[derive(Serialize)]
struct LevelData {
    from: usize,
    to: usize,
    value: Number,
}

#[derive(Serialize)]
struct ChangeData {
    index: usize,
    worse: bool,
    text: String,
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
        let marks = changes.iter().zip(&texts).map(|(change, text)| ChangeData {
            index: change.index,
            worse: change.after_ns > change.before_ns,
            text: shown(text, MOST_TEXT),
        });
        data.push(Data {
            label,
            unit: shown(&series.unit, MOST_NAME),
            points: series.points.iter().map(PointData::of).collect(),
            levels: levels(&changes, points.saturating_sub(1)),
            changes: marks.collect(),
        });
    }
    part.data(&data);
    (!data.is_empty()).then_some(part)
}

impl HistoryPoint {
    /// The commit, abbreviated.
    fn short(&self) -> String {
        shown(&revision(&self.commit), MOST_NAME)
    }
}

impl PointData {
    fn of(point: &HistoryPoint) -> Self {
        use breakeven_profile::unit::time;
        let text = format!(
            "{}\n{}\n{} ({} to {})",
            shown(&point.commit, MOST_NAME),
            shown(&point.time, MOST_NAME),
            time(point.value_ns),
            time(point.low_ns),
            time(point.high_ns),
        );
        let day = point.time.split('T').next().unwrap_or_default();
        Self {
            tick: format!("{}\n{}", point.short(), shown(day, MOST_NAME)),
            value: point.value_ns.into(),
            low: point.low_ns.into(),
            high: point.high_ns.into(),
            text,
        }
    }
}

/// The levels between the changes.
fn levels(changes: &[&HistoryChange], last: usize) -> Vec<LevelData> {
    let mut levels = Vec::new();
    let mut from = 0;
    for (place, change) in changes.iter().enumerate() {
        if place == 0 {
            levels.push(LevelData {
                from,
                to: change.index.saturating_sub(1),
                value: change.before_ns.into(),
            });
        }
        from = change.index;
        let next = changes.get(place + 1);
        levels.push(LevelData {
            from,
            to: next.map_or(last, |next| next.index.saturating_sub(1)),
            value: change.after_ns.into(),
        });
    }
    levels
}
