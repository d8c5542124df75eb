//! The command line.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
#[cfg(feature = "engine")]
use std::{num::NonZeroU32, time::Duration};

#[cfg(feature = "engine")]
use breakeven_profile::unit;
use clap::{Parser, Subcommand, ValueEnum};

use crate::advise::AdviseArgs;
use crate::compare::args::CompareArgs;
use crate::convert::ConvertArgs;
use crate::describe::{CompletionsArgs, ManArgs};
use crate::history::args::HistoryArgs;
use crate::report::ReportArgs;
use crate::show::ShowArgs;

#[cfg_attr(
    feature = "engine",
    doc = "Runs each batch of work where it pays (CPU, GPU or both), measures it, and judges what \
           was measured."
)]
#[cfg_attr(
    not(feature = "engine"),
    doc = "Judges what was measured: compares, gates, advises, reports. This build has no commands \
           that measure or run."
)]
#[derive(Debug, Parser)]
#[command(name = "breakeven", version, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 done or passed, 1 a regression, work that failed or a budget \
                        that was exceeded, 2 wrong use, unreadable or mismatched input, 3 \
                        nothing could be judged, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Those that measure and run
    #[cfg(feature = "engine")]
    #[command(flatten)]
    Engine(crate::engine::Command),
    /// Print the tables of a profile file
    Show(ShowArgs),
    /// Compare two profiles: what became slower, what faster, what is inconclusive
    Compare(CompareArgs),
    /// Convert between profiles and the files of other benchmarks and profilers
    Convert(ConvertArgs),
    /// Keep profiles over time, and find what changed when
    History(HistoryArgs),
    /// Write a profile as one self-contained HTML page, for a browser
    Report(ReportArgs),
    /// Advise what to change first, and estimate what it saves
    Advise(AdviseArgs),
    /// Print completions of these commands for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write the manual pages of these commands
    #[command(hide = true)]
    Man(ManArgs),
}

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

/// A question whether the most similar of the names was meant; empty where none is.
pub(crate) fn similar<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let likely = (names.into_iter())
        .map(|name| (strsim::jaro_winkler(name, text), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(likeness, _)| *likeness > 0.7);
    likely.map_or_else(String::new, |(_, name)| format!("did you mean {name:?}? "))
}
