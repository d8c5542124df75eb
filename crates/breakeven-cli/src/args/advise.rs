//! `breakeven advise`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::compare::part;

#[derive(Debug, Args)]
#[command(override_usage = "breakeven advise [OPTIONS] <FILE>\n       \
                            breakeven advise [OPTIONS] --realised <BEFORE> <AFTER>")]
pub(crate) struct AdviseArgs {
    /// Profile file, or a file of another tool
    #[arg(required_unless_present = "realised")]
    pub(crate) file: Option<PathBuf>,

    /// Measure by AFTER what the advice on BEFORE was worth
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    #[arg(conflicts_with_all = ["file", "top", "critical"])]
    pub(crate) realised: Option<Vec<PathBuf>>,

    /// A file of `breakeven sweep`, or another profile of the same machine, whose
    /// break-even sizes and peaks are used too; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "realised")]
    pub(crate) evidence: Vec<PathBuf>,

    /// Number of suggestions to show, starting with those that save most
    #[arg(long, value_name = "N", default_value = "10", value_parser = super::one_or_more::<NonZeroUsize>)]
    pub(crate) top: NonZeroUsize,

    /// Only suggestions that save a quarter of the whole time or more
    #[arg(long)]
    pub(crate) critical: bool,

    /// Standard deviation between runs, as in 3% or 0.03, for an interval where a
    /// profile has only one run
    #[arg(long, value_name = "FRACTION", conflicts_with = "file", value_parser = part)]
    pub(crate) noise: Option<f64>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::args::PageFormat,

    /// File to write instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}
