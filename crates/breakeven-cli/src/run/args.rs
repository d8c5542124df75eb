//! Arguments of `breakeven run`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use breakeven::plan::ExecutionStrategy;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    after_help = "Placeholders: {} the input, {.} without its extension, {/} its file name, {//} its \
                  folder, {/.} its file name without extension, {#} its number, {%} the number of \
                  the job slot. A command without one gets the input as its last argument."
)]
pub(crate) struct RunArgs {
    /// Inputs, one job each [default: the lines of stdin]
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<OsString>,

    /// The command of a job on the CPU; a shell runs it only if it uses shell syntax
    #[arg(long, value_name = "CMD")]
    pub(crate) cpu: OsString,

    /// The command of a job on a GPU; if it fails, the CPU's command runs
    #[arg(long, value_name = "CMD")]
    pub(crate) gpu: Option<OsString>,

    /// Read inputs from a file, one per line; - is stdin
    #[arg(short = 'a', long, value_name = "FILE", conflicts_with = "inputs")]
    pub(crate) arg_file: Option<PathBuf>,

    /// Inputs end with a NUL byte instead of a newline
    #[arg(short = '0', long, conflicts_with = "inputs")]
    pub(crate) null: bool,

    /// Which command to run: auto, cpu-only, gpu-only or hybrid:GPU/CPU in percent
    #[arg(long, value_name = "STRATEGY", default_value = "auto")]
    #[arg(value_parser = crate::values::parsed::<ExecutionStrategy>)]
    pub(crate) strategy: ExecutionStrategy,

    /// Concurrent CPU jobs [default: usable cores]
    #[arg(short, long, value_name = "N", value_parser = crate::values::one_or_more::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Concurrent GPU jobs; slot k has device k [default: the number of GPUs, at least 1]
    #[arg(long, value_name = "N", value_parser = crate::values::one_or_more::<NonZeroUsize>)]
    #[arg(requires = "gpu")]
    pub(crate) gpu_slots: Option<NonZeroUsize>,

    /// Most inputs of one GPU command, in which the word with {} is repeated
    #[arg(long, value_name = "N", default_value = "1", requires = "gpu")]
    #[arg(value_parser = crate::values::one_or_more::<NonZeroUsize>)]
    pub(crate) gpu_batch: NonZeroUsize,

    /// Print the output of jobs in the order of their inputs
    #[arg(short, long)]
    pub(crate) keep_order: bool,

    /// End a command that takes longer, as in 2s: its job has failed; a GPU's job goes to the CPU
    #[arg(long, value_name = "T", value_parser = crate::values::positive_time)]
    pub(crate) timeout: Option<Duration>,

    /// Retry a failed CPU command up to N times
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,

    /// What to do when a job has failed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) halt: HaltArg,

    /// Append a line for each finished job to this file, in GNU parallel's format
    #[arg(long, value_name = "FILE")]
    pub(crate) joblog: Option<PathBuf>,

    /// Skip the jobs whose command lines are in the joblog
    #[arg(long, requires = "joblog")]
    pub(crate) resume: bool,

    /// Skip the jobs that succeeded according to the joblog, and repeat the failed ones
    #[arg(long, requires = "joblog", conflicts_with = "resume")]
    pub(crate) resume_failed: bool,

    /// Print the commands, quoted for a shell, without running them
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show the progress and the time left, on a terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print only the output of jobs and failures
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Print the decisions and their reasons
    #[arg(long)]
    pub(crate) explain: bool,

    /// Write the jobs' times and the decisions to a profile file
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,

    /// Name of the work in the cost model and in the profile [default: the commands]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// What to do when a job has failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HaltArg {
    /// Continue with the other jobs
    #[default]
    Never,
    /// Start no further job
    Soon,
    /// Start no further job, and end the running ones
    Now,
}
