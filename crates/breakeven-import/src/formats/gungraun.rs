//! The summary of gungraun, before called iai-callgrind: `summary.json`
//! (`--save-summary=json`), or all summaries as `--output-format=json` prints them. A result is
//! a run: Valgrind counts what one call does, so there are no samples and no times. Further
//! results of a benchmark, in the same file or another, are further runs.
//!
//! Counts are counters with the names that gungraun prints (`Instructions`, `L1 Hits`); less of
//! each is better, as in its limits. Those of a tool beside Callgrind have its name before
//! them. Rates are left out: they follow from the counts.
//!
//! Source: `schemas/summary.v6.schema.json` of iai-callgrind-runner, and version 7 of gungraun.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json;
use crate::machine;
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "gungraun",
    about: "gungraun, iai-callgrind: `cargo bench -- --output-format=json > FILE`, or a summary.json",
    recognises: |source| source.has("module_path") && source.has("function_name"),
    read,
};

/// Callgrind's counts as they are called in the file and in what gungraun prints.
const NAMES: [(&str, &str); 6] = [
    ("Ir", "Instructions"),
    ("L1hits", "L1 Hits"),
    ("LLhits", "LL Hits"),
    ("RamHits", "RAM Hits"),
    ("TotalRW", "Total read+write"),
    ("EstimatedCycles", "Estimated Cycles"),
];

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text(notes)?;
    let (mut gather, mut created) = (Gather::default(), None);
    for summary in json::documents(&text, notes) {
        let text = |key: &str| machine::text(&summary, key);
        let Some(path) = text("/module_path") else {
            let why = "they have no module_path";
            notes.leave_out("result(s)", why, &summary.to_string());
            continue;
        };
        let details = [text("/id"), text("/description")].map(Option::unwrap_or_default);
        let name = match details.each_ref().map(String::as_str) {
            ["", ""] => path,
            ["", details] => format!("{path} {details}"),
            [id, details] => format!("{path} {id}:{details}"),
        };
        let operation = gather.operation(&name);
        operation.is_timeless = true;
        let run = operation.new_run();
        let profiles = summary.get("profiles").and_then(Value::as_array);
        for profile in profiles.into_iter().flatten() {
            let tool = machine::text(profile, "/tool").unwrap_or_default();
            for (key, metric) in metrics(profile, &tool).into_iter().flatten() {
                // What only an earlier process counted is none of this one.
                let is_old = ["/values/old", "/metrics/Right"]
                    .iter()
                    .any(|place| metric.pointer(place).is_some());
                if key.ends_with("Rate") || is_old && new(metric).is_none() {
                    continue;
                }
                let Some(value) = new(metric) else {
                    let why = "they are not as gungraun writes them";
                    notes.leave_out("value(s)", why, &format!("{name}, {key}"));
                    continue;
                };
                let known = NAMES.iter().find(|(written, _)| written == key);
                let key = known.map_or(key.as_str(), |(_, name)| name);
                match tool.as_str() {
                    "Callgrind" => operation.counter(run, key, "", value),
                    tool => operation.counter(run, &format!("{tool} {key}"), "", value),
                };
            }
        }
        let started = text("/started_at").as_deref().and_then(machine::utc);
        created = created.into_iter().chain(started).min();
    }
    gather.about.created = created;
    gather.profile(notes)
}

/// What a tool counted in all threads and processes.
fn metrics<'v>(profile: &'v Value, tool: &str) -> Option<&'v serde_json::Map<String, Value>> {
    let total = profile.pointer("/data/total/metrics");
    // Before version 7.
    let before = || profile.pointer("/summaries/total/summary")?.get(tool);
    total.or_else(before)?.as_object()
}

/// The count of this process, not of the one that it was compared with.
fn new(metric: &Value) -> Option<f64> {
    let places = ["/values/new", "/metrics/Both/0", "/metrics/Left"];
    let found = places.iter().find_map(|place| metric.pointer(place))?;
    let typed = ["/Int", "/Float"]
        .iter()
        .find_map(|kind| found.pointer(kind));
    typed.unwrap_or(found).as_f64()
}
