//! The commands that measure and run: the crate `breakeven` as a command line. The rest of this
//! crate reads and judges the files, and builds without them.

#[cfg(unix)]
pub(crate) mod ask;
pub(crate) mod devices;
pub(crate) mod load;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is published there"))]
pub(crate) mod programs;
pub(crate) mod protocol;
pub(crate) mod session;
pub(crate) mod suite;
pub(crate) mod supervisor;
pub(crate) mod worker;

use std::io::Write;

use anyhow::Result;
use breakeven_judge::Outcome;
use clap::Subcommand;

use crate::ab::args::AbArgs;
use crate::devices::DevicesArgs;
use crate::doctor::DoctorArgs;
use crate::monitor::MonitorArgs;
use crate::plan::args::PlanArgs;
use crate::profile::args::ProfileArgs;
#[cfg(unix)]
use crate::run::args::RunArgs;
use crate::sweep::SweepArgs;
use crate::tune::TuneArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a program, or the kernels on the CPU and on every GPU
    Profile(ProfileArgs),
    /// Find the size from which a GPU pays, for two commands of yours or a kernel
    Sweep(SweepArgs),
    /// Say where a batch of work would run, and why
    Plan(PlanArgs),
    /// Find the fastest launch configurations of the kernels on a device, and keep them
    Tune(TuneArgs),
    /// List the CPU and the GPUs, and why others are unavailable
    Devices(DevicesArgs),
    /// Watch the machine: load, memory, temperature, power, clocks
    Monitor(MonitorArgs),
    /// Say whether this machine is fit to measure on, and what to change
    Doctor(DoctorArgs),
    /// Run a command for each of many inputs, on the CPU and on GPUs
    #[cfg(unix)]
    Run(RunArgs),
    /// Run two commands in turns until it is decided which is faster
    Ab(AbArgs),
    /// Measure what the parent process asks for on stdin
    #[command(hide = true)]
    Worker,
}

pub(crate) fn run(command: &Command, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    match command {
        Command::Profile(args) => crate::profile::run(args, out, err),
        Command::Sweep(args) => crate::sweep::run(args, out, err),
        Command::Plan(args) => crate::plan::run(args, out, err),
        Command::Tune(args) => crate::tune::run(args, out, err),
        Command::Devices(args) => crate::devices::run(args, out, err),
        Command::Monitor(args) => crate::monitor::run(args, out, err),
        Command::Doctor(args) => crate::doctor::run(args, out),
        Command::Ab(args) => crate::ab::run(args, out, err),
        #[cfg(unix)]
        Command::Run(args) => crate::run::run(args, err),
        Command::Worker => worker::own_channel(out)
            .and_then(|mut channel| worker::run(std::io::stdin().lock(), &mut *channel)),
    }
}
