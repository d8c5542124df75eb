//! `breakeven report`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Profile files, or files of other tools; the runs of several are put together
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Profiles to compare against, their runs put together; the page then has verdicts
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) baseline: Vec<PathBuf>,

    /// A history (`breakeven history`): how the operations developed, and what changed when
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Budgets for means and memory
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// The page's title [default: the names of the files]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// HTML file to write; it is replaced in one step
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}
