//! Starts, times and, at the time limit, ends the compared commands.

use std::ffi::OsStr;

use anyhow::{Context, Result, bail};

use super::{Limit, Time};
use crate::ab::args::{AbArgs, CommandLine};
use crate::run::process::{How, Process};
use crate::run::running::{Running, watched};
use crate::run::template::{Filling, Template};

/// A command that failed.
#[derive(Debug, thiserror::Error)]
#[error("{command:?} failed ({how}): both commands must succeed to be compared")]
pub(super) struct Failed {
    command: String,
    how: How,
}

/// Calls `body` with a function that times a run of the second command if its argument is true, ns;
/// none if the limit ended it.
pub(super) fn timed<R>(
    args: &AbArgs,
    limit: Limit,
    body: impl FnOnce(Time<'_>) -> Result<R>,
) -> Result<R> {
    let template = |command: &CommandLine| {
        let read = Template::without_inputs(OsStr::new(&command.text));
        read.with_context(|| format!("{:?}", command.text))
    };
    let (mut a, mut b) = (template(&args.a)?, template(&args.b)?);
    if a.needs_shell || b.needs_shell {
        // Else the start of the shell would count as the time of one side.
        (a.needs_shell, b.needs_shell) = (true, true);
    }
    watched(Some(limit.end), |running| {
        body(&mut |is_b| match is_b {
            true => time(&args.b, &b, running),
            false => time(&args.a, &a, running),
        })
    })
}

/// Time from its start to its end, ns. Its stdout is discarded, its stderr is not.
fn time(line: &CommandLine, command: &Template, running: &Running) -> Result<Option<f64>> {
    let ended = Process::run(command.command(Filling::default()), running);
    match ended.how {
        How::Exit(0) => Ok(Some(ended.took.as_secs_f64() * 1e9)),
        How::Unwanted | How::TimedOut => Ok(None),
        How::NotStarted(why) => bail!("cannot run {:?}: {why}", line.text),
        how => {
            let command = line.text.clone();
            Err(Failed { command, how }.into())
        }
    }
}
