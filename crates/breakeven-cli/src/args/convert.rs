//! `breakeven convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Profile files, or files of other tools; each further file adds runs
    #[arg(value_name = "FILE", required_unless_present = "list")]
    pub(crate) files: Vec<PathBuf>,

    /// Format to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) to: ConvertFormat,

    /// File to write; it is replaced in one step [default: -, the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// List the formats that are read
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertFormat {
    /// A profile file
    #[default]
    Profile,
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
