//! BenchmarkDotNet's JSON (`--exporters json`, or `briefjson`). A launch (a process, told
//! by `LaunchIndex`) is a run and its measured iterations are the samples; by default there
//! is one launch, and `--launchCount N` gives N runs. A sample is the mean time of an
//! operation in an iteration, of the stage `Result`: what BenchmarkDotNet's own table is
//! made of, without the overhead and without the outliers that it removes. Where the stage
//! is not there, that of the workload as it was measured (`Actual`).
//!
//! The brief file has no measurements; its `Statistics.OriginalValues` do not tell
//! launches apart and are one run.
//!
//! Source: the manual of BenchmarkDotNet, "How it works" and "Jobs", and
//! `JsonExporterBase.cs`.

use std::collections::HashMap;

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
    name: "benchmarkdotnet",
    about: "BenchmarkDotNet: --exporters json, BenchmarkDotNet.Artifacts/results/*.json",
    recognises: |source| source.has("HostEnvironmentInfo") && source.has("Benchmarks[]"),
    read,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[serde(default)]
    host_environment_info: Host,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Host {
    benchmark_dot_net_version: Option<String>,
    os_version: Option<String>,
    processor_name: Option<String>,
    physical_core_count: Option<u64>,
    logical_core_count: Option<u64>,
    architecture: Option<String>,
    configuration: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Benchmark {
    full_name: String,
    #[serde(default)]
    display_info: String,
    statistics: Option<Statistics>,
    #[serde(default)]
    measurements: Vec<Measurement>,
    memory: Option<Memory>,
}

/// Times in ns.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statistics {
    #[serde(default)]
    original_values: Vec<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Memory {
    bytes_allocated_per_operation: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Measurement {
    iteration_mode: String,
    /// Not there before version 0.11.
    iteration_stage: Option<String>,
    launch_index: i64,
    operations: Number,
    nanoseconds: Number,
}

impl Measurement {
    fn is_result(&self) -> bool {
        match &self.iteration_stage {
            Some(stage) => self.iteration_mode == "Workload" && stage == "Result",
            None => self.iteration_mode == "Result",
        }
    }

    fn is_actual(&self) -> bool {
        match &self.iteration_stage {
            Some(stage) => self.iteration_mode == "Workload" && stage == "Actual",
            None => self.iteration_mode == "MainTarget",
        }
    }
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source)?;
    let mut counts: HashMap<String, usize> = HashMap::new();
    for benchmark in &document.benchmarks {
        *counts.entry(benchmark.full_name.clone()).or_default() += 1;
    }
    let mut gather = Gather::default();
    for benchmark in &document.benchmarks {
        // The same method in several jobs, as on two runtimes, is several operations.
        let is_one = counts.get(&benchmark.full_name) == Some(&1);
        let operation = gather.operation(match is_one {
            true => &benchmark.full_name,
            false => &benchmark.display_info,
        });
        let memory = benchmark.memory.as_ref();
        if let Some(bytes) = memory.and_then(|memory| memory.bytes_allocated_per_operation) {
            operation.attribute("allocated_bytes", bytes);
        }
        let all = &benchmark.measurements;
        let has_results = all.iter().any(Measurement::is_result);
        let of_stage = |each: &&Measurement| match has_results {
            true => each.is_result(),
            false => each.is_actual(),
        };
        let mut runs: HashMap<i64, usize> = HashMap::new();
        for each in all.iter().filter(of_stage) {
            let run = *runs
                .entry(each.launch_index)
                .or_insert(operation.next_run());
            operation.sample(run, each.nanoseconds.0 / each.operations.0);
        }
        let values = benchmark.statistics.iter();
        let mut values = values.flat_map(|statistics| &statistics.original_values);
        if runs.is_empty() {
            values.by_ref().for_each(|ns| operation.sample(0, ns.0));
        }
        if operation.next_run() == 0 {
            operation.failed(
                "no result",
                "BenchmarkDotNet has no result of it; see its log",
            );
        }
    }
    let host = document.host_environment_info;
    let environment = Environment {
        os: host.os_version.as_deref().and_then(system),
        arch: host.architecture.as_deref().and_then(machine::arch),
        cpu: machine::cpu(
            host.processor_name,
            host.logical_core_count,
            host.physical_core_count,
        ),
        build_profile: host.configuration.map(|name| name.to_lowercase()),
        ..Environment::default()
    };
    let mut profile = gather.profile(environment, notes)?;
    let version = host.benchmark_dot_net_version;
    profile.generator = version.map(|version| format!("BenchmarkDotNet {version}"));
    Ok(profile)
}

/// The system of a version such as `Ubuntu 22.04.3 LTS (Jammy Jellyfish)`.
fn system(version: &str) -> Option<String> {
    const LINUX: [&str; 8] = [
        "linux", "ubuntu", "debian", "fedora", "alpine", "centos", "red hat", "suse",
    ];
    let version = version.to_lowercase();
    let is_linux = LINUX.iter().any(|name| version.contains(name));
    let other = ["windows", "macos", "darwin"];
    let other = other.into_iter().find(|name| version.contains(name));
    match is_linux {
        true => Some("linux".to_owned()),
        false => other.and_then(machine::os),
    }
}
