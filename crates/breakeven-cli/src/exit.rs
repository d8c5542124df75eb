//! One table of exit codes for every command.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or passed.
    Done,
    /// A regression, work that failed, or a budget that was exceeded.
    Failed,
    /// Wrong use, unreadable or mismatched input.
    WrongUse,
    /// Noise does not let tell.
    Inconclusive,
    /// Interrupted; what was measured has been kept.
    Interrupted,
}

/// The process's exit code.
pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(match exit {
        Exit::Done => 0,
        Exit::Failed => 1,
        Exit::WrongUse => 2,
        Exit::Inconclusive => 3,
        Exit::Interrupted => 130,
    })
}
