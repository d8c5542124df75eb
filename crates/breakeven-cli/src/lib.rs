//! The `breakeven` command as a function: arguments in, text and an exit code
//! out. The libraries measure and judge; this crate parses and prints. Commands
//! return what happened, from which `exit` alone chooses the exit code.

mod args;
mod commands;
#[cfg(feature = "engine")]
mod engine;
pub mod exit;
#[cfg(any(test, not(feature = "engine")))]
mod left_out;
mod output;

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Error, Result};
use breakeven_judge::page::clean;
use clap::Parser;

use args::{Cli, Command};
use exit::{Ending, Exit, Interrupted};

/// Runs the command line `args` (the program's name first).
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Exit {
    let happened = match parse(args) {
        Ok(cli) => command(&cli.command, out, err),
        Err(error) => help(error, out),
    };
    let happened = happened.and_then(|ending| {
        output::unless_closed(out.flush().map_err(Into::into))?;
        Ok(ending)
    });
    if let Err(error) = &happened {
        tell(error, err);
    }
    match Exit::of(&happened) {
        Exit::Done if output::take_closed() => Exit::Closed,
        exit => exit,
    }
}

/// Prints the text of `--help` and `--version`, which end the parsing of arguments.
fn help(error: Error, out: &mut dyn Write) -> Result<Ending> {
    match error.downcast_ref::<clap::Error>() {
        Some(usage) if !usage.use_stderr() => {
            write!(out, "{}", usage.render().ansi())?;
            Ok(Ending::Done)
        }
        _ => Err(error),
    }
}

#[cfg(feature = "engine")]
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli> {
    Ok(Cli::try_parse_from(args)?)
}

#[cfg(not(feature = "engine"))]
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli> {
    let args: Vec<OsString> = args.into_iter().collect();
    left_out::check(&args)?;
    Ok(Cli::try_parse_from(args)?)
}

fn command(command: &Command, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    match command {
        #[cfg(feature = "engine")]
        Command::Engine(command) => engine::run(command, out, err),
        Command::Show(args) => commands::show::run(args, out, err),
        Command::Compare(args) => commands::compare::run(args, out, err),
        Command::Convert(args) => commands::convert::run(args, out, err),
        Command::History(args) => commands::history::run(args, out, err),
        Command::Report(args) => commands::report::run(args, err),
        Command::Advise(args) => commands::advise::run(args, out, err),
        Command::Completions(args) => commands::describe::completions(args, out),
        Command::Man(args) => commands::describe::man(args, err),
    }
}

/// Says why a command ended early, if anybody is left to tell.
fn tell(error: &Error, err: &mut dyn Write) {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        let _ = write!(err, "{}", usage.render().ansi());
    } else if !error.chain().any(output::is_closed_pipe) {
        let sign = if error.is::<Interrupted>() {
            ""
        } else {
            "error: "
        };
        // There may be names from files in it.
        for line in format!("{sign}{error:#}").lines() {
            let _ = writeln!(err, "{}", clean(line));
        }
    }
}
