//! BenchmarkDotNet's JSON (`--exporters json`, or `briefjson`). A launch (a process, recorded
//! by `LaunchIndex`) is a run and its measured iterations are the samples; by default there
//! is one launch, and `--launchCount N` gives N runs. A sample is the mean time of an
//! operation in an iteration, of the stage `Result`: what BenchmarkDotNet's own table is
//! made of, without the overhead and without the outliers that it removes. Where the stage
//! is not there, that of the workload as it was measured (`Actual`).
//!
//! The brief file has no measurements; its `Statistics.OriginalValues` do not distinguish
//! launches, which are one run.
//!
//! Source: the manual of BenchmarkDotNet, "How it works" and "Jobs", and
//! `JsonExporterBase.cs`.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::json::{self, Entries, Number};
use crate::machine;
use crate::name::with_details;
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "benchmarkdotnet",
    about: "BenchmarkDotNet: --exporters json, BenchmarkDotNet.Artifacts/results/*.json",
    recognises: |source| {
        source.has("Benchmarks") && source.has("HostEnvironmentInfo")
            || source.has("Benchmarks[].FullName")
    },
    read,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[serde(default)]
    host_environment_info: Value,
    benchmarks: Entries<Benchmark>,
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
    #[serde(default)]
    memory: Value,
    #[serde(default)]
    metrics: Vec<Metric>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Metric {
    value: Number,
    descriptor: Descriptor,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Descriptor {
    id: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    the_greater_the_better: bool,
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
struct Measurement {
    iteration_mode: String,
    /// Not there before version 0.11.
    iteration_stage: Option<String>,
    launch_index: i64,
    operations: Number,
    nanoseconds: Number,
}

impl Measurement {
    /// Whether it is of a stage; before version 0.11 that was a mode of its own.
    fn is(&self, stage: &str, mode: &str) -> bool {
        match &self.iteration_stage {
            Some(of) => self.iteration_mode == "Workload" && of == stage,
            None => self.iteration_mode == mode,
        }
    }
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source, notes)?;
    let mut gather = Gather::default();
    for benchmark in &document.benchmarks.noted(notes) {
        let operation = gather.entry(&named(benchmark), "cpu", None);
        let all = &benchmark.measurements;
        let has_results = all.iter().any(|each| each.is("Result", "Result"));
        let of_stage = |each: &&Measurement| match has_results {
            true => each.is("Result", "Result"),
            false => each.is("Actual", "MainTarget"),
        };
        for each in all.iter().filter(of_stage) {
            let run = operation.run_of(each.launch_index);
            operation.sample(run, each.nanoseconds.0 / each.operations.0);
        }
        let values = benchmark.statistics.iter();
        let mut values = values.flat_map(|statistics| &statistics.original_values);
        if operation.runs() == 0 {
            values.by_ref().for_each(|ns| operation.sample(0, ns.0));
        }
        benchmark.counters(operation);
    }
    let host = &document.host_environment_info;
    gather.about.environment = Environment {
        os: machine::text(host, "/OsVersion").and_then(machine::os),
        arch: machine::text(host, "/Architecture").and_then(machine::arch),
        cpu: machine::cpu(
            machine::text(host, "/ProcessorName"),
            machine::count(host, "/LogicalCoreCount"),
            machine::count(host, "/PhysicalCoreCount"),
        ),
        build_profile: machine::text(host, "/Configuration").map(|name| name.to_lowercase()),
        ..Environment::default()
    };
    let version = machine::text(host, "/BenchmarkDotNetVersion");
    gather.about.generator = version.map(|version| format!("BenchmarkDotNet {version}"));
    gather.profile(notes)
}

/// The method with its parameters, and with its job where that is not the default:
/// `Sorting.Merge(N: 10) (Runtime=.NET 8.0)`. How often a job repeats and the name that
/// BenchmarkDotNet made of its settings (`Job-ABCDEF`) are left out.
fn named(benchmark: &Benchmark) -> String {
    let name = &benchmark.full_name;
    let job = benchmark
        .display_info
        .split_once(": ")
        .map_or("", |(_, job)| job);
    let job = job.split_once(" [").map_or(job, |(job, _)| job);
    let (id, settings) = job.split_once('(').unwrap_or((job, ""));
    let id = Some(id).filter(|id| !id.starts_with("Job-") && *id != "DefaultJob" && !id.is_empty());
    let settings = settings.trim_end_matches(')').split(", ");
    let settings = settings.filter(|each| !each.is_empty() && !each.contains("Count="));
    with_details(name, " ", id.into_iter().chain(settings))
}

impl Benchmark {
    /// What is beside the times is of all launches together.
    fn counters(&self, operation: &mut Gathered) {
        let allocated = &self.memory["BytesAllocatedPerOperation"];
        for run in 0..operation.runs() {
            if let Some(bytes) = allocated.as_f64() {
                operation.memory(run, bytes);
            }
            for Metric { value, descriptor } in &self.metrics {
                let counter = operation.counter(run, &descriptor.id, &descriptor.unit, value.0);
                counter.higher_is_better = descriptor.the_greater_the_better;
            }
        }
    }
}
