//! Arguments of `breakeven sweep`.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::engine::suite::Over;
use crate::values::{one_or_more, parsed};

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Kernel to measure
    #[arg(value_name = "KERNEL", value_parser = crate::values::kernel)]
    pub(crate) kernel: &'static str,

    /// What the sweep varies: size, batch, window or hidden [default: size, if the kernel has one]
    #[arg(long, value_name = "WHAT", value_parser = parsed::<Over>)]
    pub(crate) over: Option<Over>,

    /// First value [default: by the kernel]
    #[arg(long, value_name = "N", value_parser = one_or_more::<NonZeroU64>)]
    pub(crate) from: Option<NonZeroU64>,

    /// Last value [default: by the kernel]
    #[arg(long, value_name = "N", value_parser = one_or_more::<NonZeroU64>)]
    pub(crate) to: Option<NonZeroU64>,

    /// GPUs to compare with the CPU: all, gpu, ids separated by commas, or cpu for none
    #[arg(long, alias = "devices", value_name = "DEVICES", default_value = "all")]
    pub(crate) device: String,

    /// Rounds over all points, each in a fresh process; an interval needs 3 or more
    #[arg(long, value_name = "N", default_value = "5", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) rounds: NonZeroU32,

    /// Measured calls per point, device and round; fewer if they would exceed 0.2 s
    #[arg(long, value_name = "N", default_value = "7", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) iterations: NonZeroU32,

    /// Warm-up calls before measuring
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) warmup: u32,

    /// File to write the profile to: all samples, and the break-even as evidence
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: SweepFormat,

    /// Time after which an unresponsive GPU counts as hung, whole seconds
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = crate::values::seconds)]
    pub(crate) device_timeout: NonZeroU32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepFormat {
    /// Table and plot, as wide as the terminal
    #[default]
    Table,
    /// JSON
    Json,
    /// One line per value and device; times in ns
    Csv,
}
