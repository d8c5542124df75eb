//! `breakeven show`: prints a profile, one function per format.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_judge::budget::Idle;
use breakeven_judge::overview::{COLUMNS, Column};
use breakeven_judge::page::{self, Page, Row, Table, Text, Tone, clean};
use breakeven_judge::{Finding, Limits, Outcome, Overview, Standing, Thresholds, Winner, overview};
use breakeven_profile::profile::{Operation, OperationKey, Profile};
use breakeven_profile::{file, unit};
use breakeven_report::Words;
use clap::Args;
use serde::Serialize;

use crate::input::{Input, InputArgs};
use crate::print::print;
use crate::values::Format;

mod activity;
pub(crate) mod environment;
mod executions;
mod load;
mod verdicts;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Profile file, or a file of another tool; - is the standard input
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

pub(crate) fn run(args: &ShowArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let limits = crate::input::limits(args.budget.as_deref())?;
    let mut input = Input::new(&args.input, err);
    let profile = input.read(&args.file)?;
    input.finish()?;
    let report = Report::new(profile, limits);
    write(&report, args.format, out, err)?;
    // Showing a failure is no failure.
    Ok(report.budgets)
}

/// The printed report on a profile.
pub(crate) struct Report {
    pub(crate) profile: Profile,
    pub(crate) overview: Overview,
    pub(crate) thresholds: Thresholds,
    /// Backends without a device here; empty for a profile from another machine.
    pub(crate) absent: Vec<Absent>,
    /// Failures that are not an operation's.
    pub(crate) notes: Vec<String>,
    /// Notes.
    pub(crate) remarks: Vec<String>,
    /// Notes on the user's budgets that applied to no operation.
    pub(crate) unmatched: Vec<String>,
    /// The result of the user's budgets.
    pub(crate) budgets: Outcome,
    /// True if the user gave budgets.
    budgets_given: bool,
    /// True if the targets apply to these operations: those of the suite, or of the file.
    has_targets: bool,
    /// Names of operations of which the profile has several sizes.
    sized: HashSet<String>,
}

impl Report {
    /// Judges a profile by the given limits.
    pub(crate) fn new(profile: Profile, limits: Option<Limits>) -> Self {
        let given = limits.is_some();
        Self::judged(profile, limits.unwrap_or_default(), given)
    }

    /// Judges a profile of the suite: by the given limits, else by the suite's own, which apply to
    /// the measured operations and never fail.
    #[cfg(feature = "engine")]
    pub(crate) fn of_the_suite(profile: Profile, limits: Option<Limits>) -> Self {
        let given = limits.is_some();
        let limits = limits.unwrap_or_else(|| of_the_suite(&profile));
        Self {
            has_targets: true,
            ..Self::judged(profile, limits, given)
        }
    }

