//! `breakeven import`.

use std::path::PathBuf;

use clap::Args;

use super::InputArgs;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files of other tools; each further file adds runs
    #[arg(required_unless_present = "list")]
    pub(crate) files: Vec<PathBuf>,

    /// Profile file to write; it is replaced in one step
    #[arg(short, long, value_name = "FILE", required_unless_present = "list")]
    pub(crate) output: Option<PathBuf>,

    /// List the formats that are read
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}
