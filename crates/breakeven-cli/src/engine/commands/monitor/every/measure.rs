//! One run of the periodic mode: the suite or the command, and the profile that it wrote.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use breakeven_profile::profile::Profile;

use crate::commands::input::Input;
use crate::engine::commands::monitor::child::{Child, Ended};

/// What is run.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// `breakeven profile` with these options.
    Suite(Vec<OsString>),
    /// A command, and the file that it writes its profile to; else that is its stdout.
    Command {
        words: Vec<OsString>,
        profile: Option<PathBuf>,
    },
}

/// Why a run measured nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("cannot run {program}: {reason}")]
    NotStarted { program: String, reason: io::Error },
    #[error("the run failed ({0})")]
    Failed(ExitStatus),
    #[error("{}: the command did not write it anew", .0.display())]
    NotWritten(PathBuf),
    #[error("no profile was written: {0}")]
    Unreadable(String),
    #[error("the run could not be made: {0}")]
    NotMade(#[from] io::Error),
    #[error("interrupted")]
    Interrupted,
}

/// What a run measured, and whether it was ended early.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) profile: Profile,
    pub(super) interrupted: bool,
}

impl Work {
    /// Runs it and reads what it wrote.
    pub(super) fn run(
        &self,
        interrupted: &AtomicBool,
        err: &mut dyn Write,
    ) -> Result<Measured, RunError> {
        let folder = tempfile::tempdir()?;
        let own = folder.path().join("profile.json");
        let (mut command, file) = match self {
            Self::Suite(options) => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("profile").args(options).arg("-o").arg(&own);
                command.stdout(Stdio::null());
                (command, &own)
            }
            Self::Command { words, profile } => {
                let (program, arguments) = words.split_first().ok_or_else(|| {
                    io::Error::new(io::ErrorKind::InvalidInput, "there is no command")
                })?;
                let mut command = Command::new(program);
                command.args(arguments);
                match profile {
                    Some(_) => command.stdout(Stdio::null()),
                    None => command.stdout(File::create_new(&own)?),
                };
                (command, profile.as_ref().unwrap_or(&own))
            }
        };
        let before = changed(file);
        command.stdin(Stdio::null());
        let started = Child::start(&mut command);
        let mut child = started.map_err(|reason| RunError::NotStarted {
            program: command.get_program().display().to_string(),
            reason,
        })?;
        let ended = child.wait(None, Some(interrupted))?;
        // The suite ends badly where a kernel failed; the others were measured.
        let has_more = matches!(self, Self::Suite(_)) && file.exists();
        if let Ended::Exit(status) = ended
            && !status.success()
            && !has_more
        {
            return Err(RunError::Failed(status));
        }
        let interrupted = matches!(ended, Ended::Interrupted);
        if changed(file) == before && *file != own {
            return Err(match interrupted {
                true => RunError::Interrupted,
                false => RunError::NotWritten(file.clone()),
            });
        }
        let read = Input::new(&<_>::default(), err).read(file);
        match read {
            Ok(profile) => Ok(Measured {
                interrupted: interrupted || profile.interrupted,
                profile,
            }),
            Err(_) if interrupted => Err(RunError::Interrupted),
            Err(error) => Err(RunError::Unreadable(named(&format!("{error:#}"), &own))),
        }
    }
}

/// When the file was changed, and how long it is; none where there is none.
fn changed(file: &Path) -> Option<(SystemTime, u64)> {
    let found = fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// The file that the user never sees is the command's output.
fn named(text: &str, own: &Path) -> String {
    text.replace(&own.display().to_string(), "its standard output")
}
