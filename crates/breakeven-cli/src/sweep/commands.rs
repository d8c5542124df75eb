//! Measures two commands over sizes: a run is a fresh process, from its start to its end.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
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
    let needs_shell = cpu?.needs_shell | gpu?.needs_shell;
    check_output()?;
    let machine = detect(
        args.device_timeout.get(),
        "interrupted: nothing was measured yet",
    )?;
    let limit = Limit::after(args.time_limit)?;
    let begun = Instant::now();
    let progress = progress(args.time_limit.as_millis().try_into().unwrap_or(u64::MAX));
    // Which commands have run, and why one could not be started.
    let (mut has_run, mut not_started) = ([false; 2], None);
    let mut swept = watched(Some(limit.end), |running| {
        let measure = |side: Side, size: u64| {
            let command = commands[side as usize];
            let mut template = template(command, size).map_err(|_| Missed::Ended)?;
            template.needs_shell = needs_shell;
            let device = ["cpu", "gpu"][side as usize];
            progress.set_position(begun.elapsed().as_millis() as u64);
            progress.set_message(format!("{} on {device}", unit::count(size as f64)));
            if limit.is_reached() {
                return Err(Missed::Ended);
            }
            let ended = Process::run(template.command(Filling::default()), running);
            match ended.how {
                // A process that was asked to end may still exit with success.
                _ if limit.is_reached() => Err(Missed::Ended),
                How::Exit(0) => {
                    has_run[side as usize] = true;
                    Ok(ended.took.as_secs_f64() * 1e9)
                }
                How::Unwanted | How::TimedOut => Err(Missed::Ended),
                // A failure would take the times of this size away.
                How::NotStarted(why) => {
                    not_started = Some((side, format!("{command:?}: {why}")));
                    Err(Missed::Ended)
                }
                how => Err(Missed::Failed(Failure {
                    kind: "error".to_owned(),
                    message: how.to_string(),
                })),
            }
        };
        let sweep = Sweep::new(name(args, commands[0]), sizes)
            .rounds(args.rounds.map_or(10, u32::from) as usize)
            .time_limit(args.time_limit);
        Ok(sweep.run(|| begun.elapsed(), measure))
    })?;
    progress.finish_and_clear();
    let mut session = Session::new(&machine.hardware);
    match not_started {
        Some((side, why)) if !has_run[side as usize] => bail!("cannot run {why}"),
        Some((side, why)) => {
            let message = format!("can no longer be started: {why}");
            session.warnings.push(message.clone());
            if let Some(last) = swept.points.last_mut() {
                let kind = "error".to_owned();
                last.times[side as usize].failure = Some(Failure { kind, message });
            }
        }
        None => {}
    }
    swept.interrupted = limit.is_interrupted();
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
