//! The command line.

use std::num::{IntErrorKind, NonZeroU32, NonZeroUsize, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use breakeven::plan::{ExecutionStrategy, Objective};
use clap::{Args, Parser, Subcommand, ValueEnum};

mod ab;
mod advise;
mod baseline;
mod compare;
mod describe;
mod doctor;
mod every;
mod export;
mod history;
mod import;
mod input;
mod monitor;
mod plan;
mod record;
mod report;
#[cfg(unix)]
mod run;
mod sweep;
mod tune;

pub(crate) use ab::{AbArgs, AbFormat, CommandLine};
pub(crate) use advise::{AdviseArgs, AdviseFormat};
pub(crate) use baseline::{AcceptArgs, BaselineCommand};
pub(crate) use compare::{CompareArgs, CompareFormat};
pub(crate) use describe::{CompletionsArgs, ManArgs};
pub(crate) use doctor::{DoctorArgs, DoctorFormat};
pub(crate) use every::EveryArgs;
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use history::{
    AddArgs, AnnotateArgs, BranchArgs, ChangesArgs, ExportSeriesArgs, HistoryArgs, HistoryCommand,
    HistoryFormat, ListArgs, SensitivityArgs, SeriesFormat, ShowSeriesArgs,
};
pub(crate) use import::ImportArgs;
pub(crate) use input::InputArgs;
pub(crate) use monitor::{MonitorArgs, MonitorFormat};
pub(crate) use plan::{PlanArgs, PlanFormat};
pub(crate) use record::RecordArgs;
pub(crate) use report::ReportArgs;
#[cfg(unix)]
pub(crate) use run::{HaltArg, RunArgs};
pub(crate) use sweep::{SweepArgs, SweepFormat};
pub(crate) use tune::{TuneArgs, TuneFormat};

/// Runs each batch of work where it pays (CPU, GPU or both), measures it, and
/// judges what was measured.
#[derive(Debug, Parser)]
#[command(name = "breakeven", version, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 done or passed, 1 a regression, work that failed or a budget \
                        that was exceeded, 2 wrong use, unreadable or mismatched input, 3 \
                        inconclusive, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the kernels on the CPU and on every GPU
    Profile(ProfileArgs),
    /// Measure a kernel at many sizes, and find the size from which on a GPU pays
    Sweep(SweepArgs),
    /// Say where a batch of work would run, and why
    Plan(PlanArgs),
    /// Find the fastest launch configurations of the kernels on a device, and keep them
    Tune(TuneArgs),
    /// List the CPU and the GPUs, and why others are absent
    Devices(DevicesArgs),
    /// Watch what the machine does now: load, memory, temperature, power, clocks
    Monitor(MonitorArgs),
    /// Say whether this machine is fit to measure on, and what to change
    Doctor(DoctorArgs),
    /// Print the tables of a profile file
    Show(ShowArgs),
    /// Compare two profiles: what became slower, what faster, what is inconclusive
    Compare(CompareArgs),
    /// Run a command for each of many inputs, on the CPU and on GPUs
    #[cfg(unix)]
    Run(RunArgs),
    /// Run two commands in turns until it is decided which is faster
    Ab(AbArgs),
    /// Manage the baseline, the profile that others are compared with
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Write a profile file in the format of another tool
    Export(ExportArgs),
    /// Keep profiles over time, and find what changed when
    History(HistoryArgs),
    /// Convert results of other benchmarks and profilers to a profile file
    Import(ImportArgs),
    /// Write a profile as one self-contained HTML page, for a browser
    Report(ReportArgs),
    /// Advise what to change first, and estimate what it saves
    Advise(AdviseArgs),
    /// Print completions of these commands for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages of these commands
    Man(ManArgs),
    /// Measure what the parent process asks for on stdin
    #[command(hide = true)]
    Worker,
    /// End the jobs of a run that was killed
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    RunGuard {
        /// The value by which its processes are recognised
        run: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Kernel to measure; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    pub(crate) kernel: Vec<&'static str>,

    /// Devices to measure: cpu, gpu (every GPU), all, or ids, with commas between them. With
    /// --strategy the GPUs to use beside the CPU; all is then every one that is not software
    #[arg(long, alias = "devices", value_name = "DEVICES", default_value = "all")]
    pub(crate) device: String,

    /// Run each kernel's batch by a strategy instead, and print the decision with its
    /// reason, what ran where and what fell back: auto, cpu-only, gpu-only or
    /// hybrid:GPU/CPU in percent, as in hybrid:60/40
    #[arg(long, value_name = "STRATEGY", value_parser = parsed::<ExecutionStrategy>)]
    #[arg(conflicts_with = "image")]
    pub(crate) strategy: Option<ExecutionStrategy>,

    /// What --strategy auto minimises: time, energy, cost, or deadline:TIME[,energy|cost],
    /// the least of that within the time, as in deadline:200ms,cost
    #[arg(
        long,
        value_name = "OBJECTIVE",
        default_value = "time",
        requires = "strategy"
    )]
    #[arg(value_parser = parsed::<Objective>)]
    pub(crate) objective: Objective,

    /// What the devices cost per hour [default: the file that BREAKEVEN_PRICES names]
    #[arg(long, value_name = "FILE.toml", requires = "strategy")]
    pub(crate) prices: Option<PathBuf>,

    /// Tasks in a batch of --strategy: images, products, pairs of vectors [default: 32 to
    /// 1024, by the kernel]
    #[arg(long, value_name = "N", value_parser = one_or_more::<NonZeroUsize>)]
    #[arg(requires = "strategy", conflicts_with = "scale")]
    pub(crate) tasks: Option<NonZeroUsize>,

    /// Measured calls per kernel and device
    #[arg(long, value_name = "N", default_value = "20", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) iterations: NonZeroU32,

    /// Warm-up calls before measuring; the first one is reported separately
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) warmup: u32,

    /// Runs, each in a fresh process; two or more also measure the differences
    /// between runs
    #[arg(long, value_name = "N", default_value = "1", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) runs: NonZeroU32,

    /// Factor on the default work: a longer vector, a larger batch, more tasks
    #[arg(long, value_name = "N", default_value = "1", value_parser = one_or_more::<NonZeroUsize>)]
    pub(crate) scale: NonZeroUsize,

    /// Budgets for means and memory; one that is exceeded makes the exit code 1
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// PNG or JPEG to run the pixel kernels on, in addition to the synthetic image
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,

    /// Series to forecast in addition to the synthetic one: a column of a CSV file, by
    /// name or by number from 1 on [default: the only column of numbers]
    #[arg(long, value_name = "FILE.csv[:COLUMN]", conflicts_with = "strategy")]
    pub(crate) series: Option<String>,

    /// Separator of the columns in the series' file: a character, or `tab`
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = separator)]
    #[arg(requires = "series")]
    pub(crate) separator: u8,

    /// File to write the profile to
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Record the machine's load meanwhile into the profile: use, temperature, power, clocks
    #[arg(long)]
    pub(crate) record_load: bool,

    /// Measure the energy of calls too: where counters tell it (auto), in any case, with an
    /// error where they do not (always, or without a value), or never
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(
        default_value_t,
        default_missing_value = "always",
        conflicts_with = "strategy"
    )]
    pub(crate) energy: EnergyWhen,

    /// Record the host's name in the profile
    #[arg(long)]
    pub(crate) with_host: bool,

    /// Seconds after which a GPU that does not answer counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) device_timeout: NonZeroU32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnergyWhen {
    /// Where counters tell it
    #[default]
    Auto,
    /// In any case: an error says what is missing
    Always,
    /// Not at all
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Measure the peaks: bandwidth, arithmetic, launch latency, transfers
    #[arg(long)]
    pub(crate) measure: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DevicesFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Profile file, or a file of another tool
    pub(crate) file: PathBuf,

    /// Budgets for means and memory
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, as wide as the terminal
    #[default]
    Table,
    /// The profile file, with figures and verdicts beside the samples
    Json,
    /// For a report or a CI summary
    Markdown,
    /// One line per kernel, device and phase
    Csv,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DevicesFormat {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

/// One ASCII character that occurs in no number.
fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii_punctuation() && !b"\"'.-+".contains(byte) => Ok(*byte),
        [b'\t'] => Ok(b'\t'),
        _ => Err("give one character, as in ';', or tab".to_owned()),
    }
}

/// A whole number from 1 on.
fn one_or_more<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large".to_owned(),
            _ => "give a whole number, 1 or more".to_owned(),
        })
}

/// A value of a type of the library, such as a strategy.
fn parsed<T: FromStr<Err = breakeven::Error>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error: breakeven::Error| error.to_string())
}

/// A question whether the most similar of the names was meant; empty where none is.
pub(crate) fn similar<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let likely = (names.into_iter())
        .map(|name| (strsim::jaro_winkler(name, text), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(likeness, _)| *likeness > 0.7);
    likely.map_or_else(String::new, |(_, name)| format!("did you mean {name:?}? "))
}

/// A kernel's name; the error suggests the most similar one.
fn kernel(text: &str) -> Result<&'static str, String> {
    let names = breakeven::kernels::NAMES;
    if let Some(name) = names.into_iter().find(|name| *name == text) {
        return Ok(name);
    }
    let hint = similar(text, names);
    Err(format!(
        "there is no such kernel; {hint}there are {}",
        names.join(", ")
    ))
}
