//! `breakeven compare`.

use std::path::PathBuf;

use breakeven_judge::Threshold;
use breakeven_judge::compare::{Correction, Metric};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    override_usage = "breakeven compare [OPTIONS] <BASELINE> <CURRENT>\n       \
                      breakeven compare [OPTIONS] --baseline <FILE>... --current <FILE>..."
)]
pub(crate) struct CompareArgs {
    /// The profile to compare against, or a file of another tool
    #[arg(value_name = "BASELINE", required_unless_present = "baselines")]
    pub(crate) baseline: Option<PathBuf>,

    /// The profile to judge, or a file of another tool
    #[arg(value_name = "CURRENT", required_unless_present = "currents")]
    pub(crate) current: Option<PathBuf>,

    /// Profiles to compare against, their runs put together
    #[arg(id = "baselines", long = "baseline", value_name = "FILE", num_args = 1..)]
    #[arg(requires = "currents", conflicts_with_all = ["baseline", "current"])]
    pub(crate) baselines: Vec<PathBuf>,

    /// Profiles to judge, their runs put together
    #[arg(id = "currents", long = "current", value_name = "FILE", num_args = 1..)]
    #[arg(requires = "baselines", conflicts_with_all = ["baseline", "current"])]
    pub(crate) currents: Vec<PathBuf>,

    /// Exit with the verdict's code: 1 for a regression, 2 for sides that do not match,
    /// 3 where it is inconclusive
    #[arg(long)]
    pub(crate) gate: bool,

    /// With --gate: allow operations of the baseline to be missing
    #[arg(long, requires = "gate")]
    pub(crate) allow_missing: bool,

    /// With --gate: allow operations to be inconclusive
    #[arg(long, requires = "gate")]
    pub(crate) allow_inconclusive: bool,

    /// With --gate: also fail if something beside the metric became worse: the mean
    /// where the medians do not show it, memory, the number of calls
    #[arg(long, requires = "gate")]
    pub(crate) strict: bool,

    /// Metric to judge
    #[arg(long, default_value = "time", value_parser = named(&METRICS))]
    pub(crate) metric: Metric,

    /// Smallest change that makes an operation better or worse, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = threshold)]
    pub(crate) threshold: Threshold,

    /// Judge the changes relative to the change that nearly all operations share
    #[arg(long)]
    pub(crate) relative: bool,

    /// Rate of false alarms
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = part)]
    pub(crate) alpha: f64,

    /// How p-values are corrected for the number of operations
    #[arg(long, default_value = "bh", value_parser = named(&CORRECTIONS))]
    pub(crate) correction: Correction,

    /// Earlier profiles, oldest first, from which to learn how much the runs of each
    /// operation differ; of a history the latest 50 entries are read (`breakeven
    /// history`: of the same machine; `data.js`, which names no machines: of all)
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "plain_threshold")]
    pub(crate) history: Vec<PathBuf>,

    /// Standard deviation between runs, as in 3% or 0.03, assumed for every operation
    /// with fewer than four runs on a side and no history
    #[arg(long, value_name = "FRACTION", value_parser = part, conflicts_with = "plain_threshold")]
    pub(crate) noise: Option<f64>,

    /// Judge by the threshold alone, without a test
    #[arg(long)]
    pub(crate) plain_threshold: bool,

    /// Budgets (`max`) and limits of single operations (`max_increase`)
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CompareFormat,

    /// File to write in that format; the table is then printed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: super::InputArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For people, as wide as the terminal
    #[default]
    Table,
    /// For programs, with all figures
    Json,
    /// For a report or a CI summary
    Markdown,
    /// For GitHub Actions: annotations of the pull request
    Github,
    /// For CI systems that show tests
    Junit,
}

/// The metrics by name, each with what it is.
const METRICS: [(&str, Metric, &str); 10] = [
    ("time", Metric::Time, "Median time of a run"),
    ("median", Metric::Time, "The same as time"),
    ("mean", Metric::Mean, "Mean time of a run"),
    (
        "p95",
        Metric::P95,
        "Time that 95 % of a run's calls stay within",
    ),
    (
        "p99",
        Metric::P99,
        "Time that 99 % of a run's calls stay within",
    ),
    ("total", Metric::Total, "Time of all calls of a run"),
    ("memory", Metric::Memory, "Memory that a call holds"),
    (
        "energy",
        Metric::Energy,
        "Energy of a call, idle power included",
    ),
    ("calls", Metric::Calls, "Calls in a run"),
    (
        "throughput",
        Metric::Throughput,
        "Items, else calls, per second of all calls: less is worse",
    ),
];

/// The corrections by name, each with what it bounds.
const CORRECTIONS: [(&str, Correction, &str); 3] = [
    (
        "bh",
        Correction::BenjaminiHochberg,
        "Benjamini–Hochberg: bounds the fraction of false ones among the reported changes",
    ),
    (
        "holm",
        Correction::Holm,
        "Bounds the probability of any false change",
    ),
    ("none", Correction::None, "No correction"),
];

/// One of the library's values, by name.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let names = all
        .iter()
        .map(|(name, _, about)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(names).map(move |given| {
        let mut meant = all.iter().filter(|(name, ..)| *name == given);
        meant.next().expect("the parser passes these names alone").1
    })
}

pub(crate) fn threshold(text: &str) -> Result<Threshold, String> {
    let fraction = part(text)?;
    Threshold::percent(fraction * 100.0).map_err(|error| error.to_string())
}

/// A fraction: `5%` or `0.05`.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| "give a fraction as in 5% or 0.05".to_owned())?;
    if !(number.is_finite() && number > 0.0) {
        Err("give a fraction above zero, as in 5% or 0.05".to_owned())
    } else if scale == 1.0 && number > 1.0 {
        let percent = number * 100.0;
        Err(format!("{number} is {percent} %; did you mean {number}%?"))
    } else {
        Ok(number * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts() {
        assert_eq!(part("5%"), Ok(0.05));
        assert_eq!(part("2.5 %"), Ok(0.025));
        assert_eq!(part("0.05"), Ok(0.05));
        assert_eq!(part("150%"), Ok(1.5));
        for wrong in ["", "%", "five", "-5%", "0", "nan", "inf", "5"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
