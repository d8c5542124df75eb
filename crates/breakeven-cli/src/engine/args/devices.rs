//! `breakeven devices`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Measure the peaks: bandwidth, arithmetic, launch latency, transfers
    #[arg(long)]
    pub(crate) measure: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DevicesFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DevicesFormat {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}
