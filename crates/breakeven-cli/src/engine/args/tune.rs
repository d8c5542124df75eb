//! `breakeven tune`.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Kernels to tune [default: all]
    #[arg(value_name = "KERNEL", value_parser = super::kernel)]
    pub(crate) kernels: Vec<&'static str>,

    /// Devices to tune for: gpu (every one, software GPUs too), cpu, or ids of GPUs with
    /// commas between them [default: every GPU that is not software]
    #[arg(long, alias = "devices", value_name = "DEVICES")]
    pub(crate) device: Option<String>,

    /// Time for the whole search, as in 30s or 5min
    #[arg(long, value_name = "T", default_value = "30s", value_parser = super::ab::time)]
    pub(crate) time_limit: Duration,

    /// Tune for this many times the default workload
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) scale: NonZeroUsize,

    /// Search also where the fastest configuration is known already
    #[arg(long)]
    pub(crate) again: bool,

    /// Print what was tuned before, with all that was tried, and search nothing
    #[arg(long, conflicts_with_all = ["again", "time_limit", "scale", "forget"])]
    pub(crate) show: bool,

    /// Forget what was tuned before, and search nothing
    #[arg(long, conflicts_with_all = ["again", "time_limit", "scale"])]
    pub(crate) forget: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::args::TableFormat,
}
