//! Figures as tools print them for people.

use crate::unit::{Unit, value_and_unit};

/// A line without the colours of a terminal, and without what was overwritten.
pub(crate) fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let codes = part.strip_prefix('[');
        let end = codes.and_then(|codes| codes.find(|each: char| ('@'..='~').contains(&each)));
        match (codes, end) {
            (Some(codes), Some(end)) => text + &codes[end + 1..],
            _ => text + part,
        }
    })
}

/// A time such as `2.4 µs`, ns.
pub(crate) fn time(text: &str) -> Option<f64> {
    let (value, unit) = value_and_unit(text);
    let value: f64 = value.parse().ok()?;
    Some(Unit::named(unit)?.ns(value))
}

/// A value such as `8.3 GB/s` without the prefix of its unit.
pub(crate) fn scaled(text: &str) -> Option<(f64, &str)> {
    let (value, unit) = value_and_unit(text);
    let value: f64 = value.parse().ok()?;
    let prefixes = ['K', 'M', 'G', 'T', 'P'].into_iter().zip(1..);
    let found = prefixes.filter_map(|(prefix, power)| Some((unit.strip_prefix(prefix)?, power)));
    Some(match found.last() {
        None => (value, unit),
        Some((unit, power)) => match unit.strip_prefix('i') {
            Some(unit) if !unit.starts_with('t') => (value * 1024_f64.powi(power), unit),
            _ => (value * 1e3_f64.powi(power), unit),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_what_was_overwritten_are_left_out() {
        assert_eq!(plain("\u{1b}[1m\u{1b}[32ma\u{1b}[0m\u{1b}[Kb m"), "ab m");
        assert_eq!(plain("Benchmarking a\r\u{1b}[Ka  time\r"), "a  time");
        assert_eq!(plain("a\u{1b}b"), "ab");
    }
}
