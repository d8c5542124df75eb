//! Describes the arguments: shell completions and manual pages.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Ending;

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
    mut command: Command,
    out: &mut dyn Write,
) -> Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "breakeven", &mut script);
    out.write_all(&script)?;
    Ok(Ending::Done)
}

pub(crate) fn man(args: &ManArgs, command: Command, err: &mut dyn Write) -> Result<Ending> {
    let folder = args.folder.display();
    fs::create_dir_all(&args.folder).with_context(|| format!("cannot make the folder {folder}"))?;
    clap_mangen::generate_to(command, &args.folder)
        .with_context(|| format!("cannot write the manual to {folder}"))?;
    writeln!(err, "wrote the manual to {folder}")?;
    Ok(Ending::Done)
}
