//! The verdicts of a comparison, with a forest plot: the interval of each change and the threshold.

use breakeven_judge::page::shown;
use serde_json::{Value, json};

use crate::Report;
use crate::part::{MOST_NAME, MOST_TEXT, Part, number};
use crate::sections;

/// Most rows of the plot; the smallest changes are omitted.
const MOST_ROWS: usize = 200;

/// None without a comparison.
pub(crate) fn part(report: &Report<'_>) -> Option<Part> {
    let comparison = report.comparison?;
    let mut part = Part::new(sections::VERDICTS);
    let rows = comparison.by_weight().into_iter();
    let rows = rows.filter(|row| row.judged.ratio.is_some());
    let all = rows.clone().count();
    let lines: Vec<Value> = rows
        .take(MOST_ROWS)
        .map(|row| {
            let judged = &row.judged;
            let name = shown(&row.name(), MOST_NAME);
            let parts = [
                format!("{name}: {}", row.change_type),
                judged.change_text(),
                judged.interval_text(),
                judged.note_text(),
            ];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            let text = parts.collect::<Vec<_>>().join("\n");
            json!({
                "name": name,
                "ratio": number(judged.ratio),
                "interval": judged.interval.map(|ends| ends.map(number)),
                "threshold": number(judged.threshold),
                "verdict": row.change_type.to_string(),
                "text": shown_lines(&text),
            })
        })
        .collect();
    if !lines.is_empty() {
        let mut finding = format!(
            "Change of each operation with its {}, and the threshold: {}",
            comparison.level_text(),
            comparison.get_summary().text()
        );
        if all > lines.len() {
            finding += &format!(". The {MOST_ROWS} that changed most of {all}");
        }
        part.chart("forest", 0, &finding);
    }
    part.page(&report.words.compared);
    part.data(&lines);
    Some(part)
}

/// A text of several lines, one element per line.
fn shown_lines(text: &str) -> String {
    let lines = text.lines().map(|line| shown(line, MOST_TEXT));
    lines.collect::<Vec<_>>().join("\n")
}
