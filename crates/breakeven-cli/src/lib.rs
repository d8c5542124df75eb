//! The `breakeven` command as a function: arguments in, text and an exit code out. The libraries
//! measure and judge; this crate parses and prints. Commands return their outcome; only `exit`
//! chooses the exit code.

#[cfg(feature = "engine")]
mod ab;
mod advise;
mod audit;
mod cli;
mod compare;
mod convert;
#[cfg(feature = "engine")]
mod devices;
#[cfg(feature = "engine")]
mod doctor;
#[cfg(feature = "engine")]
mod engine;
mod exit;
mod history;
mod input;
#[cfg(any(test, not(feature = "engine")))]
mod left_out;
#[cfg(feature = "engine")]
mod monitor;
#[cfg(feature = "engine")]
mod plan;
mod print;
#[cfg(feature = "engine")]
mod profile;
mod report;
#[cfg(all(unix, feature = "engine"))]
mod run;
mod show;
#[cfg(feature = "engine")]
mod sweep;
#[cfg(feature = "engine")]
mod tune;
mod values;

use std::ffi::{OsStr, OsString};
use std::io::Write;

use anyhow::{Error, Result};
use breakeven_judge::Outcome;
use breakeven_judge::page::clean;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use exit::Interrupted;
use print::Output;

/// Runs the command line `args` (the program's name first) and returns the exit code.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let is_closed = false;
    let mut out = Output { out, is_closed };
    let happened = match parse(args) {
        Ok(cli) => command(&cli.command, &mut out, err),
        Err(error) => help(error, &mut out),
    };
    let happened = happened.and_then(|outcome| {
        out.flush()?;
        Ok(outcome)
    });
    if let Err(error) = &happened {
        print_error(error, err);
    }
    exit::code(&happened, out.is_closed)
}

/// Prints the text of `--help` and `--version`, which end the parsing of arguments.
fn help(error: Error, out: &mut dyn Write) -> Result<Outcome> {
    match error.downcast_ref::<clap::Error>() {
        Some(usage) if !usage.use_stderr() => {
            write!(out, "{}", usage.render().ansi())?;
            Ok(Outcome::Passed)
        }
        _ => Err(error),
    }
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli> {
    let args: Vec<OsString> = args.into_iter().collect();
    #[cfg(not(feature = "engine"))]
    left_out::check(&args)?;
    let command = args.get(1).cloned().unwrap_or_default();
    Ok(Cli::try_parse_from(args).map_err(|error| with_suggestion(error, &command))?)
}

/// Suggests the command for names whose letters are not like its own, and what to write in place
/// of an argument too many.
fn with_suggestion(mut error: clap::Error, command: &OsStr) -> clap::Error {
    let unknown = error.get(ContextKind::InvalidSubcommand);
    if matches!(unknown, Some(ContextValue::String(name)) if name == "import" || name == "export") {
        let convert = ContextValue::Strings(vec!["convert".to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, convert);
    }
    let unknown = error.get(ContextKind::InvalidArg);
    let is_file = matches!(unknown, Some(ContextValue::String(name)) if !name.starts_with('-'));
    let hint = match command.to_str().filter(|_| is_file) {
        _ if error.kind() != ErrorKind::UnknownArgument => return error,
        Some("compare") => "several files per side: --baseline OLD... --current NEW...",
        Some("profile") => "a program stands behind --: breakeven profile -- ./program",
        _ => return error,
    };
    let hint = ContextValue::StyledStrs(vec![hint.into()]);
    error.insert(ContextKind::Suggested, hint);
    error
}

fn command(command: &Command, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    match command {
        #[cfg(feature = "engine")]
        Command::Engine(command) => engine::run(command, out, err),
        Command::Show(args) => show::run(args, out, err),
        Command::Compare(args) => compare::run(args, out, err),
        Command::Convert(args) => convert::run(args, out, err),
        Command::History(args) => history::run(args, out, err),
        Command::Audit(args) => audit::run(args, out, err),
        Command::Report(args) => report::run(args, err),
        Command::Advise(args) => advise::run(args, out, err),
        Command::Completions(args) => cli::completions(args, Cli::command(), out),
        Command::Man(args) => cli::man(args, Cli::command(), err),
    }
}

/// Prints why a command ended early, if the output is still open.
fn print_error(error: &Error, err: &mut dyn Write) {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        let _ = write!(err, "{}", usage.render().ansi());
    } else if !error.chain().any(print::is_closed_pipe) {
        let sign = if error.is::<Interrupted>() {
            ""
        } else {
            "error: "
        };
        // Escaped, because it may contain names from files.
        for line in format!("{sign}{error:#}").lines() {
            let _ = writeln!(err, "{}", clean(line));
        }
    }
}
