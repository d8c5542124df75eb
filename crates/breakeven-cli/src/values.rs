//! Values of arguments that several commands take: formats, numbers, times, fractions.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
#[cfg(feature = "engine")]
use std::{num::NonZeroU32, time::Duration};

use breakeven_judge::Threshold;
#[cfg(feature = "engine")]
use breakeven_profile::unit;
use clap::ValueEnum;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, as wide as the terminal
    #[default]
    Table,
    /// The profile file, with figures and verdicts beside the samples
    Json,
    /// For a report or a CI summary
    Markdown,
    /// One line per kernel, device and phase
    Csv,
}

/// Of what is no profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// For people, as wide as the terminal
    #[default]
    Table,
    /// For programs
    Json,
    /// For a report or a CI summary
    Markdown,
}

/// The same of what nobody puts into a report.
#[cfg(feature = "engine")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For people, as wide as the terminal
    #[default]
    Table,
    /// For programs
    Json,
}

/// A whole number from 1 on.
pub(crate) fn one_or_more<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large".to_owned(),
            _ => "give a whole number, 1 or more".to_owned(),
        })
}

/// A time of whole seconds, one or more.
#[cfg(feature = "engine")]
pub(crate) fn seconds(text: &str) -> Result<NonZeroU32, String> {
    let time = time(text)?;
    let seconds = u32::try_from(time.as_secs()).ok().and_then(NonZeroU32::new);
    seconds
        .filter(|_| time.subsec_nanos() == 0)
        .ok_or_else(|| "give whole seconds, 1s or more".to_owned())
}

/// A time, as in 60s.
#[cfg(feature = "engine")]
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    // Nobody waits for a thousandth of something: `10m` is what it is to `sleep`.
    let minutes = text
        .strip_suffix('m')
        .map(|number| [number, "min"].concat());
    let given = minutes.as_deref().unwrap_or(text);
    let ns =
        unit::parse_time(given).map_err(|_| unit::UnitError::Time(text.to_owned()).to_string())?;
    Duration::try_from_secs_f64(ns / 1e9).map_err(|_| "give a time that can be waited for".into())
}

pub(crate) fn threshold(text: &str) -> Result<Threshold, String> {
    let fraction = part(text)?;
    Threshold::percent(fraction * 100.0).map_err(|error| error.to_string())
}

/// A fraction: `5%` or `0.05`.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| "give a fraction as in 5% or 0.05".to_owned())?;
    if !(number.is_finite() && number > 0.0) {
        Err("give a fraction above zero, as in 5% or 0.05".to_owned())
    } else if scale == 1.0 && number > 1.0 {
        let percent = number * 100.0;
        Err(format!("{number} is {percent} %; did you mean {number}%?"))
    } else {
        Ok(number * scale)
    }
}

#[cfg(feature = "engine")]
/// A value of a type of the library, such as a strategy.
pub(crate) fn parsed<T: FromStr<Err = breakeven::Error>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error: breakeven::Error| error.to_string())
}

#[cfg(feature = "engine")]
/// A kernel's name; the error suggests the most similar one.
pub(crate) fn kernel(text: &str) -> Result<&'static str, String> {
    let names = breakeven::kernels::NAMES;
    if let Some(name) = names.into_iter().find(|name| *name == text) {
        return Ok(name);
    }
    let hint = similar(text, names);
    Err(format!(
        "there is no such kernel; {hint}there are {}",
        names.join(", ")
    ))
}

/// A question whether the most similar of the names was meant; empty where none is.
pub(crate) fn similar<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let likely = (names.into_iter())
        .map(|name| (strsim::jaro_winkler(name, text), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(likeness, _)| *likeness > 0.7);
    likely.map_or_else(String::new, |(_, name)| format!("did you mean {name:?}? "))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts() {
        assert_eq!(part("5%"), Ok(0.05));
        assert_eq!(part("2.5 %"), Ok(0.025));
        assert_eq!(part("0.05"), Ok(0.05));
        assert_eq!(part("150%"), Ok(1.5));
        for wrong in ["", "%", "five", "-5%", "0", "nan", "inf", "5"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
