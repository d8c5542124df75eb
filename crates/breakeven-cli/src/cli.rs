//! The command line.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use breakeven_judge::Outcome;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::advise::AdviseArgs;
use crate::audit::AuditArgs;
use crate::compare::args::CompareArgs;
use crate::convert::ConvertArgs;
use crate::history::args::HistoryArgs;
use crate::report::ReportArgs;
use crate::show::ShowArgs;

#[cfg_attr(
    feature = "engine",
    doc = "Runs each batch of work where it pays (CPU, GPU or both), measures it, and judges what \
           was measured."
)]
#[cfg_attr(
    not(feature = "engine"),
    doc = "Judges what was measured: compares, gates, advises, reports. This build has no commands \
           that measure or run."
)]
#[derive(Debug, Parser)]
#[command(name = "breakeven", version, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 done or passed, 1 a regression, work that failed or a budget \
                        that was exceeded, 2 wrong use, unreadable or mismatched input, 3 \
                        nothing could be judged, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The commands that measure and run
    #[cfg(feature = "engine")]
    #[command(flatten)]
    Engine(crate::engine::Command),
    /// Print the tables of a profile file
    Show(ShowArgs),
    /// Compare two profiles: what became slower or faster, and what is inconclusive
    Compare(CompareArgs),
    /// Convert between profiles and the files of other benchmarks and profilers
    Convert(ConvertArgs),
    /// Keep profiles over time, and find what changed and when
    History(HistoryArgs),
    /// Replay past results through a rule for CI, and count its false alarms
    Audit(AuditArgs),
    /// Write a profile as one self-contained HTML page, for a browser
    Report(ReportArgs),
    /// Advise what to change first, and estimate what it saves
    Advise(AdviseArgs),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write the manual pages of these commands
    #[command(hide = true)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell, as in: breakeven completions bash >
    /// ~/.local/share/bash-completion/completions/breakeven
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write breakeven.1, breakeven-profile.1 and so on to; it is created if it does not
    /// exist
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut command: clap::Command,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "breakeven", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Passed)
}

pub(crate) fn man(args: &ManArgs, command: clap::Command, err: &mut dyn Write) -> Result<Outcome> {
    let folder = args.folder.display();
    fs::create_dir_all(&args.folder).with_context(|| format!("cannot make the folder {folder}"))?;
    clap_mangen::generate_to(command, &args.folder)
        .with_context(|| format!("cannot write the manual to {folder}"))?;
    writeln!(err, "wrote the manual to {folder}")?;
    Ok(Outcome::Passed)
}
