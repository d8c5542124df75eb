//! `breakeven advise`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Profile file, or a file of another tool
    pub(crate) file: PathBuf,

    /// A file of `breakeven sweep`, or another profile of the same machine, whose
    /// break-even sizes and peaks are used too; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Vec<PathBuf>,

    /// Number of suggestions to show, starting with those that save most
    #[arg(long, value_name = "N", default_value = "10", value_parser = super::one_or_more::<NonZeroUsize>)]
    pub(crate) top: NonZeroUsize,

    /// Only suggestions that save a quarter of the whole time or more
    #[arg(long)]
    pub(crate) critical: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::args::PageFormat,

    /// File to write instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}