    fn judged(profile: Profile, limits: Limits, budgets_given: bool) -> Self {
        let unmatched = match budgets_given {
            true => limits.unmatched(std::slice::from_ref(&profile)),
            false => Vec::new(),
        };
        let overview = overview(&profile, &limits);
        let mut held = overview.rows.iter().flat_map(|row| &row.budgets);
        let over = budgets_given && held.any(|held| held.standing == Standing::Over);
        let budgets = match unmatched.iter().all(|idle| idle.why == Idle::Failed) {
            _ if over => Outcome::Failed,
            _ if unmatched.is_empty() => Outcome::Passed,
            true => Outcome::Failed,
            false => Outcome::Mismatched,
        };
        Self {
            unmatched: unmatched.iter().map(ToString::to_string).collect(),
            budgets,
            budgets_given,
            has_targets: budgets_given,
            sized: sized(&profile),
            overview,
            profile,
            thresholds: limits.thresholds,
            absent: Vec::new(),
            notes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The complete page.
    fn page(&self) -> Page {
        let mut page = Page::default();
        environment::add(self, &mut page);
        self.overview.add_to(&mut page, &self.profile);
        add_programs(&self.profile, &mut page);
        activity::add(self, &mut page);
        load::add(self, &mut page);
        executions::add(self, &mut page);
        verdicts::add(self, &mut page);
        page
    }

    /// The texts around the table of operations, for the page of `breakeven report`.
    pub(crate) fn words(&self) -> Words {
        let mut words = Words::default();
        environment::add(self, &mut words.environment);
        executions::add(self, &mut words.executions);
        activity::add(self, &mut words.devices);
        load::add(self, &mut words.load);
        verdicts::add(self, &mut words.judged);
        words
    }

    /// An operation's name, with its size if the profile has several.
    fn operation(&self, name: &str, size: Option<u64>) -> String {
        OperationKey::sized(name, size.filter(|_| self.sized.contains(name)))
    }

    /// An operation and its device.
    fn who(&self, key: &OperationKey) -> String {
        let operation = self.operation(&key.name, key.size);
        format!("{operation} on {}", self.label(&key.device))
    }

    /// The id of a device; a software GPU is marked.
    fn label(&self, device: &str) -> String {
        self.profile.device_label(device)
    }
}

/// A table with a column of names and columns of figures.
fn figures<'h>(
    groups: &str,
    names: &str,
    heads: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = Row>,
) -> Table {
    let mut columns = vec![page::Column::words(names, page::Column::KEPT)];
    let heads = heads.into_iter();
    columns.extend(heads.map(|head| page::Column::figures(head, 1)));
    Table {
        groups: groups.to_owned(),
        columns,
        rows: rows.into_iter().collect(),
    }
}

/// A row of a group.
fn grouped(group: &str, cells: impl IntoIterator<Item = String>) -> Row {
    Row {
        group: Text::new(group, Tone::Strong),
        ..Row::new(cells)
    }
}

/// A backend that has no device here.
#[derive(Debug, Serialize)]
pub(crate) struct Absent {
    /// The backend; none for all of them.
    pub(crate) backend: Option<&'static str>,
    pub(crate) reason: String,
    /// What would make it available.
    pub(crate) remedy: String,
}

fn sized(profile: &Profile) -> HashSet<String> {
    let mut first: HashMap<&str, Option<u64>> = HashMap::new();
    let several = profile.operations.iter().filter(|operation| {
        let size = first.entry(&operation.name).or_insert(operation.size);
        *size != operation.size
    });
    several.map(|operation| operation.name.clone()).collect()
}

/// Prints a report in a format; notes that the format has no room for go to `err`. A closed output
/// only stops the printing.
pub(crate) fn write(
    report: &Report,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<()> {
    let printed = match format {
        Format::Table => print(&report.page(), out),
        Format::Json => write_json(report, out),
        Format::Markdown => Ok(report.page().markdown(out)?),
        Format::Csv => write_csv(report, out),
    };
    printed.and_then(|()| Ok(out.flush()?))?;
    // The reader of stderr may be gone.
    for note in report.notes.iter().filter(|_| format == Format::Csv) {
        let _ = writeln!(err, "{}", clean(note));
    }
    // A page includes them.
    if let Format::Json | Format::Csv = format {
        report_unmatched(report, err);
    }
    Ok(())
}

/// Lists the budgets that applied to no operation.
pub(crate) fn report_unmatched(report: &Report, err: &mut dyn Write) {
    for text in &report.unmatched {
        let _ = writeln!(err, "error: {}", clean(text));
    }
}

/// Writes one line per operation, device and phase of a call; times in ns.
fn write_csv(report: &Report, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.csv > 0).collect();
    columns.sort_by_key(|column| column.csv);
    csv.write_record(columns.iter().map(|column| column.key))?;
    for line in report.overview.rows.iter().flat_map(|row| row.lines()) {
        csv.write_record(
            columns
                .iter()
                .map(|column| clean(&column.text(&line, |_, value| value.to_string()))),
        )?;
    }
    csv.flush()?;
    Ok(())
}

/// Figures computed over all operations, and notes from outside the profile.
#[derive(Serialize)]
struct Further<'r> {
    absent: &'r [Absent],
    winners: &'r [Winner],
    findings: &'r [Finding],
    notes: &'r [String],
}

