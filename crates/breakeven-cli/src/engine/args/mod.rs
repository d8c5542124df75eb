//! The command line of what measures and runs.

use std::str::FromStr;

use clap::Subcommand;

mod ab;
mod devices;
mod doctor;
mod monitor;
mod plan;
mod profile;
mod record;
#[cfg(unix)]
mod run;
mod sweep;
mod tune;

pub(crate) use ab::{AbArgs, CommandLine};
pub(crate) use devices::DevicesArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use monitor::MonitorArgs;
pub(crate) use plan::PlanArgs;
pub(crate) use profile::{EnergyWhen, ProfileArgs};
pub(crate) use record::RecordArgs;
#[cfg(unix)]
pub(crate) use run::{HaltArg, RunArgs};
pub(crate) use sweep::{SweepArgs, SweepFormat};
pub(crate) use tune::TuneArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the kernels on the CPU and on every GPU
    Profile(ProfileArgs),
    /// Measure a kernel at many sizes, and find the size from which on a GPU pays
    Sweep(SweepArgs),
    /// Say where a batch of work would run, and why
    Plan(PlanArgs),
    /// Find the fastest launch configurations of the kernels on a device, and keep them
    Tune(TuneArgs),
    /// List the CPU and the GPUs, and why others are absent
    Devices(DevicesArgs),
    /// Watch what the machine does now: load, memory, temperature, power, clocks
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
    /// End the jobs of a run that was killed
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    RunGuard {
        /// The value by which its processes are recognised
        run: String,
    },
}

/// A value of a type of the library, such as a strategy.
fn parsed<T: FromStr<Err = breakeven::Error>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error: breakeven::Error| error.to_string())
}

/// A kernel's name; the error suggests the most similar one.
fn kernel(text: &str) -> Result<&'static str, String> {
    let names = breakeven::kernels::NAMES;
    if let Some(name) = names.into_iter().find(|name| *name == text) {
        return Ok(name);
    }
    let hint = crate::args::similar(text, names);
    Err(format!(
        "there is no such kernel; {hint}there are {}",
        names.join(", ")
    ))
}
