//! Tells an alert: a command of the user's, a webhook.

use std::io::{Seek as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::engine::commands::monitor::child::{Child, Ended};
use crate::engine::periodic::alert::Alert;

/// Why the command of `--on-alert` did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("cannot run a shell: {0}")]
    NotStarted(#[from] std::io::Error),
    #[error("the command of --on-alert failed ({0})")]
    Failed(std::process::ExitStatus),
    #[error("the command of --on-alert took more than {:.1} s and was ended", .0.as_secs_f64())]
    TooLong(Duration),
}

/// Runs the command in a shell, with the alert as JSON on its stdin.
pub(super) fn command(text: &str, alert: &Alert, limit: Duration) -> Result<(), CommandError> {
    // A file, not a pipe: a command that reads nothing holds nobody up.
    let mut stdin = tempfile::tempfile()?;
    stdin.write_all(&serde_json::to_vec(alert).map_err(std::io::Error::from)?)?;
    stdin.rewind()?;
    let mut shell = shell(text);
    shell
        .envs(alert.variables())
        .stdin(stdin)
        .stdout(Stdio::null());
    let mut child = Child::start(&mut shell)?;
    match child.wait(Some(limit), None)? {
        Ended::Exit(status) if status.success() => Ok(()),
        Ended::Exit(status) => Err(CommandError::Failed(status)),
        Ended::Interrupted | Ended::TimedOut => Err(CommandError::TooLong(limit)),
    }
}

fn shell(text: &str) -> Command {
    let (program, option) = match cfg!(windows) {
        true => ("cmd", "/C"),
        false => ("sh", "-c"),
    };
    let mut shell = Command::new(program);
    shell.args([option, text]);
    shell
}
