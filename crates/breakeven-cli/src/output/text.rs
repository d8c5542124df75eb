//! Figures and colours for tables.

use anstyle::{AnsiColor, Style};
use breakeven_profile::unit;
use unicode_width::UnicodeWidthStr;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Text in a style; the terminal's end takes it away where there are no colours.
pub(super) fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// A time without the space before its unit, for narrow columns: `1.23ms`.
pub(super) fn time(ns: f64) -> String {
    unit::time(ns).replace(' ', "")
}

/// A count per second without its unit, at most six characters: `8 123`, `81.2k`, `12.3M`.
pub(super) fn per_s(rate: f64) -> String {
    match rate {
        r if (9_999.5..999_500.0).contains(&r) => {
            let decimals = if r < 99_950.0 { 1 } else { 0 };
            format!("{:.decimals$}k", r / 1e3)
        }
        r => {
            let text = unit::per_s(r);
            let number = text.trim_end_matches("/s").trim_end();
            match number.rsplit_once(' ') {
                Some((digits, prefix @ ("M" | "G" | "T" | "k"))) => format!("{digits}{prefix}"),
                _ => number.to_owned(),
            }
        }
    }
}

/// A percentage of at most four characters: `3.4%`, `35%`, `101%`.
pub(super) fn share(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if !percent.is_finite() {
        unit::UNKNOWN.to_owned()
    } else if percent < 9.95 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// A rate in units of 10^9 with its share of the peak: `12.3 35%`.
pub(super) fn giga(rate: Option<f64>, of_peak: Option<f64>) -> String {
    let Some(rate) = rate else {
        return String::new();
    };
    let giga = rate / 1e9;
    let digits = match giga {
        g if g < 0.995 => format!("{g:.2}"),
        g if g < 9.95 => format!("{g:.1}"),
        g => format!("{g:.0}"),
    };
    match of_peak {
        Some(of_peak) => format!("{digits} {}", share(of_peak)),
        None => digits,
    }
}

/// Pads to a width in columns of the terminal, on the left or on the right.
pub(super) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

pub(super) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// At most `width` columns, with an ellipsis where something was left out.
pub(super) fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut clipped = String::new();
    for c in text.chars() {
        if clipped.width() + 2 > width {
            break;
        }
        clipped.push(c);
    }
    clipped + "…"
}

/// At most `width` columns, with what was left out in the middle: the end of a
/// device's name tells whether it is software.
pub(super) fn clipped_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut tail = String::new();
    for c in text.chars().rev() {
        if tail.width() + 1 > width * 2 / 3 {
            break;
        }
        tail.insert(0, c);
    }
    let head = clipped(text, width.saturating_sub(tail.width()));
    head + &tail
}

/// Text from anyone's file without what a terminal would obey: control
/// characters, and marks that turn the direction of writing.
pub(crate) fn shown(text: &mut String) {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(obeyed) {
        *text = text.replace(obeyed, "\u{fffd}");
    }
}

/// Breaks a text into lines of at most `width` columns, at spaces, but not
/// between the groups of a number.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_group(last, word) => *last += &format!(" {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines = vec![String::new()];
    for word in &words {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Whether the second word goes on with the number in the first: `12`, `345`.
fn is_group(number: &str, word: &str) -> bool {
    number.ends_with(|c: char| c.is_ascii_digit()) && word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_figures() {
        assert_eq!(time(1_234_567.0), "1.23ms");
        assert_eq!(per_s(8_123.4), "8 123");
        assert_eq!(per_s(81_234.0), "81.2k");
        assert_eq!(per_s(812_345.0), "812k");
        assert_eq!(per_s(12_300_000.0), "12.3M");
        assert_eq!(share(0.034), "3.4%");
        assert_eq!(share(0.0996), "10%");
        assert_eq!(giga(Some(12.34e9), Some(0.35)), "12 35%");
        assert_eq!(giga(Some(0.1234e9), None), "0.12");
        assert_eq!(giga(None, Some(0.1)), "");
    }

    #[test]
    fn padding_counts_columns_not_bytes() {
        assert_eq!(right("1µs", 5), "  1µs");
        assert_eq!(clipped("vulkan:nvidia-geforce", 10), "vulkan:nv…");
        assert_eq!(wrapped("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrapped("of 12 345 678, a", 6), ["of", "12 345 678,", "a"]);
        let long = "vulkan:swiftshader-device-subzero (software)";
        assert_eq!(clipped_middle(long, 26), "vulkan:s…ubzero (software)");
        assert_eq!(clipped_middle("cpu", 26), "cpu");
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        let mut text = "a\u{1b}]0;b\u{7}\nc\u{202e}d".to_owned();
        shown(&mut text);
        assert_eq!(text, "a\u{fffd}]0;b\u{fffd}\u{fffd}c\u{fffd}d");
    }
}
