//! pytest-benchmark's JSON (`--benchmark-json`, `--benchmark-autosave`). A round is a
//! sample, the mean of its iterations, and a file is one run: all rounds are measured by
//! one process. Several files are several runs. A file that was saved without
//! `--benchmark-save-data` has no rounds; then the median is the sample.
//!
//! A benchmark is named as pytest's node is (`fullname`), with its parameters: the short
//! name may be there twice.
//!
//! Source: the manual of pytest-benchmark, "Usage" and "Glossary".

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;

use crate::format::Importer;
use crate::gather::Gather;
use crate::json::{self, Number};
use crate::machine;
use crate::note::{Note, Notes};
use crate::read::Options;
use crate::source::Source;

pub(crate) static IMPORTER: Importer = Importer {
    name: "pytest-benchmark",
    about: "pytest --benchmark-json=FILE, or a file of --benchmark-autosave",
    recognises: |source| source.has("machine_info") && !source.has("benchmarks[].runs"),
    read,
};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    machine_info: MachineInfo,
    #[serde(default)]
    commit_info: CommitInfo,
    benchmarks: Vec<Benchmark>,
    datetime: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize, Default)]
struct MachineInfo {
    machine: Option<String>,
    system: Option<String>,
    #[serde(default)]
    cpu: CpuInfo,
}

#[derive(Deserialize, Default)]
struct CpuInfo {
    brand_raw: Option<String>,
    /// Of py-cpuinfo before version 6.
    brand: Option<String>,
    count: Option<u64>,
}

#[derive(Deserialize, Default)]
struct CommitInfo {
    id: Option<String>,
    dirty: Option<bool>,
}

#[derive(Deserialize)]
struct Benchmark {
    fullname: String,
    stats: Stats,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Stats {
    data: Option<Vec<Number>>,
    median: Option<Number>,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source)?;
    let mut gather = Gather::default();
    for benchmark in document.benchmarks {
        let operation = gather.operation(&benchmark.fullname);
        match (benchmark.stats.data, benchmark.stats.median) {
            (Some(data), _) => data.iter().for_each(|s| operation.sample(0, s.0 * 1e9)),
            (None, Some(median)) => {
                operation.sample(0, median.0 * 1e9);
                notes.add(Note::SummaryOnly { figure: "median" });
            }
            (None, None) => {}
        }
    }
    let (machine, commit) = (document.machine_info, document.commit_info);
    let revision = commit.id.filter(|id| !id.is_empty() && id != "unknown");
    // As `git describe --dirty` marks it: what was measured is not that commit.
    let dirty = if commit.dirty == Some(true) {
        "-dirty"
    } else {
        ""
    };
    let environment = Environment {
        os: machine.system.as_deref().and_then(machine::os),
        arch: machine.machine.as_deref().and_then(machine::arch),
        cpu: machine::cpu(
            machine.cpu.brand_raw.or(machine.cpu.brand),
            machine.cpu.count,
            None,
        ),
        revision: revision.map(|id| id + dirty),
        ..Environment::default()
    };
    let mut profile = gather.profile(environment, notes)?;
    profile.created = document.datetime.as_deref().and_then(machine::utc);
    let version = document.version;
    profile.generator = version.map(|version| format!("pytest-benchmark {version}"));
    Ok(profile)
}
