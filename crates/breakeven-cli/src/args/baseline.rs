//! `breakeven baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Show what changed, then make the runs of the profiles the new baseline
    Accept(AcceptArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// Profiles whose runs become the baseline
    #[arg(value_name = "CURRENT", required = true)]
    pub(crate) current: Vec<PathBuf>,

    /// Baseline file to replace
    #[arg(long, value_name = "FILE", default_value = "breakeven-baseline.json")]
    pub(crate) baseline: PathBuf,

    /// Show what changed, but do not replace the baseline
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Accept profiles of interrupted measurements too
    #[arg(long)]
    pub(crate) allow_interrupted: bool,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}
