//! `breakeven export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Profile file, or a file of another tool
    pub(crate) file: PathBuf,

    /// Format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,

    /// Baseline to compare the profile with; each call gets its verdict
    /// (--to chrome only)
    #[arg(long, value_name = "BASELINE")]
    pub(crate) compare: Option<PathBuf>,

    /// File to write; it is replaced in one step [default: -, the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Trace of single calls, for Perfetto and chrome://tracing
    Chrome,
    /// For speedscope.app
    Speedscope,
    /// A line per call path, for the tools around flamegraph.pl
    Collapsed,
    /// Flame graph as SVG, for a browser
    Flamegraph,
    /// The tables of `breakeven show`
    Markdown,
    /// The figures of `breakeven show`
    Csv,
}
