//! Arguments of `breakeven plan`.

use std::path::PathBuf;

use breakeven::plan::Objective;
use breakeven_profile::unit;
use clap::Args;

const NOT_OF_A_CHAIN: [&str; 5] = [
    "task_bytes",
    "operation",
    "task_time",
    "heuristics",
    "forget",
];

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Tasks in the batch
    #[arg(long, value_name = "N", value_parser = tasks, allow_negative_numbers = true)]
    #[arg(required_unless_present_any = ["forget", "chain"])]
    pub(crate) tasks: Option<usize>,

    /// Decide where each kernel of a chain should run; each works on the output of the kernel
    /// before. The tasks are the chain's items [default: 1]
    #[arg(long, value_name = "KERNEL,…", value_delimiter = ',')]
    #[arg(conflicts_with_all = NOT_OF_A_CHAIN)]
    pub(crate) chain: Vec<String>,

    /// Size of an item of the chain's input: the side of an image, the length of a vector
    /// [default: as in `breakeven profile`]
    #[arg(long, value_name = "N", requires = "chain", value_parser = tasks)]
    #[arg(conflicts_with_all = NOT_OF_A_CHAIN)] // beside them clap requires nothing
    pub(crate) size: Option<usize>,

    /// Run the chain here first, and measure its stages on every device
    #[arg(long, requires = "chain", conflicts_with = "hardware")]
    #[arg(conflicts_with_all = NOT_OF_A_CHAIN)]
    pub(crate) measure: bool,

    /// Memory that one task needs and moves to a GPU, as in 1MB [default: 10 KiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) task_bytes: Option<usize>,

    /// Relative amount of computation per byte, 0 or more
    #[arg(long, value_name = "C", default_value = "100", value_parser = number)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) complexity: f64,

    /// Fraction of the work that can run in parallel, 0 (sequential) to 1
    #[arg(long, value_name = "P", default_value = "1", value_parser = number)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) parallel: f64,

    /// Decide from the measurements of this operation on this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) operation: Option<String>,

    /// Time of one task on one core, as in 800us; other times are derived from the machine's rates
    #[arg(long, value_name = "T", value_parser = time)]
    pub(crate) task_time: Option<f64>,

    /// Decide for the machine described in this file
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) hardware: Option<PathBuf>,

    /// Show this machine and the described one side by side: would a GPU help?
    #[arg(long, requires = "hardware")]
    pub(crate) compare: bool,

    /// Thresholds of the rule: from a file, or of the preset `hybrid-first`
    #[arg(long, value_name = "FILE.toml|hybrid-first")]
    pub(crate) heuristics: Option<PathBuf>,

    /// What to minimise: time, energy, cost, or deadline:TIME[,energy|cost], which minimises energy
    /// or cost within the time, as in deadline:200ms,cost
    #[arg(
        long,
        value_name = "OBJECTIVE",
        default_value = "time",
        conflicts_with = "chain"
    )]
    pub(crate) objective: Objective,

    /// What the devices cost per hour [default: the file that BREAKEVEN_PRICES names]
    #[arg(long, value_name = "FILE.toml", conflicts_with = "chain")]
    pub(crate) prices: Option<PathBuf>,

    /// GPUs to consider: gpu (every one, software GPUs too), or ids separated by commas [default:
    /// every GPU that is not software]
    #[arg(long, alias = "devices", value_name = "DEVICES")]
    pub(crate) device: Option<String>,

    /// Delete the measurements of the operation; without --tasks do nothing else
    #[arg(long, requires = "operation")]
    pub(crate) forget: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

fn tasks(text: &str) -> Result<usize, String> {
    use std::num::IntErrorKind::PosOverflow;
    text.parse()
        .map_err(|error: std::num::ParseIntError| match error.kind() {
            PosOverflow => "the number is too large".to_owned(),
            _ => "give a whole number, 0 or more".to_owned(),
        })
}

/// Any number; the workload checks the range.
fn number(text: &str) -> Result<f64, String> {
    text.parse()
        .map_err(|_| "give a number, as in 0.5".to_owned())
}

fn bytes(text: &str) -> Result<usize, String> {
    let bytes = unit::parse_bytes(text).map_err(|error| error.to_string())?;
    usize::try_from(bytes).map_err(|_| "that is too much memory for a number of 64 bits".to_owned())
}

fn time(text: &str) -> Result<f64, String> {
    match unit::parse_time(text) {
        Ok(ns) if ns > 0.0 => Ok(ns),
        Ok(_) => Err("give a time above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
