//! `breakeven devices`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Measure the peaks: bandwidth, arithmetic, launch latency, transfers
    #[arg(long)]
    pub(crate) measure: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::args::TableFormat,
}
