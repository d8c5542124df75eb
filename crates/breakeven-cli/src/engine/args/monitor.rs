//! What may be typed behind `breakeven monitor`.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;

use super::RecordArgs;

#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Time between two readings: 0.1 s to 60 s
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Print one view, of two readings one interval apart, and exit
    #[arg(long)]
    pub(crate) once: bool,

    /// Format of --once
    #[arg(long, value_enum, default_value_t, requires = "once")]
    pub(crate) format: crate::args::TableFormat,

    /// Show this program in full: it publishes its figures if it uses breakeven and has
    /// BREAKEVEN_MONITOR=1 in its environment
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "serve")]
    pub(crate) attach: Option<u32>,

    /// Serve the figures as OpenMetrics at http://ADDRESS/metrics, for Prometheus. A port
    /// alone is one of 127.0.0.1
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:9400",
        value_parser = address,
        conflicts_with = "once"
    )]
    pub(crate) serve: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) record: RecordArgs,

    /// The command during which the load is recorded
    #[arg(last = true, value_name = "CMD", requires = "record")]
    pub(crate) command: Vec<OsString>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = super::ab::time(text)?;
    let is_usual = (Duration::from_millis(100)..=Duration::from_secs(60)).contains(&interval);
    is_usual
        .then_some(interval)
        .ok_or_else(|| "give 0.1 s to 60 s".to_owned())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| (Ipv4Addr::LOCALHOST, port).into());
    port.or_else(|_| text.parse())
        .map_err(|_| "give an IP address and a port, such as 127.0.0.1:9400, or a port".to_owned())
}
