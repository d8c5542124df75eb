//! Bars and sparklines, one line high.

use std::collections::VecDeque;

use breakeven::hardware::Fact;
use breakeven_judge::page::figures::share;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::dim;

/// Columns of the name in front of a bar.
const NAME: usize = 8;

/// Columns of a percentage and the spaces around it.
const SHARE: usize = 6;

/// Eighths of a column's height, from empty to full.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Eighths of a column's width.
const WIDTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// `use     ██████▌          61%  ▁▂▃▅▆▇`: a name, a bar, its figure, and a remark or the recent
/// values.
pub(super) fn row(
    name: &str,
    used: Option<f64>,
    rest: Vec<Span<'static>>,
    width: usize,
) -> Line<'static> {
    let bar = bar_width(width);
    let mut spans = vec![Span::raw(format!("{name:<NAME$}"))];
    match used {
        Some(used) => {
            let (full, tone) = filled(used, bar);
            let left = bar.saturating_sub(full.chars().count());
            spans.push(Span::styled(full, Style::from(tone)));
            spans.push(Span::styled("·".repeat(left), dim()));
            spans.push(Span::raw(format!("{:>SHARE$}", share(used))));
        }
        None => {
            spans.push(Span::styled("·".repeat(bar), dim()));
            spans.push(Span::styled(format!("{:>SHARE$}", "–"), dim()));
        }
    }
    spans.push(Span::raw("  "));
    spans.extend(rest);
    Line::from(spans)
}

fn bar_width(width: usize) -> usize {
    (width / 3).clamp(8, 40)
}

/// Columns that remain after a bar.
pub(super) fn rest_width(width: usize) -> usize {
    width.saturating_sub(NAME + bar_width(width) + SHARE + 2)
}

/// The filled segment of a bar, and its colour.
fn filled(used: f64, width: usize) -> (String, Color) {
    #[expect(clippy::cast_sign_loss, reason = "a fraction is not negative")]
    let eighths = (used.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(WIDTHS[eighths % 8]);
    }
    let tone = match used {
        used if used >= 0.9 => Color::Red,
        used if used >= 0.7 => Color::Yellow,
        _ => Color::Green,
    };
    (bar, tone)
}

/// The history of a fraction, the newest on the right, one column per reading.
pub(super) fn curve(newest_first: &VecDeque<Fact<f64>>, width: usize) -> Vec<Span<'static>> {
    let shown = newest_first.iter().take(width);
    let columns: Vec<char> = shown.map(|used| used.get().map_or(' ', height)).collect();
    let text: String = columns.into_iter().rev().collect();
    vec![Span::styled(text, Style::from(Color::Cyan))]
}

/// A column of this height; any use at all is visible.
pub(super) fn height(used: f64) -> char {
    #[expect(clippy::cast_sign_loss, reason = "a fraction is not negative")]
    let eighths = (used.clamp(0.0, 1.0) * 8.0).ceil() as usize;
    HEIGHTS[eighths.min(8)]
}
