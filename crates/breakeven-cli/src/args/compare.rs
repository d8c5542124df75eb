//! `breakeven compare`.

use std::path::PathBuf;

use breakeven_judge::Threshold;
use breakeven_judge::compare::{Correction, Metric};
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

    /// Make the exit code the verdict
    #[arg(long)]
    pub(crate) gate: bool,

    /// With --gate: operations of the baseline may be missing
    #[arg(long, requires = "gate")]
    pub(crate) allow_missing: bool,

    /// With --gate: operations may be inconclusive
    #[arg(long, requires = "gate")]
    pub(crate) allow_inconclusive: bool,

    /// With --gate: what became worse beside the metric fails it: the mean where the
    /// medians do not show it, memory, the number of calls
    #[arg(long, requires = "gate")]
    pub(crate) strict: bool,

    /// What is judged
    #[arg(long, value_enum, default_value_t)]
    pub(crate) metric: MetricName,

    /// Change from which an operation is better or worse, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = threshold)]
    pub(crate) threshold: Threshold,

    /// Judge the changes relative to what nearly all operations have in common
    #[arg(long)]
    pub(crate) relative: bool,

    /// Rate of false alarms
    #[arg(long, value_name = "FRACTION", default_value = "5%", value_parser = part)]
    pub(crate) alpha: f64,

    /// How p-values are corrected for the number of operations
    #[arg(long, value_enum, default_value_t)]
    pub(crate) correction: CorrectionName,

    /// Earlier profiles, oldest first, that tell how much the runs of each operation differ;
    /// of a file that keeps a history (`breakeven history`, `data.js`) its latest entries
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "plain_threshold")]
    pub(crate) history: Vec<PathBuf>,

    /// Standard deviation between runs, as in 3% or 0.03: one figure for every operation
    /// with fewer than four runs on a side and no history
    #[arg(long, value_name = "FRACTION", value_parser = part, conflicts_with = "plain_threshold")]
    pub(crate) noise: Option<f64>,

    /// Judge by the threshold alone, without a test
    #[arg(long)]
    pub(crate) plain_threshold: bool,

    /// Budgets (`max`) and limits of single operations (`max_increase`)
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CompareFormat,

    /// Write the format to a file; the table is printed then
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
    /// Everything, for programs
    Json,
    /// For a report or a CI summary
    Markdown,
    /// For GitHub Actions: annotations of the pull request
    Github,
    /// For CI systems that show tests
    Junit,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricName {
    /// Median time of a run
    #[default]
    #[value(alias = "median")]
    Time,
    /// Mean time of a run
    Mean,
    /// Time that 95 % of a run's calls stay within
    P95,
    /// Time that 99 % of a run's calls stay within
    P99,
    /// Time of all calls of a run
    Total,
    /// Memory that a call holds
    Memory,
    /// Calls in a run
    Calls,
    /// Items, else calls, per second of all calls: less is worse
    Throughput,
}

impl From<MetricName> for Metric {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Time => Self::Time,
            MetricName::Mean => Self::Mean,
            MetricName::P95 => Self::P95,
            MetricName::P99 => Self::P99,
            MetricName::Total => Self::Total,
            MetricName::Memory => Self::Memory,
            MetricName::Calls => Self::Calls,
            MetricName::Throughput => Self::Throughput,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CorrectionName {
    /// Benjamini and Hochberg: the share of false ones among the changes
    #[default]
    Bh,
    /// Holm: the chance of any false change
    Holm,
    /// None
    None,
}

impl From<CorrectionName> for Correction {
    fn from(name: CorrectionName) -> Self {
        match name {
            CorrectionName::Bh => Self::BenjaminiHochberg,
            CorrectionName::Holm => Self::Holm,
            CorrectionName::None => Self::None,
        }
    }
}

pub(super) fn threshold(text: &str) -> Result<Threshold, String> {
    let fraction = part(text)?;
    Threshold::percent(fraction * 100.0).map_err(|error| error.to_string())
}

/// A fraction: `5%` or `0.05`.
pub(super) fn part(text: &str) -> Result<f64, String> {
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
