//! Arguments of `breakeven compare`.

use std::convert::Infallible;
use std::path::PathBuf;

use breakeven_judge::Threshold;
use breakeven_judge::compare::{METRICS, Metric};
use clap::Args;

use super::format::{self, FORMATS, Format};
use crate::values::unknown;

#[derive(Debug, Args)]
#[command(
    override_usage = "breakeven compare [OPTIONS] <BASELINE> <CURRENT>\n       \
                      breakeven compare [OPTIONS] --baseline <FILE>... --current <FILE>..."
)]
pub(crate) struct CompareArgs {
    /// The profile to compare against, or a file of another tool
    #[arg(value_name = "BASELINE", required_unless_present_any = ["baselines", "currents"])]
    pub(crate) baseline: Option<PathBuf>,

    /// The profile to judge, or a file of another tool; - is the standard input
    #[arg(value_name = "CURRENT", required_unless_present_any = ["baselines", "currents"])]
    pub(crate) current: Option<PathBuf>,

    /// Profiles to compare against, with their runs merged
    #[arg(id = "baselines", long = "baseline", value_name = "FILE", num_args = 1..)]
    #[arg(requires = "currents", conflicts_with_all = ["baseline", "current"])]
    pub(crate) baselines: Vec<PathBuf>,

    /// Profiles to judge, with their runs merged
    #[arg(id = "currents", long = "current", value_name = "FILE", num_args = 1..)]
    #[arg(requires = "baselines", conflicts_with_all = ["baseline", "current"])]
    pub(crate) currents: Vec<PathBuf>,

    /// Exit with the verdict's code: 1 for a regression, 2 for sides that do not match,
    /// 3 if nothing could be judged
    #[arg(long)]
    pub(crate) gate: bool,

    /// With --gate: allow operations of the baseline to be missing
    #[arg(long, requires = "gate", conflicts_with = "accept")]
    pub(crate) allow_missing: bool,

    /// With --gate: exit with 3 if any operation is undecided
    #[arg(long, requires = "gate", conflicts_with = "accept")]
    pub(crate) require_decided: bool,

    /// With --gate: also fail if anything but the metric became worse: the mean if the medians do
    /// not show it, memory, allocations, the number of calls
    #[arg(long, requires = "gate", conflicts_with = "accept")]
    pub(crate) strict: bool,

    /// Show the changes, then replace BASELINE by the runs of the current side; BASELINE need not
    /// exist yet
    #[arg(long, conflicts_with = "gate")]
    pub(crate) accept: bool,

    #[arg(long, value_name = "NAME", default_value = "time", value_parser = metric)]
    #[arg(help = metrics(&(Metric::names() + ",")), long_help = metrics(&each_metric()))]
    pub(crate) metric: Metric,

    /// Smallest change that makes an operation better or worse, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = crate::values::threshold)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) threshold: Threshold,

    /// Judge changes relative to the common shift of nearly all operations
    #[arg(long)]
    pub(crate) relative: bool,

    /// False-positive rate, corrected for the number of operations (Benjamini–Hochberg)
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = crate::values::part)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) alpha: f64,

    /// Earlier profiles, oldest first, from which to estimate the noise between runs of each
    /// operation. Of a history the latest 50 entries are used (`breakeven history`: of the same
    /// machine; `data.js`, which names no machines: of all)
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "plain_threshold")]
    pub(crate) history: Vec<PathBuf>,

    /// Judge by the threshold only, without a test
    #[arg(long)]
    pub(crate) plain_threshold: bool,

    /// Budgets (`max`) and limits of single operations (`max_increase`)
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// Format of the output [default: table, or what the name of the file ends with]
    #[arg(long, value_parser = format::parser())]
    pub(crate) format: Option<&'static Format>,

    /// File to write in that format, while the table is printed; or FORMAT=FILE, once per format
    #[arg(short, long, value_name = "[FORMAT=]FILE", value_parser = output)]
    pub(crate) output: Vec<Output>,

    #[command(flatten)]
    pub(crate) input: crate::input::InputArgs,
}

/// A file to write, and its format if it differs from that of `--format`.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) format: Option<&'static Format>,
    pub(crate) path: PathBuf,
}

fn metrics(list: &str) -> String {
    format!("Metric to judge: {list} or the name of a counter in the profiles")
}

fn each_metric() -> String {
    let each = METRICS.iter();
    let each = each.map(|known| format!("\n- {}: {}", known.names.join(", "), known.about));
    each.collect::<String>() + "\n-"
}

#[expect(clippy::unnecessary_wraps, reason = "clap calls it")]
fn metric(text: &str) -> Result<Metric, Infallible> {
    Ok(Metric::from(text))
}

fn output(text: &str) -> Result<Output, String> {
    let is_word = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '-');
    let (format, path) = match text.split_once('=').filter(|(word, _)| is_word(word)) {
        Some((word, path)) => (Some(word), path),
        None => (None, text),
    };
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let named = |word| Format::named(word).ok_or_else(|| unknown("format", word, &names));
    Ok(Output {
        format: format.map(named).transpose()?,
        path: path.into(),
    })
}
