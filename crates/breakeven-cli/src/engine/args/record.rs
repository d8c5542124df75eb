//! `breakeven monitor --record`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Write the load to a profile file, until Ctrl-C, for --duration, or while the command
    /// behind -- runs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["once", "serve"])]
    pub(crate) record: Option<PathBuf>,

    /// Record for so long, as in 30s; with a command at most so long
    #[arg(long, value_name = "TIME", requires = "record", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// The profile that the command writes, or another tool's file: it is put into the
    /// recorded file, with the load
    #[arg(long, value_name = "FILE", requires_all = ["record", "command"])]
    pub(crate) profile: Option<PathBuf>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = super::ab::time(text)?;
    (!duration.is_zero())
        .then_some(duration)
        .ok_or_else(|| "give a time above zero, as in 30s".to_owned())
}
