//! `breakeven monitor --record`: writes the machine's load to a profile file, over a time or while
//! a command runs.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use breakeven::hardware::HardwareCapabilities;
use breakeven_judge::Outcome;
use breakeven_judge::page::figures::plural;
use breakeven_profile::file;
use breakeven_profile::profile::{LoadRecord, Profile};

use super::MonitorArgs;
use crate::engine::load::{self, Recording};
use crate::engine::session::{generator, now};
use crate::engine::supervisor::interruption;
use crate::exit::Interrupted;
use crate::input::Input;

/// Most samples per device: a day at one reading per second becomes samples of some four minutes,
/// and a file stays below 100 KB per device.
const MOST_SAMPLES: usize = 512;

/// How often to check whether the recording has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time of a command to end by itself after Ctrl-C at the terminal reached it too, and after it was
/// asked to.
const BY_ITSELF: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);

/// How a recording ended.
#[derive(Debug)]
enum Ended {
    Exit(ExitStatus),
    /// At its time limit.
    TimedOut,
    Interrupted,
}

pub(super) fn run(args: &MonitorArgs, path: &Path, err: &mut dyn Write) -> Result<Outcome> {
    file::check_writable(path)?;
    let interrupted = interruption()?;
    let hardware = HardwareCapabilities::detect_without_gpu();
    let began = now();
    let others = !args.command.is_empty();
    let recording = load::start(args.interval, MOST_SAMPLES, &hardware, others)?;
    let limit = args.record.duration;
    let child = match args.command.split_first() {
        None => None,
        Some((program, arguments)) => {
            // In the foreground of the terminal.
            let child = Command::new(program).args(arguments).spawn();
            Some(child.with_context(|| format!("cannot run {}", program.display()))?)
        }
    };
    let ended = attend(child, limit, interrupted)?;
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
        let mut input = Input::new(&<_>::default(), err);
        profile = input.read(from)?;
        input.finish()?;
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
            Outcome::Failed
        }
        _ if !written => bail!(
            "no sensor reported anything within that time: no file is written; record for longer \
             than an interval"
        ),
        _ => Outcome::Passed,
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

/// Waits for the end of the command, if there is one, for the time limit or for Ctrl-C.
fn attend(
    mut child: Option<Child>,
    limit: Option<Duration>,
    interrupted: &AtomicBool,
) -> Result<Ended> {
    let start = Instant::now();
    loop {
        let stops = interrupted.load(Ordering::SeqCst);
        if let Some(child) = &mut child
            && let Some(status) = child.try_wait()?
        {
            return Ok(match stops {
                true => Ended::Interrupted,
                false => Ended::Exit(status),
            });
        }
        let is_late = limit.is_some_and(|limit| start.elapsed() >= limit);
        if stops || is_late {
            if let Some(child) = &mut child {
                end(child, if stops { BY_ITSELF } else { Duration::ZERO })?;
            }
            return Ok(match stops {
                true => Ended::Interrupted,
                false => Ended::TimedOut,
            });
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Asks the process to end, unless it does `by_itself`, and kills it in the end.
fn end(child: &mut Child, by_itself: Duration) -> Result<()> {
    let (start, mut asked) = (Instant::now(), false);
    while child.try_wait()?.is_none() {
        // A system that cannot ask kills at once.
        if start.elapsed() >= PATIENCE || cfg!(not(unix)) {
            child.kill()?;
        }
        #[cfg(unix)]
        if !std::mem::replace(&mut asked, start.elapsed() >= by_itself)
            && asked
            && let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed())
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
