//! `breakeven monitor --record`: writes the machine's load to a profile file, over a time or while
//! a command runs.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use breakeven::hardware::HardwareCapabilities;
use breakeven_judge::Outcome;
use breakeven_judge::page::figures::plural;
use breakeven_profile::file;
use breakeven_profile::profile::{LoadRecord, Profile};

use super::child::{Child, Ended};
use crate::engine::load::{self, Recording};
use crate::engine::session::{generator, now};
use crate::engine::supervisor::interruption;
use crate::exit::{Ending, Interrupted};
use crate::input::Input;
use crate::monitor::args::MonitorArgs;

/// Most samples per device: a day at one reading per second becomes samples of some four minutes,
/// and a file stays below 100 KB per device.
const MOST_SAMPLES: usize = 512;

/// How often to check whether the recording has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) fn run(args: &MonitorArgs, path: &Path, err: &mut dyn Write) -> Result<Ending> {
    file::check_writable(path)?;
    let interrupted = interruption()?;
    let hardware = HardwareCapabilities::detect_without_gpu();
    let began = now();
    let others = !args.command.is_empty();
    let recording = load::start(args.interval, MOST_SAMPLES, &hardware, others)?;
    let limit = args.record.duration;
    let ended = match &args.command[..] {
        [] => wait(limit, interrupted),
        command => attend(command, limit, interrupted)?,
    };
    let record = Recording::end(recording);
    let mut profile = Profile {
        created: Some(began),
        generator: Some(generator()),
        ..Profile::default()
    };
    hardware.describe(&mut profile.environment);
    let from = args.record.profile.as_deref();
    if let (Some(from), Ended::Exit(status)) = (from, &ended)
        && status.success()
    {
        profile = Input::new(&<_>::default(), err).read(from)?;
    }
    profile.interrupted |= matches!(ended, Ended::Interrupted);
    let written = keep(profile, record, path, err)?;
    Ok(match ended {
        Ended::Interrupted if written => {
            return Err(Interrupted("interrupted: the recording so far is written").into());
        }
        Ended::Interrupted => {
            let said = "interrupted before anything was recorded: no file is written";
            return Err(Interrupted(said).into());
        }
        Ended::Exit(status) if !status.success() => {
            let _ = writeln!(err, "error: the command failed ({status})");
            Ending::Judged(Outcome::Failed)
        }
        _ if !written => bail!(
            "no sensor reported anything within that time: no file is written; record for longer \
             than an interval"
        ),
        _ => Ending::Done,
    })
}

/// Writes the file, if there is anything to write.
fn keep(
    mut profile: Profile,
    record: Option<LoadRecord>,
    path: &Path,
    err: &mut dyn Write,
) -> Result<bool> {
    let Some(record) = record else {
        return Ok(false);
    };
    let readings = |record: &LoadRecord| {
        let devices = record.devices.iter();
        let counts = devices.map(|device| device.samples.iter().map(|one| one.readings).sum());
        counts.max().unwrap_or(0_u64)
    };
    let mut said = format!(
        "recorded {} of {}: {}",
        plural(readings(&record), "reading"),
        plural(record.devices.len() as u64, "device"),
        path.display()
    );
    if record.merged > 1 {
        said += &format!(
            " (up to {} neighbouring readings are merged into one sample)",
            record.merged
        );
    }
    profile.load.push(record);
    file::write(&profile, path)?;
    // The reader of stderr may be gone.
    let _ = writeln!(err, "{said}");
    Ok(true)
}

fn wait(limit: Option<Duration>, interrupted: &AtomicBool) -> Ended {
    let start = Instant::now();
    loop {
        if interrupted.load(Ordering::SeqCst) {
            return Ended::Interrupted;
        }
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            return Ended::TimedOut;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Runs the command to its end, or to the time limit.
fn attend(
    command: &[OsString],
    limit: Option<Duration>,
    interrupted: &AtomicBool,
) -> Result<Ended> {
    let (program, arguments) = command.split_first().context("no command")?;
    let mut child = Child::start(Command::new(program).args(arguments))
        .with_context(|| format!("cannot run {}", program.display()))?;
    Ok(child.wait(limit, Some(interrupted))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_file_is_not_replaced_by_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("good.json");
        std::fs::write(&path, "good").unwrap();
        let mut err = Vec::new();
        assert!(!keep(Profile::default(), None, &path, &mut err).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "good");
        let record = Some(LoadRecord::default());
        assert!(keep(Profile::default(), record, &path, &mut err).unwrap());
        assert_eq!(file::read(&path).unwrap().load.len(), 1);
    }
}
