//! Arguments of `breakeven profile`.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use breakeven::plan::{ExecutionStrategy, Objective};
use clap::{Args, ValueEnum};

use crate::values::{Format, kernel, one_or_more, parsed};

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Kernel to measure; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    pub(crate) kernel: Vec<&'static str>,

    /// Devices to measure: cpu, gpu (every GPU), all, or ids separated by commas. With --strategy,
    /// the GPUs to use in addition to the CPU; all then means every one that is not software
    #[arg(long, alias = "devices", value_name = "DEVICES", default_value = "all")]
    pub(crate) device: String,

    /// Run each kernel's batch by a strategy instead, and print the decision with its reason, what
    /// ran where, and what fell back: auto, cpu-only, gpu-only or hybrid:GPU/CPU in percent, as in
    /// hybrid:60/40
    #[arg(long, value_name = "STRATEGY", value_parser = parsed::<ExecutionStrategy>)]
    pub(crate) strategy: Option<ExecutionStrategy>,

    /// What --strategy auto minimises: time, energy, cost, or deadline:TIME[,energy|cost], which
    /// minimises energy or cost within the time, as in deadline:200ms,cost
    #[arg(
        long,
        value_name = "OBJECTIVE",
        default_value = "time",
        requires = "strategy"
    )]
    #[arg(value_parser = parsed::<Objective>)]
    pub(crate) objective: Objective,

    /// What the devices cost per hour [default: the file that BREAKEVEN_PRICES names]
    #[arg(long, value_name = "FILE.toml", requires = "strategy")]
    pub(crate) prices: Option<PathBuf>,

    /// Tasks in a batch of --strategy: images, products, pairs of vectors [default: 32 to
    /// 1024, by the kernel]
    #[arg(long, value_name = "N", value_parser = one_or_more::<NonZeroUsize>)]
    #[arg(requires = "strategy", conflicts_with = "scale")]
    pub(crate) tasks: Option<NonZeroUsize>,

    /// Measured calls per kernel and device
    #[arg(long, value_name = "N", default_value = "20", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) iterations: NonZeroU32,

    /// Warm-up calls before measuring, of which the first one is reported separately; warm-up runs
    /// of a program [default: 3 calls, 1 run]
    #[arg(long, value_name = "N")]
    pub(crate) warmup: Option<u32>,

    /// Runs, each in a fresh process; two or more also measure the differences between runs
    /// [default: 1 of the kernels, 10 of a program]
    #[arg(long, value_name = "N", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) runs: Option<NonZeroU32>,

    /// Factor on the default work: a longer vector, a larger batch, more tasks
    #[arg(long, value_name = "N", default_value = "1", value_parser = one_or_more::<NonZeroUsize>)]
    pub(crate) scale: NonZeroUsize,

    /// Budgets for means and memory; exceeding one makes the exit code 1
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// File to write the profile to
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Record the machine's load in the profile: use, temperature, power, clocks
    #[arg(long)]
    pub(crate) record_load: bool,

    /// Measure the energy of calls: if counters are available (auto), always, with an
    /// error if they are not (always, or without a value), or never
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(
        default_value_t,
        default_missing_value = "always",
        conflicts_with = "strategy"
    )]
    pub(crate) energy: EnergyWhen,

    /// Record the host's name in the profile
    #[arg(long)]
    pub(crate) with_host: bool,

    /// Time after which an unresponsive GPU counts as hung, whole seconds
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = crate::values::seconds)]
    pub(crate) device_timeout: NonZeroU32,

    #[command(flatten)]
    pub(crate) of_programs: ProgramArgs,
}

/// The options of the kernels, which no program has.
const OF_KERNELS: [&str; 11] = [
    "kernel",
    "device",
    "strategy",
    "objective",
    "prices",
    "tasks",
    "iterations",
    "scale",
    "record_load",
    "energy",
    "device_timeout",
];

#[derive(Debug, Args)]
#[command(next_help_heading = "Programs")]
pub(crate) struct ProgramArgs {
    /// Program to measure in place of the kernels, with its arguments: time, memory, and what it
    /// records
    #[arg(last = true, value_name = "CMD", group = "program", conflicts_with_all = OF_KERNELS)]
    pub(crate) words: Vec<OsString>,

    /// Command to measure, in quotes, as in `breakeven ab`; several run in turns, in random order
    #[arg(long, value_name = "CMD", group = "program", conflicts_with_all = OF_KERNELS)]
    pub(crate) cmd: Vec<OsString>,

    /// Command to run before each run, which is not timed
    #[arg(long, value_name = "CMD", requires = "program")]
    pub(crate) prepare: Option<OsString>,

    /// Command to run after each run, which is not timed
    #[arg(long, value_name = "CMD", requires = "program")]
    pub(crate) cleanup: Option<OsString>,

    /// File that each run reads as its stdin [default: nothing]
    #[arg(long, value_name = "FILE", requires = "program")]
    pub(crate) input: Option<PathBuf>,

    /// Count runs with another exit code than 0 as any other; a signal stays a failure
    #[arg(long, requires = "program")]
    pub(crate) ignore_failure: bool,

    /// Stop after this time, warm-ups included, as in 60s; a run that is not done is ended
    #[arg(long, value_name = "T", requires = "program", value_parser = crate::values::time)]
    pub(crate) time_limit: Option<Duration>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnergyWhen {
    /// If counters are available
    #[default]
    Auto,
    /// Always: an error says what is missing
    Always,
    /// Never
    Never,
}
