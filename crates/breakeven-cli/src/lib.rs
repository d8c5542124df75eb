//! The `breakeven` command as a function: arguments in, text and an exit code
//! out. The libraries measure and judge; this crate parses, prints and chooses
//! the exit code.

mod args;
mod commands;
mod execution;
pub mod exit;
mod image;
mod output;
mod protocol;
mod series;
mod session;
mod suite;
mod supervisor;
mod worker;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;
use clap::error::ErrorKind;

use breakeven_judge::page::clean;

use args::{BaselineCommand, Cli, Command};
use exit::Exit;

/// Runs the command line `args` (the program's name first).
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let wanted = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            let text = error.render();
            // A closed pipe leaves nobody to tell.
            if wanted {
                let _ = write!(out, "{}", text.ansi());
                return Exit::Done;
            }
            let _ = write!(err, "{}", text.ansi());
            return Exit::WrongUse;
        }
    };
    let outcome = match &cli.command {
        Command::Profile(args) => commands::profile::run(args, out, err),
        Command::Sweep(args) => commands::sweep::run(args, out, err),
        Command::Plan(args) => commands::plan::run(args, out, err),
        Command::Devices(args) => commands::devices::run(args, out, err),
        Command::Show(args) => commands::show::run(args, out, err),
        Command::Compare(args) => commands::compare::run(args, out),
        Command::Baseline(BaselineCommand::Accept(args)) => commands::accept::run(args, out),
        Command::Export(args) => commands::export::run(args, out),
        Command::Advise(args) => commands::advise::run(args, out, err),
        Command::Worker => worker::own_channel(out)
            .and_then(|mut channel| worker::run(std::io::stdin().lock(), &mut *channel)),
    };
    outcome.unwrap_or_else(|error| {
        // `head` and the like close the pipe when they have enough.
        if error.chain().any(output::is_closed_pipe) {
            return Exit::Done;
        }
        // There may be names from files in it.
        let text = format!("error: {error:#}");
        for line in text.lines() {
            let _ = writeln!(err, "{}", clean(line));
        }
        Exit::WrongUse
    })
}
