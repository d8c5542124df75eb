//! Maps the outcome of a command to its exit code.

use anyhow::Result;
use breakeven_judge::Outcome;

use crate::print::{is_closed_pipe, is_full};

/// A command ended by Ctrl-C, with a message about the measurements so far.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Interrupted(pub(crate) &'static str);

/// The outcome of a command that did its work, and failed if some of that did.
#[cfg(feature = "engine")]
pub(crate) fn failed_if(failed: bool) -> Outcome {
    match failed {
        true => Outcome::Failed,
        false => Outcome::Passed,
    }
}

/// The code of a process that SIGPIPE killed: the reader of the output has gone, as when `head` has
/// enough.
const CLOSED: u8 = 141;

/// The exit code.
pub(crate) fn code(happened: &Result<Outcome>, is_closed: bool) -> u8 {
    match happened {
        Ok(Outcome::Passed) if is_closed => CLOSED,
        Ok(outcome) => outcome.exit_code(),
        Err(error) if error.is::<Interrupted>() => 130,
        Err(error) if error.chain().any(is_closed_pipe) => CLOSED,
        Err(error) if error.chain().any(is_full) => Outcome::Failed.exit_code(),
        // Wrong use, or unreadable input.
        Err(_) => 2,
    }
}
