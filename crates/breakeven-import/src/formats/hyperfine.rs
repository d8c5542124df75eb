//! `hyperfine --export-json`: a command's wall times. An execution of a command is a
//! sample, and the file is one run: hyperfine measures one command after the other, so
//! what changes on the machine between them is not in the spread of either.
//!
//! A command is named with its parameters (`build (threads=2)`). An execution that ended
//! with another exit code than 0 makes the operation a failed one.

use std::collections::BTreeMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Operation, Profile};
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json::{self, Entries, Number};
use crate::name::with_parameters;
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "hyperfine",
    about: "hyperfine --export-json FILE",
    recognises: |source| source.has("results[].command") || source.has_only("results"),
    read,
};

#[derive(Deserialize)]
struct Document {
    results: Entries<Benchmark>,
}

/// Times in seconds, means of all executions but in `times`.
#[derive(Deserialize)]
struct Benchmark {
    command: String,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    median: Option<Number>,
    mean: Option<Number>,
    user: Option<Number>,
    system: Option<Number>,
    times: Option<Vec<Number>>,
    /// Of each execution; none where a signal ended it.
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    /// Peak resident memory of each execution, bytes.
    #[serde(default)]
    memory_usage_byte: Vec<Number>,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Document = json::read(source, notes)?;
    let mut gather = Gather::default();
    for benchmark in document.results.noted(notes) {
        let name = with_parameters(&benchmark.command, " ", &benchmark.parameters);
        let operation = gather.entry(&name, "cpu", None);
        // Each call is a process, whatever the version says of its end.
        let code = |code: &Option<i64>| code.map_or_else(|| "signal".into(), Value::from);
        let codes: Vec<Value> = benchmark.exit_codes.iter().map(code).collect();
        operation.attribute(Operation::EXIT_CODES, codes);
        let failed: Vec<Option<i64>> = (benchmark.exit_codes.iter().copied())
            .filter(|code| *code != Some(0))
            .collect();
        if let Some(first) = failed.first() {
            let ended = match first {
                Some(code) => format!("ended with exit code {code}"),
                None => "were killed by a signal".to_owned(),
            };
            let (failed, all) = (failed.len(), benchmark.exit_codes.len());
            operation.failed("error", &format!("{failed} of {all} executions {ended}"));
        }
        let median = benchmark.median.map(|s| (s, "median"));
        let figure = median.or(benchmark.mean.map(|s| (s, "mean")));
        match (benchmark.times, figure) {
            (Some(times), _) => {
                let codes = benchmark.exit_codes.iter().copied();
                let codes = codes.chain(std::iter::repeat(Some(0)));
                // How long a failure took is no time of the command.
                for (s, _) in times.iter().zip(codes).filter(|(_, code)| *code == Some(0)) {
                    operation.sample(0, s.0 * 1e9);
                }
            }
            (None, Some((s, figure))) if failed.is_empty() => {
                operation.summary(0, s.0 * 1e9, figure, notes);
            }
            _ => {}
        }
        for (name, value) in [("user", benchmark.user), ("system", benchmark.system)] {
            if let Some(value) = value {
                operation.counter(0, name, "s", value.0);
            }
        }
        for bytes in benchmark.memory_usage_byte {
            operation.memory(0, bytes.0);
        }
    }
    gather.profile(notes)
}