/// Writes the profile file's own document, with the computed figures added.
fn write_json(report: &Report, out: &mut dyn Write) -> Result<()> {
    let further = Further {
        absent: &report.absent,
        winners: &report.overview.winners,
        findings: &report.overview.findings,
        notes: &report.notes,
    };
    let mut profile = report.profile.clone();
    for (operation, row) in profile.operations.iter_mut().zip(&report.overview.rows) {
        operation.figures = serde_json::to_value(row)?;
    }
    let mut text = Vec::new();
    file::write_with(&profile, &further, &mut text)?;
    crate::print::escaped(&String::from_utf8(text)?, out)
}

/// A line for each program: means over its runs, the largest memory.
fn add_programs(profile: &Profile, page: &mut Page) {
    for operation in profile.operations.iter().filter(|each| each.is_process()) {
        let mean = |counter: &str| {
            let runs = operation.runs.iter();
            let values = runs.filter_map(|run| run.counters.get(counter).copied());
            let values: Vec<f64> = values.collect();
            let sum = values.iter().sum::<f64>();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        };
        let mut used: Vec<String> = Vec::new();
        for name in ["user", "system"] {
            used.extend(mean(name).map(|s| format!("{name} {}", unit::time(s * 1e9))));
        }
        let memory = operation.memory_bytes;
        used.extend(memory.map(|memory| format!("memory {}", unit::bytes(memory))));
        used.extend(mean("page faults").map(|count| format!("{count:.0} page faults")));
        used.extend(other_codes(operation));
        if !used.is_empty() {
            page.aside(format!("{}: {}", operation.name, used.join(", ")));
        }
    }
}

/// The exit codes other than 0.
fn other_codes(operation: &Operation) -> Option<String> {
    let codes = operation
        .attributes
        .get(Operation::EXIT_CODES)?
        .as_array()?;
    let mut others: Vec<String> = (codes.iter())
        .map(|code| {
            code.as_str()
                .map_or_else(|| code.to_string(), str::to_owned)
        })
        .collect();
    others.sort();
    others.dedup();
    others.retain(|code| code != "0");
    (!others.is_empty()).then(|| format!("exit codes {}", others.join(", ")))
}

/// On a discrete GPU at the default workload: the kernel, its size, µs per call.
#[cfg(feature = "engine")]
pub(crate) const SUITE: [(&str, u64, u64); 7] = [
    ("matrix_multiply", 65_536, 3_000),
    ("conv2d", 65_536, 2_000),
    ("pixel_entropy", 262_144, 8_000),
    ("image_segmentation", 65_536, 1_000),
    ("ar_forecast", 1_000, 500),
    ("lstm_cell_forward", 8_192, 3_000),
    ("dendritic_integration", 10, 300),
];

/// The suite's own budgets: for discrete GPUs, and for the default sizes.
#[cfg(feature = "engine")]
fn of_the_suite(profile: &Profile) -> Limits {
    use breakeven_judge::{Budget, Limited, Scope};

    let discrete = profile
        .environment
        .gpus
        .iter()
        .filter(|gpu| gpu.kind.as_deref() == Some("discrete"));
    let budgets = discrete
        .flat_map(|gpu| {
            SUITE.map(|(operation, size, us)| Budget {
                scope: Scope {
                    operation: operation.to_owned(),
                    device: Some(gpu.id.clone()),
                    size: Some(size),
                },
                limited: Limited::Mean,
                max: us as f64 * 1e3,
            })
        })
        .collect();
    Limits {
        budgets,
        ..Limits::default()
    }
}
