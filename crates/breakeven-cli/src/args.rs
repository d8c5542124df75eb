//! The command line.

use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod advise;
pub(crate) mod compare;
mod convert;
mod describe;
pub(crate) mod history;
mod input;
mod report;

pub(crate) use advise::AdviseArgs;
pub(crate) use compare::{CompareArgs, CompareFormat, Output};
pub(crate) use convert::{ConvertArgs, ConvertFormat};
pub(crate) use describe::{CompletionsArgs, ManArgs};
pub(crate) use history::{
    AddArgs, AnnotateArgs, BranchArgs, ChangesArgs, EntryArgs, ExportSeriesArgs, HistoryArgs,
    HistoryCommand, ListArgs, SensitivityArgs, SeriesFormat, ShowSeriesArgs,
};
pub(crate) use input::InputArgs;
pub(crate) use report::ReportArgs;

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

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Profile file, or a file of another tool
    pub(crate) file: PathBuf,

    /// Budgets for means and memory
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) input: InputArgs,
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

/// A question whether the most similar of the names was meant; empty where none is.
pub(crate) fn similar<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let likely = (names.into_iter())
        .map(|name| (strsim::jaro_winkler(name, text), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(likeness, _)| *likeness > 0.7);
    likely.map_or_else(String::new, |(_, name)| format!("did you mean {name:?}? "))
}
