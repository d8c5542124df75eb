//! The commands that measure and run: what the crate `breakeven` does, from a command
//! line. The rest of this crate reads and judges what they wrote, and builds without them.

mod args;
#[cfg(unix)]
mod ask;
mod commands;
mod devices;
mod doctor;
mod load;
mod output;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is published there"))]
mod programs;
mod protocol;
mod session;
mod suite;
mod supervisor;
mod worker;

use std::io::Write;

use anyhow::Result;

pub(crate) use args::Command;

use crate::exit::Ending;

pub(crate) fn run(command: &Command, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    match command {
        Command::Profile(args) => commands::profile::run(args, out, err),
        Command::Sweep(args) => commands::sweep::run(args, out, err),
        Command::Plan(args) => commands::plan::run(args, out, err),
        Command::Tune(args) => commands::tune::run(args, out, err),
        Command::Devices(args) => commands::devices::run(args, out, err),
        Command::Monitor(args) => commands::monitor::run(args, out, err),
        Command::Doctor(args) => commands::doctor::run(args, out, err),
        Command::Ab(args) => commands::ab::run(args, out, err),
        #[cfg(unix)]
        Command::Run(args) => commands::run::run(args, err),
        #[cfg(target_os = "linux")]
        Command::RunGuard { run } => {
            commands::run::guard::run(run)?;
            Ok(Ending::Done)
        }
        Command::Worker => worker::own_channel(out)
            .and_then(|mut channel| worker::run(std::io::stdin().lock(), &mut *channel)),
    }
}
