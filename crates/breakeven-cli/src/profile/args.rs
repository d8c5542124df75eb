//! Arguments of `breakeven profile`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

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

    /// Warm-up calls before measuring; the first one is reported separately
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) warmup: u32,

    /// Runs, each in a fresh process; two or more also measure the differences between runs
    #[arg(long, value_name = "N", default_value = "1", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) runs: NonZeroU32,

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

    /// Measure the energy of calls and batches: if counters are available (auto), always, with an
    /// error if they are not (always, or without a value), or never
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t, default_missing_value = "always")]
    pub(crate) energy: EnergyWhen,

    /// Record the host's name in the profile
    #[arg(long)]
    pub(crate) with_host: bool,

    /// Time after which an unresponsive GPU counts as hung, whole seconds
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = crate::values::seconds)]
    pub(crate) device_timeout: NonZeroU32,
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
