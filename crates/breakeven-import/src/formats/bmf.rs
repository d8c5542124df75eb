//! Bencher Metric Format: by benchmark and measure a value, with bounds around it. A file is
//! one run and a value its one sample: what the bounds are differs from writer to writer.
//!
//! `latency` is a time in ns. `throughput` is in operations per second; without a `latency` it
//! becomes the time of an operation. `memory` is in bytes. Other measures are counters; of
//! what is no rate and not in [`LESS`] the file does not say whether more is better.
//!
//! Source: Bencher's documentation, "Bencher Metric Format" and "Measures".

use std::collections::BTreeMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json;
use crate::note::Notes;
use crate::source::Source;
use crate::unit::Unit;

pub(crate) static IMPORTER: Format = Format {
    name: "bmf",
    about: "Bencher Metric Format: `convert --to bmf`, `bencher run --format json`",
    recognises: |source| is_metric(source.text()).unwrap_or(false),
    read,
};

/// Measures of which less is better, with their units.
const LESS: [(&str, &str); 7] = [
    ("build-time", "s"),
    ("file-size", "B"),
    ("instructions", "instructions"),
    ("estimated-cycles", "cycles"),
    ("total-read-write", "accesses"),
    ("ram-hits", "accesses"),
    ("allocations", "allocs"),
];

/// Whether the first value of the first object in the first object is of a metric. Names may
/// have points, so the keys that the source has do not say.
fn is_metric(text: &str) -> Option<bool> {
    let mut rest = text;
    let mut key = String::new();
    for _ in 0..3 {
        rest = rest.trim_start().strip_prefix('{')?;
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        key = texts.next()?.ok()?;
        rest = rest[texts.byte_offset()..].trim_start().strip_prefix(':')?;
    }
    Some(matches!(
        key.as_str(),
        "value" | "lower_value" | "upper_value"
    ))
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: BTreeMap<String, Value> = json::read(source, notes)?;
    let mut gather = Gather::default();
    for (name, measures) in &document {
        let operation = gather.operation(name);
        let Some(measures) = measures.as_object() else {
            let why = "they are not as Bencher reads them";
            notes.leave_out("benchmark(s)", why, name);
            continue;
        };
        let has_latency = measures.contains_key("latency");
        operation.is_timeless = !has_latency && !measures.contains_key("throughput");
        for (measure, metric) in measures {
            let Some(value) = metric.get("value").and_then(Value::as_f64) else {
                let why = "their value is not a number";
                notes.leave_out("value(s)", why, &format!("{name}, {measure}"));
                continue;
            };
            notes.summary_only("value");
            match measure.as_str() {
                "latency" => operation.sample(0, value),
                "throughput" if has_latency => drop(operation.counter(0, measure, "1/s", value)),
                "throughput" => operation.sample(0, Unit::Rate(1e9).ns(value)),
                "memory" => operation.memory(0, value),
                _ => {
                    let known = LESS.iter().find(|(name, _)| name == measure);
                    let unit = known.map_or(measure.as_str(), |(_, unit)| unit);
                    let counter = operation.counter(0, measure, unit, value);
                    if known.is_none() && !counter.higher_is_better {
                        notes.no_direction(measure);
                    }
                }
            }
        }
    }
    gather.profile(notes)
}
