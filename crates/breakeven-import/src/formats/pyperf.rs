//! pyperf's JSON (`-o FILE`). A worker process is a run and its values are the samples:
//! pyperf starts twenty processes by default, because the layout of memory and the seed of
//! hashes change with each. Processes that only calibrate have no values and are left out,
//! and so are the warm-ups. A value is the time of one loop; `mem_max_rss` is the memory.
//!
//! Source: the manual of pyperf, "Run a benchmark" and "API, Run class".

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
    name: "pyperf",
    about: "pyperf: `python bench.py -o FILE`, `pyperf timeit -o FILE`",
    recognises: |source| source.has("benchmarks[].runs"),
    read,
};

#[derive(Deserialize)]
struct Document {
    benchmarks: Entries<Benchmark>,
    /// What all benchmarks have in common.
    #[serde(default)]
    metadata: Value,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Value,
    runs: Entries<Process>,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    values: Vec<Number>,
    #[serde(default)]
    metadata: Value,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source, notes)?;
    let common = document.metadata;
    let (mut gather, mut created) = (Gather::default(), None);
    for benchmark in document.benchmarks.noted(notes) {
        let own = |key: &str| {
            machine::text(&benchmark.metadata, key).or_else(|| machine::text(&common, key))
        };
        let name = own("/name").unwrap_or_else(|| "(unnamed)".to_owned());
        let unit = own("/unit").filter(|unit| unit != "second");
        let operation = gather.entry(&name, "cpu", None);
        operation.is_timeless = unit.is_some();
        for process in benchmark.runs.noted(notes) {
            let run = operation.new_run();
            for value in process.values {
                match &unit {
                    Some(unit) => operation.figure(run, unit, unit, value.0),
                    None => operation.sample(run, value.0 * 1e9),
                }
            }
            let date = machine::text(&process.metadata, "/date");
            let date = date.as_deref().and_then(machine::utc);
            created = created.into_iter().chain(date).min();
            let bytes = machine::count(&process.metadata, "/mem_max_rss");
            if let (Some(bytes), None) = (bytes, &unit) {
                operation.memory(run, bytes as f64);
            }
        }
    }
    let platform = machine::text(&common, "/platform").unwrap_or_default();
    let words = || platform.split('-');
    gather.about.environment = Environment {
        os: words().next().and_then(machine::os),
        arch: words().find(|word| is_arch(word)).and_then(machine::arch),
        cpu: machine::cpu(
            machine::text(&common, "/cpu_model_name"),
            machine::count(&common, "/cpu_count"),
            None,
        ),
        ..Environment::default()
    };
    let date = machine::text(&common, "/date");
    gather.about.created = created.or_else(|| machine::utc(&date?));
    let version = machine::text(&common, "/perf_version");
    gather.about.generator = version.map(|version| format!("pyperf {version}"));
    gather.profile(notes)
}

/// Whether a word of Python's `platform.platform()` is the architecture.
fn is_arch(word: &str) -> bool {
    matches!(
        word,
        "x86_64" | "AMD64" | "aarch64" | "arm64" | "ARM64" | "i686"
    )
}
