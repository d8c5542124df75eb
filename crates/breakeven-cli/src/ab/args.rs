//! Arguments of `breakeven ab`.

use std::time::Duration;

use breakeven_judge::Threshold;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// The first command, the baseline, in quotes; if one of the two has shell syntax (`|`, `>`,
    /// `;` …), `sh -c` runs both, and its start is measured too. With --kernel or --chain, how to run
    /// that: a list of device=cpu|gpu|ID, pool=off, default, tuned, size=N, window=N, separate, fused,
    /// and NAME=VALUE for the parameters that `breakeven tune` lists, as in "units=64,rows=2"
    #[arg(value_name = "A", value_parser = words)]
    pub(crate) a: CommandLine,

    /// The second command, or how the kernel runs
    #[arg(value_name = "B", value_parser = words)]
    pub(crate) b: CommandLine,

    /// Compare two ways to run a kernel, instead of two commands
    #[arg(long, value_name = "KERNEL", value_parser = crate::values::kernel, conflicts_with = "chain")]
    pub(crate) kernel: Option<&'static str>,

    /// Compare two ways to run a chain of kernels
    #[arg(long, value_name = "KERNEL,…", value_delimiter = ',', value_parser = crate::values::kernel)]
    pub(crate) chain: Vec<&'static str>,

    /// Compare the time on the device only, without transfers
    #[arg(long)]
    pub(crate) on_device: bool,

    /// Smallest difference that counts, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%")]
    #[arg(value_parser = crate::values::threshold, allow_hyphen_values = true)]
    pub(crate) threshold: Threshold,

    /// Stop after this time, warm-ups included, even if undecided, as in 60s; a command that still
    /// runs is ended
    #[arg(long, value_name = "T", default_value = "60s", value_parser = crate::values::time)]
    pub(crate) time_limit: Duration,

    /// Warm-up runs of each command, which are not counted
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warmup: u32,

    /// Exit with the verdict's code: 0 if B is not slower, 1 if it is, 3 if undecided; as without
    /// it, 1 if a command fails, 2 for wrong use, 130 if interrupted
    #[arg(long)]
    pub(crate) gate: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

/// A program and its arguments.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    /// The text as it was typed.
    pub(crate) text: String,
}

fn words(text: &str) -> Result<CommandLine, String> {
    let words = shlex::split(text).ok_or("a quote is not closed")?;
    if words.is_empty() {
        return Err("give a program".to_owned());
    }
    let text = text.to_owned();
    Ok(CommandLine { text })
}
