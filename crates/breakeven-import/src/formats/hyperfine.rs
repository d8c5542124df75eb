//! `hyperfine --export-json`: a command's wall times. An execution of a command is a
//! sample, and the file is one run: hyperfine measures one command after the other, so
//! what changes on the machine between them is not in the spread of either.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;

use crate::format::Importer;
use crate::gather::Gather;
use crate::json;
use crate::note::{Note, Notes};
use crate::read::Options;
use crate::source::Source;

pub(crate) static IMPORTER: Importer = Importer {
    name: "hyperfine",
    about: "hyperfine --export-json FILE",
    recognises: |source| source.has("results[].command"),
    read,
};

#[derive(Deserialize)]
struct Document {
    results: Vec<Benchmark>,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Benchmark {
    command: String,
    median: Option<f64>,
    times: Option<Vec<f64>>,
    /// Peak resident memory of each execution, bytes.
    memory_usage_byte: Option<Vec<u64>>,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source)?;
    let mut gather = Gather::default();
    for benchmark in document.results {
        let operation = gather.operation(&benchmark.command);
        let run = operation.next_run();
        match (benchmark.times, benchmark.median) {
            (Some(times), _) => times.iter().for_each(|s| operation.sample(run, s * 1e9)),
            (None, Some(median)) => {
                operation.sample(run, median * 1e9);
                notes.add(Note::SummaryOnly { figure: "median" });
            }
            (None, None) => {}
        }
        let memory = benchmark.memory_usage_byte.unwrap_or_default();
        operation.told.memory_bytes = memory.into_iter().max().or(operation.told.memory_bytes);
    }
    gather.profile(Environment::default(), notes)
}
