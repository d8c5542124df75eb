//! Measures two commands over sizes: a run is a fresh process, from its start to its end.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use breakeven_judge::break_even::{Missed, Side, Sweep};
use breakeven_profile::profile::{Failure, Run};
use breakeven_profile::unit;

use super::Measured;
use super::kernel::range;
use super::page::SIZE;
use crate::ab::Limit;
use crate::engine::session::{Session, detect};
use crate::profile::progress;
use crate::run::process::{How, Process};
use crate::run::running::watched;
use crate::run::template::{Filling, Template};
use crate::sweep::SweepArgs;

pub(super) fn measure(
    args: &SweepArgs,
    commands: [&str; 2],
    check_output: impl FnOnce() -> Result<()>,
) -> Result<Measured> {
    let [from, to] = [args.from, args.to].map(|end| end.map_or(1, u64::from));
    let sizes = range(from, to)?;
    for (option, command) in ["--cpu", "--gpu"].into_iter().zip(commands) {
        if !command.contains(SIZE) {
            bail!("{option} {command:?} has no {SIZE}, in whose place the size is put");
        }
    }
    let template = |command: &str, size: u64| {
        let text = command.replace(SIZE, &size.to_string());
        Template::without_inputs(OsStr::new(&text)).with_context(|| format!("{command:?}"))
    };
    let [cpu, gpu] = commands.map(|command| template(command, from));
    // Else the start of the shell would count as the time of one side.
    let needs_shell = cpu?.needs_shell() | gpu?.needs_shell();
    check_output()?;
    let machine = detect(
        args.device_timeout.get(),
        "interrupted: nothing was measured yet",
    )?;
    let limit = Limit::after(args.time_limit)?;
    let begun = Instant::now();
    let progress = progress(args.time_limit.as_millis().try_into().unwrap_or(u64::MAX));
    let mut broken = None;
    let mut gone = None;
    let mut largest = [0; 2];
    let mut swept = watched(Some(limit.end), |running| {
        let mut run = |side: Side, size: u64| -> Result<Option<f64>> {
            let command = commands[side as usize];
            let mut template = template(command, size)?;
            if needs_shell {
                template = template.with_shell();
            }
            let device = ["cpu", "gpu"][side as usize];
            progress.set_position(begun.elapsed().as_millis() as u64);
            progress.set_message(format!("{} on {device}", unit::count(size as f64)));
            if limit.is_reached() {
                return Ok(None);
            }
            let ended = Process::run(template.command(Filling::default()), running);
            let largest = &mut largest[side as usize];
            match ended.how {
                // A process that was asked to end may still exit with success.
                _ if limit.is_reached() => Ok(None),
                How::Exit(0) => {
                    *largest = size.max(*largest);
                    Ok(Some(ended.took.as_secs_f64() * 1e9))
                }
                How::Unwanted | How::TimedOut => Ok(None),
                How::NotStarted(why) if *largest == 0 => {
                    Err(anyhow!("cannot run {command:?}: {why}"))
                }
                // A failure would take the times of this size away.
                How::NotStarted(why) if size <= *largest => {
                    gone = Some(format!("{command:?} can no longer be started: {why}"));
                    Ok(None)
                }
                how => Err(how.into()),
            }
        };
        let measure = |side, size| match run(side, size) {
            Ok(ns) => ns.ok_or(Missed::Ended),
            Err(error) if error.is::<How>() => Err(Missed::Failed(Failure {
                kind: "error".to_owned(),
                message: error.to_string(),
            })),
            Err(error) => {
                broken = Some(error);
                Err(Missed::Ended)
            }
        };
        let sweep = Sweep::new(name(args, commands[0]), sizes)
            .rounds(args.rounds.map_or(10, u32::from) as usize)
            .time_limit(args.time_limit);
        Ok(sweep.run(|| begun.elapsed(), measure))
    })?;
    progress.finish_and_clear();
    if let Some(error) = broken {
        return Err(error);
    }
    swept.interrupted = limit.is_interrupted();
    let mut session = Session::new(&machine.hardware);
    session.warnings.extend(gone);
    let measured = swept.profile();
    session.profile.operations = measured.operations;
    for operation in &mut session.profile.operations {
        let each = operation.samples_ns().map(|ns| Run {
            samples_ns: vec![ns],
            ..Run::default()
        });
        operation.runs = each.collect();
    }
    session.profile.evidence = measured.evidence;
    session.profile.benchmark = true;
    session.profile.interrupted = swept.interrupted;
    Ok(Measured {
        swept,
        session,
        machine,
        remark: Some(match needs_shell {
            true => "each time includes the start of a process and of its shell",
            false => "each time includes the start of a process",
        }),
    })
}

/// The name of the operation.
fn name(args: &SweepArgs, cpu: &str) -> String {
    let program = || {
        let words = shlex::split(cpu)?;
        let stem = Path::new(words.first()?).file_stem()?;
        Some(stem.to_string_lossy().into_owned())
    };
    (args.name.clone().or_else(program)).unwrap_or_else(|| "sweep".to_owned())
}
