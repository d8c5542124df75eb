//! `breakeven baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Make the runs of profiles the baseline, after a look at what changes
    Accept(AcceptArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// Profiles whose runs become the baseline
    #[arg(value_name = "CURRENT", required = true)]
    pub(crate) current: Vec<PathBuf>,

    /// The file that is replaced
    #[arg(long, value_name = "FILE", default_value = "breakeven-baseline.json")]
    pub(crate) baseline: PathBuf,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Take profiles whose measuring was interrupted too
    #[arg(long)]
    pub(crate) allow_interrupted: bool,
}
