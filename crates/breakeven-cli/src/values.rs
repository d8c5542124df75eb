//! Argument values that several commands share: formats, numbers, times, fractions.

use std::num::{IntErrorKind, ParseIntError};
use std::path::Path;
use std::str::FromStr;
#[cfg(feature = "engine")]
use std::{
    num::{NonZeroU32, NonZeroU64},
    ops::RangeInclusive,
    time::Duration,
};

use breakeven_judge::Threshold;
use breakeven_profile::unit;
use clap::ValueEnum;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table, as wide as the terminal
    #[default]
    Table,
    /// The profile file's JSON, with computed figures and verdicts added
    Json,
    /// For a report or a CI summary
    Markdown,
    /// One line per kernel, device and phase
    Csv,
}

/// Formats of output other than a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// A table, as wide as the terminal
    #[default]
    Table,
    /// JSON
    Json,
    /// For a report or a CI summary
    Markdown,
}

/// The format that the end of a file's name stands for.
pub(crate) fn by_extension<F: Copy>(path: &Path, formats: &[(&str, F)]) -> Option<F> {
    let end = path.extension()?.to_str()?;
    let format = |(known, format): &(&str, F)| end.eq_ignore_ascii_case(known).then_some(*format);
    formats.iter().find_map(format)
}

/// A whole number, 1 or more.
pub(crate) fn one_or_more<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large".to_owned(),
            _ => "give a whole number, 1 or more".to_owned(),
        })
}

/// A whole number, 1 or more, as in 500, 64k, 10M or 1G.
#[cfg(feature = "engine")]
pub(crate) fn count(text: &str) -> Result<NonZeroU64, String> {
    let suffixes = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let scaled = (suffixes.into_iter())
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)));
    let (digits, factor) = scaled.unwrap_or((text, 1));
    let number: NonZeroU64 = one_or_more(digits)
        .map_err(|why| format!("{why}, perhaps with k, M or G behind it, as in 10M"))?;
    let factor = NonZeroU64::MIN.saturating_add(factor - 1);
    (number.checked_mul(factor)).ok_or_else(|| "the number is too large".to_owned())
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
    // No milliseconds: nobody waits that short a time, and `10m` means minutes to `sleep`.
    let minutes = text
        .strip_suffix('m')
        .map(|number| [number, "min"].concat());
    let given = minutes.as_deref().unwrap_or(text);
    let ns =
        unit::parse_time(given).map_err(|_| unit::UnitError::Time(text.to_owned()).to_string())?;
    Duration::try_from_secs_f64(ns / 1e9).map_err(|_| "give a time that can be waited for".into())
}

#[cfg(feature = "engine")]
pub(crate) fn positive_time(text: &str) -> Result<Duration, String> {
    time_in(
        text,
        Duration::from_nanos(1)..=Duration::MAX,
        "a time above 0",
    )
}

/// A time of this range, which `said` describes.
#[cfg(feature = "engine")]
pub(crate) fn time_in(
    text: &str,
    range: RangeInclusive<Duration>,
    said: &str,
) -> Result<Duration, String> {
    match time(text)? {
        time if range.contains(&time) => Ok(time),
        _ => Err(format!("give {said}")),
    }
}

pub(crate) fn threshold(text: &str) -> Result<Threshold, String> {
    let fraction = part(text)?;
    Threshold::percent(fraction * 100.0).map_err(|error| error.to_string())
}

/// A fraction: `5%` or `0.05`.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    unit::parse_fraction(text).map_err(|error| error.to_string())
}

#[cfg(feature = "engine")]
/// A value of one of the library's types, such as a strategy.
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
    Err(unknown("kernel", text, &names))
}

/// That there is no such thing, and what there is.
pub(crate) fn unknown(what: &str, text: &str, names: &[&str]) -> String {
    let hint = similar(text, names.iter().copied());
    format!(
        "there is no such {what}; {hint}there are {}",
        names.join(", ")
    )
}

/// Asks whether the most similar name was meant; empty if none is similar.
pub(crate) fn similar<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    // A test's name is in its full one, behind that of a file.
    let is_in = |name: &str| text.len() > 2 && name.contains(text);
    let likeness = |name| f64::from(u8::from(is_in(name))) + strsim::jaro_winkler(name, text);
    let likely = (names.into_iter())
        .map(|name| (likeness(name), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(likeness, _)| *likeness > 0.7);
    likely.map_or_else(String::new, |(_, name)| format!("did you mean {name:?}? "))
}
