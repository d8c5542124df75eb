//! `breakeven monitor --every`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hyper::Uri;

use crate::args::compare::part;
use crate::args::history::factor;

#[derive(Debug, Args)]
pub(crate) struct EveryArgs {
    /// Measure now and again after so long, as in 10m: --suite, or the command behind --; add
    /// what was measured to the history, and tell what became slower
    #[arg(
        long,
        value_name = "TIME",
        group = "measures",
        conflicts_with_all = ["once", "serve"],
        value_parser = period
    )]
    pub(crate) every: Option<Duration>,

    /// Measure with `breakeven profile`, whose options stand behind --
    #[arg(long, requires = "every", conflicts_with = "profile")]
    pub(crate) suite: bool,

    /// The history's file [default: breakeven-history.db]
    #[arg(long, value_name = "FILE.db", requires = "every")]
    pub(crate) history: Option<PathBuf>,

    /// Measure so often and end, with 1 where there was an alert or a run failed [default:
    /// until Ctrl-C]
    #[arg(long, value_name = "N", requires = "every")]
    #[arg(value_parser = crate::args::one_or_more::<NonZeroU32>)]
    pub(crate) count: Option<NonZeroU32>,

    /// Factor over the level before from which the newest value alone is an alert
    #[arg(long, value_name = "FACTOR", requires = "every", default_value = "1.5")]
    #[arg(value_parser = factor)]
    pub(crate) alert_factor: f64,

    /// Least significant change of a level that is an alert, as in 5% or 0.05
    #[arg(
        long,
        value_name = "FRACTION",
        requires = "every",
        default_value = "5%"
    )]
    #[arg(value_parser = part)]
    pub(crate) alert_threshold: f64,

    /// Append what happens to this file, a line of JSON each
    #[arg(long, value_name = "FILE", requires = "every")]
    pub(crate) log: Option<PathBuf>,

    /// Run this in a shell where an alert opens or has recovered, with the alert as JSON on
    /// its stdin and in variables BREAKEVEN_ALERT_…
    #[arg(long, value_name = "CMD", requires = "every")]
    pub(crate) on_alert: Option<String>,

    /// Send the same JSON to this address by POST, as in http://127.0.0.1:8080/alert
    #[arg(long, value_name = "URL", requires = "every", value_parser = webhook)]
    pub(crate) webhook: Option<Uri>,

    /// How long the command of --on-alert, and each try of --webhook, may take
    #[arg(long, value_name = "TIME", requires = "every", default_value = "30s")]
    #[arg(value_parser = super::record::duration)]
    pub(crate) alert_timeout: Duration,
}

/// 0.1 s to a year.
fn period(text: &str) -> Result<Duration, String> {
    let period = super::ab::time(text)?;
    let year = Duration::from_secs(366 * 24 * 3600);
    (Duration::from_millis(100)..=year)
        .contains(&period)
        .then_some(period)
        .ok_or_else(|| "give 0.1 s to a year, as in 10m or 6h".to_owned())
}

fn webhook(text: &str) -> Result<Uri, String> {
    let uri: Uri = text
        .parse()
        .map_err(|error| format!("that is no address: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("https"), Some(_)) => Err(
            "https is not spoken here; --on-alert 'curl --json @- https://…' sends the same"
                .to_owned(),
        ),
        (Some("http"), Some(authority)) if authority.as_str().contains('@') => {
            Err("no user may be in it; --on-alert 'curl …' can send one".to_owned())
        }
        (Some("http"), Some(_)) => Ok(uri),
        _ => Err("give http://HOST:PORT/PATH".to_owned()),
    }
}
