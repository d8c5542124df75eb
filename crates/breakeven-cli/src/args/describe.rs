//! `breakeven completions` and `breakeven man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell, as in: breakeven completions bash >
    /// ~/.local/share/bash-completion/completions/breakeven
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write breakeven.1, breakeven-profile.1 and so on to; it is created
    /// if it is missing
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
