//! Google Benchmark's JSON (`--benchmark_out`). A row is the mean real time of its
//! iterations, and a file is one run: the repetitions of `--benchmark_repetitions` are
//! measured by one process, so they are samples. Several files are several runs.
//!
//! The sample is `real_time`, which is wall time (or the time that the benchmark sets
//! itself); `cpu_time` and the user's counters are counters, `max_bytes_used` of a memory
//! manager is the run's memory. A family that has the name of another is another operation,
//! `name #2`. Rows of aggregates (`_mean`,
//! `_stddev`, `_BigO`) are no operations; only where a file has nothing else
//! (`--benchmark_report_aggregates_only`) the median, or else the mean, is a sample.
//!
//! Source: docs/user_guide.md of google/benchmark, "Running Multiple Repetitions", and
//! src/json_reporter.cc.

use std::collections::{BTreeMap, HashMap};

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::json::{self, Entries, Number};
use crate::machine;
use crate::note::Notes;
use crate::source::Source;
use crate::unit::Unit;

pub(crate) static IMPORTER: Format = Format {
    name: "google-benchmark",
    about: "Google Benchmark: --benchmark_out=FILE --benchmark_out_format=json",
    recognises: |source| {
        source.has("benchmarks[].real_time")
            || source.has("context.num_cpus") && source.has("benchmarks")
    },
    read,
};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    context: Value,
    benchmarks: Entries<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    real_time: Option<Number>,
    time_unit: Option<String>,
    label: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    #[serde(default)]
    skipped: bool,
    skip_message: Option<String>,
    family_index: Option<u64>,
    per_family_instance_index: Option<u64>,
    /// What was counted, and what says how the benchmark was run.
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// Numbers of a row that count nothing.
const SETTINGS: [&str; 4] = ["iterations", "repetitions", "repetition_index", "threads"];

/// Ends of names of aggregates, for versions before 1.5, which have no `run_type`.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];

impl Row {
    fn run_name(&self) -> &str {
        self.run_name.as_deref().unwrap_or(&self.name)
    }

    fn is_aggregate(&self) -> bool {
        match &self.run_type {
            Some(kind) => kind == "aggregate",
            None => AGGREGATES.iter().any(|end| self.name.ends_with(end)),
        }
    }

    /// What only one row of a benchmark has: the number of a repetition, or the figure of an
    /// aggregate.
    fn repetition(&self) -> Option<String> {
        match self.is_aggregate() {
            true => Some(self.aggregate_name.clone().unwrap_or_default()),
            false => self.other.get("repetition_index").map(Value::to_string),
        }
    }

    fn unit(&self) -> &str {
        self.time_unit.as_deref().unwrap_or("ns")
    }

    fn ns(&self) -> Option<f64> {
        Some(Unit::named(self.unit())?.ns(self.real_time?.0))
    }

    fn counters(&self, operation: &mut Gathered) {
        let counted = self.other.iter();
        let counted = counted.filter(|(name, _)| !SETTINGS.contains(&name.as_str()));
        for (name, value) in counted.filter_map(|(name, value)| Some((name, value.as_f64()?))) {
            let unit = if name == "cpu_time" { self.unit() } else { "" };
            operation.figure(0, name, unit, value);
        }
    }
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source, notes)?;
    let mut gather = Gather::default();
    let (aggregates, rows): (Vec<Row>, Vec<Row>) =
        (document.benchmarks.noted(notes).into_iter()).partition(Row::is_aggregate);
    let mut repeated = false;
    for (row, mark) in marked(&rows) {
        let operation = gather.entry(row.run_name(), "cpu", Some(mark));
        if let Some(label) = row.label.as_deref().filter(|label| !label.is_empty()) {
            operation.attribute("label", label);
        }
        if row.skipped {
            operation.skipped(row.skip_message.as_deref(), notes);
            continue;
        }
        if row.error_occurred {
            let message = row.error_message.as_deref();
            operation.failed("error", message.unwrap_or("it states no reason"));
            continue;
        }
        repeated |= operation.runs() > 0;
        match row.ns() {
            Some(ns) => operation.sample(0, ns),
            None => {
                let why = "they have no real_time in a unit of time";
                notes.leave_out("row(s)", why, &row.name);
            }
        }
        row.counters(operation);
    }
    if repeated {
        let instead = "start the program several times and give every file";
        notes.one_process("--benchmark_repetitions", instead);
    }
    if rows.is_empty() {
        summaries(&aggregates, &mut gather, notes);
    }
    let cores = machine::count(&document.context, "/num_cpus");
    gather.about.environment.cpu = machine::cpu(None, cores, None);
    let date = machine::text(&document.context, "/date");
    gather.about.created = date.as_deref().and_then(machine::utc);
    let version = machine::text(&document.context, "/library_version");
    gather.about.generator = version.map(|version| format!("Google Benchmark {version}"));
    gather.profile(notes)
}

/// The rows, each with a mark of its benchmark: its family, and how often rows of the name
/// had the same repetition before. Before version 1.6 rows have no family.
fn marked(rows: &[Row]) -> impl Iterator<Item = (&Row, String)> {
    let mut known: HashMap<_, u64> = HashMap::new();
    rows.iter().map(move |row| {
        let family = (row.family_index, row.per_family_instance_index);
        let Some(repetition) = row.repetition() else {
            return (row, format!("{family:?}"));
        };
        let again = known
            .entry((row.run_name(), family, repetition))
            .or_insert(0);
        *again += 1;
        (row, format!("{family:?} {again}"))
    })
}

/// The median of each benchmark, or its mean, where a file has only aggregates.
fn summaries(aggregates: &[Row], gather: &mut Gather, notes: &mut Notes) {
    let is_of = |row: &Row, figure: &str| match &row.aggregate_name {
        Some(name) => name == figure,
        None => row.name.ends_with(&format!("_{figure}")),
    };
    let named = |row: &Row| match &row.run_name {
        Some(name) => name.clone(),
        None => {
            let end = AGGREGATES.iter().find_map(|end| row.name.strip_suffix(end));
            end.unwrap_or(&row.name).to_owned()
        }
    };
    let mut found: HashMap<(String, String), &'static str> = HashMap::new();
    for figure in ["median", "mean"] {
        for (row, mark) in marked(aggregates).filter(|(row, _)| is_of(row, figure)) {
            let name = named(row);
            let entry = (name.clone(), mark.clone());
            if let (Some(ns), figure) = (row.ns(), *found.entry(entry).or_insert(figure))
                && is_of(row, figure)
            {
                let operation = gather.entry(&name, "cpu", Some(mark));
                operation.summary(0, ns, figure, notes);
                row.counters(operation);
            }
        }
    }
}
