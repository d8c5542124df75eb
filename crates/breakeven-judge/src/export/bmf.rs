//! Bencher Metric Format: a JSON object of benchmarks, each with its measures, which Bencher
//! (`bencher run --adapter json`) reads.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::{median, quantile};
use serde::Serialize;

use super::ExportError;
use super::label::Labels;

/// A measure of a benchmark.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Writes each operation that has figures: `latency`, the median of its samples in ns with their
/// quartiles as bounds; `memory` in bytes and its counters, each the median of the runs. An
/// operation of another device than the CPU has the device in its name.
///
/// # Errors
///
/// If no operation has a figure, or `out` cannot be written.
pub fn write(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let labels = Labels::of(profile);
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Metric>> = BTreeMap::new();
    for operation in &profile.operations {
        let measures = measures(operation);
        if measures.is_empty() {
            continue;
        }
        let name = labels.operation(operation);
        let name = labels.call(&name, Some(&operation.device)).into_owned();
        let name = match benchmarks.contains_key(&name) {
            true => operation.key().to_string(),
            false => name,
        };
        benchmarks.insert(name, measures);
    }
    if benchmarks.is_empty() {
        return Err(ExportError::Empty);
    }
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &benchmarks).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

fn measures(operation: &Operation) -> BTreeMap<&str, Metric> {
    let mut measures = BTreeMap::new();
    let runs = operation.runs.iter();
    let mut add = |name, values: Vec<f64>| {
        if let Ok(value) = median(&values) {
            let metric = Metric {
                value,
                lower_value: None,
                upper_value: None,
            };
            measures.insert(name, metric);
        }
    };
    for name in operation.counters.keys() {
        let values = runs.clone().filter_map(|run| run.counters.get(name));
        add(name.as_str(), values.copied().collect());
    }
    let memory = runs.filter_map(|run| run.memory_bytes);
    add("memory", memory.map(|bytes| bytes as f64).collect());
    if let Ok(summary) = operation.summary() {
        let mut samples: Vec<f64> = operation.samples_ns().collect();
        samples.sort_by(f64::total_cmp);
        let bound = |q| quantile(&samples, q).ok().filter(|_| samples.len() > 1);
        let metric = Metric {
            value: summary.median,
            lower_value: bound(0.25),
            upper_value: bound(0.75),
        };
        measures.insert("latency", metric);
    }
    measures
}
