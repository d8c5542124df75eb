//! A result of asv, `.asv/results/MACHINE/COMMIT-ENVIRONMENT.json`, of version 1 or 2. A file
//! is one run: it does not say which process took a sample. Recorded samples are the samples
//! (`asv run --record-samples`), else the median is one.
//!
//! A benchmark is named with its parameters as `asv run --bench` matches it: `bench.f(10, 'a')`.
//! The beginning of a name says what it measures: times in seconds, memory in bytes; the unit of
//! others is in `benchmarks.json`, two folders above. A benchmark without a result failed; NaN
//! means that it was skipped.
//!
//! Source: asv's documentation, "asv reference", "Writing benchmarks", and its `results.py`.

use std::collections::BTreeMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::json;
use crate::machine;
use crate::name::{plain, with_details};
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "asv",
    about: "asv: .asv/results/MACHINE/*.json",
    recognises: |source| source.has("commit_hash") && source.has("results"),
    read,
};

#[derive(Deserialize)]
struct Document {
    commit_hash: Option<String>,
    /// The machine.
    #[serde(default)]
    params: Value,
    /// What is where in a result of version 2.
    #[serde(default)]
    result_columns: Vec<String>,
    results: BTreeMap<String, Value>,
}

/// What stands for the NaN of a skipped benchmark.
const SKIPPED: &str = "N";

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let units = units(&source);
    let path = source.path().to_owned();
    let text = source.into_memory(notes)?;
    let document: Document = json::of(&text, &path, SKIPPED.into(), notes)?;
    let mut gather = Gather::default();
    let mut started = f64::INFINITY;
    for (name, result) in &document.results {
        let column = |wanted: &str| match result {
            // Of version 2.
            Value::Array(columns) => {
                let mut names = document.result_columns.iter();
                columns.get(names.position(|name| name == wanted)?)
            }
            // Of version 1.
            Value::Object(columns) => columns.get(wanted),
            result => Some(result).filter(|_| wanted == "result"),
        };
        let list = |wanted: &str| column(wanted).and_then(Value::as_array);
        let params: Vec<&Vec<Value>> = list("params")
            .into_iter()
            .flatten()
            .filter_map(Value::as_array)
            .collect();
        let is_one = |values: &[Value]| params.is_empty() && values.len() > 1;
        let values = match column("result") {
            Some(Value::Array(values)) if is_one(values) => {
                let why = "they have more values than parameters";
                notes.leave_out("result(s)", why, name);
                continue;
            }
            Some(Value::Array(values)) => values.clone(),
            // All of it failed.
            value => vec![value.cloned().unwrap_or_default()],
        };
        for (at, value) in values.iter().enumerate() {
            let name = match values.len() {
                1 if params.iter().any(|each| each.len() > 1) => name.clone(),
                _ => with_details(name, "", combination(&params, at)),
            };
            let operation = gather.operation(&name);
            let samples = list("samples").and_then(|all| all.get(at)?.as_array());
            let samples = samples.filter(|samples| !samples.is_empty());
            let samples = samples.map(|all| all.iter().filter_map(Value::as_f64).collect());
            let found: Option<Vec<f64>> = samples.or(value.as_f64().map(|value| vec![value]));
            match found {
                Some(found) if value.is_number() => {
                    measured(operation, &name, &found, &units, notes);
                }
                _ if value.as_str() == Some(SKIPPED) => operation.skipped(None, notes),
                _ => {
                    operation.failed(
                        "error",
                        "asv has no result of it; see asv run --show-stderr",
                    );
                }
            }
        }
        if let Some(at) = column("started_at").and_then(Value::as_f64) {
            started = started.min(at);
        }
    }
    let text = |key: &str| machine::text(&document.params, key);
    let logical = text("/num_cpu").and_then(|count| count.parse().ok());
    gather.about.environment = Environment {
        os: text("/os").and_then(machine::os),
        arch: text("/arch").and_then(machine::arch),
        cpu: machine::cpu(text("/cpu"), logical, None),
        revision: document.commit_hash,
        ..Environment::default()
    };
    gather.about.created = machine::utc_of_ms(started);
    gather.profile(notes)
}

/// Takes the samples of a benchmark, or its median.
fn measured(
    operation: &mut Gathered,
    name: &str,
    found: &[f64],
    units: &BTreeMap<String, String>,
    notes: &mut Notes,
) {
    let name = name.split('(').next().unwrap_or_default();
    let function = name.rsplit('.').next().unwrap_or_default();
    let begins = |kinds: &[&str]| kinds.iter().any(|kind| function.starts_with(kind));
    let is_seconds = units.get(name).is_some_and(|unit| unit == "seconds");
    if begins(&["time_", "Time", "timeraw_", "Timeraw"]) || is_seconds {
        match found {
            [s] => operation.summary(0, s * 1e9, "median", notes),
            samples => samples.iter().for_each(|s| operation.sample(0, s * 1e9)),
        }
        return;
    }
    operation.is_timeless = true;
    for value in found {
        if begins(&["mem_", "Mem", "peakmem_", "PeakMem"]) {
            operation.memory(0, *value);
            continue;
        }
        let unit = units.get(name).map_or("unit", String::as_str);
        let counter = operation.counter(0, unit, unit, *value);
        if !counter.higher_is_better {
            notes.no_direction(unit);
        }
    }
}

/// The parameters of a result by its place: the last one changes first.
fn combination(params: &[&Vec<Value>], at: usize) -> Vec<String> {
    let mut rest = at;
    let mut values: Vec<String> = Vec::new();
    for all in params.iter().rev().filter(|all| !all.is_empty()) {
        values.push(plain(&all[rest % all.len()]));
        rest /= all.len();
    }
    values.reverse();
    values
}

/// The units of benchmarks by name, as far as `benchmarks.json` is there.
fn units(source: &Source) -> BTreeMap<String, String> {
    let folder = source.path().parent().and_then(|folder| folder.parent());
    let text = folder.and_then(|folder| std::fs::read(folder.join("benchmarks.json")).ok());
    let all: BTreeMap<String, Value> = text
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let unit = |(name, benchmark): (String, Value)| {
        let unit = machine::text(&benchmark, "/unit")?;
        Some((name, unit))
    };
    all.into_iter().filter_map(unit).collect()
}
