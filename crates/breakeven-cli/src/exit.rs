//! Maps the outcome of a command to its exit code.

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use breakeven_judge::Outcome;

use crate::print::{is_closed_pipe, is_full};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or passed.
    Done,
    /// A regression, work that failed, or a budget that was exceeded.
    Failed,
    /// Invalid usage, unreadable or mismatched input.
    WrongUse,
    /// Nothing could be judged.
    Inconclusive,
    /// Interrupted; the measurements so far have been kept.
    Interrupted,
    /// The reader of the output has gone, as when `head` has enough.
    Closed,
}

/// The process's exit code.
pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(match exit {
        Exit::Done => Outcome::Passed.exit_code(),
        Exit::Failed => Outcome::Failed.exit_code(),
        Exit::WrongUse => Outcome::Mismatched.exit_code(),
        Exit::Inconclusive => Outcome::Inconclusive.exit_code(),
        Exit::Interrupted => 130,
        // The code of a process that SIGPIPE killed.
        Exit::Closed => 141,
    })
}

/// The outcome of a command that ran to its end.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It was done.
    Done,
    #[cfg_attr(
        not(feature = "engine"),
        expect(dead_code, reason = "it measures nothing")
    )]
    /// It measured; some of the work may have failed.
    Measured { failed: bool, budgets: Outcome },
    /// It judged a profile.
    Judged(Outcome),
}

/// A command ended by Ctrl-C, with a message about the measurements so far.
#[derive(Debug)]
pub(crate) struct Interrupted(pub(crate) &'static str);

impl std::error::Error for Interrupted {}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Exit {
    /// Maps an error to the way the command ended.
    pub(crate) fn of(happened: &Result<Ending>) -> Self {
        match happened {
            Ok(Ending::Done) => Self::Done,
            Ok(Ending::Measured { failed: true, .. }) => Self::Failed,
            Ok(
                Ending::Measured {
                    budgets: judged, ..
                }
                | Ending::Judged(judged),
            ) => match judged {
                Outcome::Passed => Self::Done,
                Outcome::Inconclusive => Self::Inconclusive,
                Outcome::Mismatched => Self::WrongUse,
                Outcome::Failed => Self::Failed,
            },
            Err(error) if error.is::<Interrupted>() => Self::Interrupted,
            Err(error) if error.chain().any(is_closed_pipe) => Self::Closed,
            Err(error) if error.chain().any(is_full) => Self::Failed,
            Err(_) => Self::WrongUse,
        }
    }
}
