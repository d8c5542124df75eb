//! What may be typed behind `breakeven doctor`.

use std::num::NonZeroU64;
use std::time::Duration;

use breakeven_judge::Threshold;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// How long noise is measured: 3 s to 10 min; in more time more runs are made, and
    /// more is known of how runs differ
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: Duration,

    /// Change that is to be seen on this machine, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%")]
    #[arg(value_parser = crate::args::compare::threshold)]
    pub(crate) threshold: Threshold,

    /// Most runs a side that you would make: a machine that needs more is not fit
    #[arg(long, value_name = "N", default_value = "10")]
    #[arg(value_parser = crate::args::one_or_more::<NonZeroU64>)]
    pub(crate) runs: NonZeroU64,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::args::PageFormat,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = super::ab::time(text)?;
    let is_usual = (Duration::from_secs(3)..=Duration::from_secs(600)).contains(&duration);
    is_usual
        .then_some(duration)
        .ok_or_else(|| "give 3 s to 10 min".to_owned())
}
