//! Arguments of `breakeven history`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::input::InputArgs;
use crate::values::part;

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The history's file
    #[arg(
        long,
        value_name = "FILE",
        default_value = "breakeven-history.db",
        global = true
    )]
    pub(crate) history: PathBuf,

    #[command(subcommand)]
    pub(crate) command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Add profiles: those of one commit and machine become the runs of one entry; the history is
    /// created if it does not exist
    Add(AddArgs),
    /// List the entries
    List(ListArgs),
    /// Show an operation's values over time, or a summary of all operations
    Show(ShowSeriesArgs),
    /// Find where the level of an operation changed, and which regressions are still open
    Changes(ChangesArgs),
    /// Add a note to an entry, or accept its changes
    Annotate(AnnotateArgs),
    /// Remove entries
    Remove(RemoveArgs),
    /// Write all values as CSV, or an entry as a profile file
    Export(ExportSeriesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Profiles, or files of other tools
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The commit that was measured [default: the profile's revision, else the commit that git or
    /// the CI system reports]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) at: Option<String>,

    /// Its branch, or '' for none [default: as git or the CI system reports]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// When the commit was made, as in 2026-03-01T12:00:00Z; series are in this order [default: as
    /// git reports, else when the profile was measured]
    #[arg(long, value_name = "TIME")]
    pub(crate) date: Option<String>,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// The selected series.
#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    /// The branch to use; '' means detached checkouts [default: the branch with the most entries]
    #[arg(long, value_name = "NAME", conflicts_with = "all_branches")]
    pub(crate) branch: Option<String>,

    /// Use the entries of all branches as one series
    #[arg(long)]
    pub(crate) all_branches: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only the entries of this branch; '' means detached checkouts
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowSeriesArgs {
    /// Operation to show [default: a summary of all]
    pub(crate) operation: Option<String>,

    #[command(flatten)]
    pub(crate) branch: BranchArgs,

    #[command(flatten)]
    pub(crate) sensitivity: SensitivityArgs,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

#[derive(Debug, Args)]
pub(crate) struct SensitivityArgs {
    /// Smallest change of a level that counts, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = part)]
    pub(crate) threshold: f64,

    /// Slowdown factor from which the newest one or two values alone cause an alert
    #[arg(long, value_name = "FACTOR", default_value = "1.5", value_parser = factor)]
    pub(crate) factor: f64,
}

#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    /// Only this operation
    pub(crate) operation: Option<String>,

    /// Only alerts: regressions that are still open and not accepted
    #[arg(long)]
    pub(crate) open: bool,

    /// Exit with code 1 if there is an alert, or an operation failed in the newest entry
    #[arg(long)]
    pub(crate) gate: bool,

    #[command(flatten)]
    pub(crate) sensitivity: SensitivityArgs,

    #[command(flatten)]
    pub(crate) branch: BranchArgs,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

/// The selected entry.
#[derive(Debug, Args)]
pub(crate) struct EntryArgs {
    /// The entry's number
    #[arg(required_unless_present = "at", conflicts_with = "at", value_parser = number)]
    pub(crate) entry: Option<i64>,

    /// The commit of the entry instead; a prefix is enough
    #[arg(long, value_name = "COMMIT")]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct AnnotateArgs {
    #[command(flatten)]
    pub(crate) entry: EntryArgs,

    /// The note, one line
    pub(crate) text: String,

    /// Accept the regressions that began there, so that they are no longer alerts
    #[arg(long)]
    pub(crate) accept: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The entries' numbers
    #[arg(required = true, value_name = "ENTRY", value_parser = number)]
    pub(crate) entries: Vec<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportSeriesArgs {
    /// The number of an entry to write as a profile file
    #[arg(long, requires = "output")]
    pub(crate) entry: Option<i64>,

    #[command(flatten)]
    pub(crate) branch: BranchArgs,

    /// File to write; it is replaced in one step [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The number of an entry.
fn number(text: &str) -> Result<i64, String> {
    let hint = "give the number of an entry, as `breakeven history list` has it";
    text.parse().map_err(|_| hint.to_owned())
}

/// A factor above 1.
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.trim().parse::<f64>().ok();
    let factor = factor.filter(|factor| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| "give a factor above 1, as in 1.5".to_owned())
}
