//! pyperf's JSON (`-o FILE`). A worker process is a run and its values are the samples:
//! pyperf starts twenty processes by default, because the layout of memory and the seed of
//! hashes change with each. Processes that only calibrate have no values and are left out,
//! and so are the warm-ups. A value is the time of one loop.
//!
//! Source: the manual of pyperf, "Run a benchmark" and "API, Run class".

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;

use crate::format::Importer;
use crate::gather::Gather;
use crate::json::{self, Number};
use crate::machine;
use crate::note::Notes;
use crate::read::Options;
use crate::source::Source;

pub(crate) static IMPORTER: Importer = Importer {
    name: "pyperf",
    about: "pyperf: `python bench.py -o FILE`, `pyperf timeit -o FILE`",
    recognises: |source| source.has("benchmarks[].runs"),
    read,
};

#[derive(Deserialize)]
struct Document {
    benchmarks: Vec<Benchmark>,
    /// What all benchmarks have in common.
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Metadata,
    runs: Vec<Process>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    name: Option<String>,
    unit: Option<String>,
    cpu_count: Option<u64>,
    cpu_model_name: Option<String>,
    platform: Option<String>,
    perf_version: Option<String>,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    values: Vec<Number>,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source)?;
    let common = document.metadata;
    let mut gather = Gather::default();
    let mut not_times = 0;
    for benchmark in document.benchmarks {
        let unit = benchmark
            .metadata
            .unit
            .as_deref()
            .or(common.unit.as_deref());
        if unit.is_some_and(|unit| unit != "second") {
            not_times += 1;
            continue;
        }
        let name = benchmark
            .metadata
            .name
            .as_deref()
            .or(common.name.as_deref());
        let operation = gather.operation(name.unwrap_or("(unnamed)"));
        for process in benchmark.runs {
            let run = operation.next_run();
            for value in process.values {
                operation.sample(run, value.0 * 1e9);
            }
        }
    }
    notes.left_out(not_times, "benchmark(s)", "their unit is not a time");
    let platform = common.platform.as_deref().unwrap_or_default();
    let words = || platform.split('-');
    let environment = Environment {
        os: words().next().and_then(machine::os),
        arch: words().find(|word| is_arch(word)).and_then(machine::arch),
        cpu: machine::cpu(common.cpu_model_name, common.cpu_count, None),
        ..Environment::default()
    };
    let mut profile = gather.profile(environment, notes)?;
    let version = common.perf_version;
    profile.generator = version.map(|version| format!("pyperf {version}"));
    Ok(profile)
}

/// Whether a word of Python's `platform.platform()` is the architecture.
fn is_arch(word: &str) -> bool {
    matches!(
        word,
        "x86_64" | "AMD64" | "aarch64" | "arm64" | "ARM64" | "i686"
    )
}
