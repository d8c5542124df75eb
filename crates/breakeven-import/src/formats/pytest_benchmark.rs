//! pytest-benchmark's JSON (`--benchmark-json`, `--benchmark-autosave`). A round is a
//! sample, the mean of its iterations, and a file is one run: all rounds are measured by
//! one process. Several files are several runs. A file that was saved without
//! `--benchmark-save-data` has no rounds; then the median is the sample.
//!
//! A benchmark is named as pytest's node is (`fullname`), with its parameters: the short
//! name may be there twice. Numbers of `extra_info` are counters.
//!
//! Source: the manual of pytest-benchmark, "Usage" and "Glossary".

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json::{self, Entries, Number};
use crate::machine;
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "pytest-benchmark",
    about: "pytest --benchmark-json=FILE, or a file of --benchmark-autosave",
    recognises: |source| {
        let is_one = source.has("machine_info") || source.has("benchmarks[].fullname");
        is_one && !source.has("benchmarks[].runs")
    },
    read,
};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    machine_info: Value,
    #[serde(default)]
    commit_info: Value,
    benchmarks: Entries<Benchmark>,
    datetime: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    fullname: String,
    stats: Stats,
    #[serde(default)]
    extra_info: Value,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Stats {
    data: Option<Vec<Number>>,
    median: Option<Number>,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source, notes)?;
    let mut gather = Gather::default();
    for benchmark in document.benchmarks.noted(notes) {
        let operation = gather.entry(&benchmark.fullname, "cpu", None);
        match (benchmark.stats.data, benchmark.stats.median) {
            (Some(data), _) => data.iter().for_each(|s| operation.sample(0, s.0 * 1e9)),
            (None, Some(median)) => {
                operation.summary(0, median.0 * 1e9, "median", notes);
            }
            (None, None) => {}
        }
        for (name, value) in benchmark.extra_info.as_object().into_iter().flatten() {
            if let Some(value) = value.as_f64() {
                operation.counter(0, name, "", value);
            }
        }
    }
    let (machine, commit) = (&document.machine_info, &document.commit_info);
    let revision = machine::text(commit, "/id").filter(|id| !id.is_empty() && id != "unknown");
    // As `git describe --dirty` marks it: what was measured is not that commit.
    let is_dirty = commit["dirty"] == true;
    // py-cpuinfo before version 6 has `brand`.
    let model = ["/cpu/brand_raw", "/cpu/brand"];
    let model = model.into_iter().find_map(|at| machine::text(machine, at));
    gather.about.environment = Environment {
        os: machine::text(machine, "/system").and_then(machine::os),
        arch: machine::text(machine, "/machine").and_then(machine::arch),
        cpu: machine::cpu(model, machine::count(machine, "/cpu/count"), None),
        revision: revision.map(|id| id + if is_dirty { "-dirty" } else { "" }),
        ..Environment::default()
    };
    gather.about.created = document.datetime.as_deref().and_then(machine::utc);
    let version = document.version;
    gather.about.generator = version.map(|version| format!("pytest-benchmark {version}"));
    gather.profile(notes)
}
