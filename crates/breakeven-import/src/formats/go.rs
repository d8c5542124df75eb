//! The text of `go test -bench`, or its events (`go test -json`). A test binary's process
//! is a run, told by the lines around its results (`goos:`, `pkg:`, `PASS`), and a line is
//! a sample, the mean time of `b.N` iterations.
//!
//! The lines of `-count N` share a process, and so the layout of memory, the seeds of maps
//! and what the heap holds; they are samples of one run. benchstat takes each of them for a
//! sample of its test, whose result then holds for that one process: the next one of the
//! same program may differ by more. Runs are made by repeating the command into one file
//! (`for i in 1 2 3 4 5; do go test -bench . >> old.txt; done`) or into several.
//!
//! Of several units the time per operation counts, `ns/op`; the others (`B/op`,
//! `allocs/op`, those of `b.ReportMetric`) are attributes, those of the last line. A name
//! is kept as printed, with the number of threads at its end. In a file with several
//! packages the package stands before it.
//!
//! Source: the Go project's proposal 14313, "Go Benchmark Data Format", and the
//! documentation of the package `testing`.

use std::collections::{BTreeSet, HashMap};

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;

use crate::format::Importer;
use crate::gather::Gather;
use crate::machine;
use crate::note::{Note, Notes};
use crate::read::Options;
use crate::source::Source;
use crate::unit::Unit;

pub(crate) static IMPORTER: Importer = Importer {
    name: "go",
    about: "`go test -bench . > FILE`, also with -json",
    recognises: |source| {
        is_events(source)
            || source
                .lines()
                .any(|line| result(line).is_some_and(|found| found.is_ok()))
    },
    read,
};

fn is_events(source: &Source) -> bool {
    source.has("Action") && source.has("Package")
}

/// What a line of a result holds.
struct Line<'l> {
    name: &'l str,
    /// Values with their units.
    values: Vec<(f64, &'l str)>,
}

impl Line<'_> {
    /// The time per operation, ns.
    fn ns(&self) -> Option<f64> {
        let mut per_operation = self.values.iter().filter(|(_, unit)| unit.ends_with("/op"));
        per_operation.find_map(|(value, unit)| Some(Unit::named(unit)?.ns(*value)))
    }
}

/// The result in a line: none where it is no such line, an error where it only begins so.
fn result(line: &str) -> Option<Result<Line<'_>, ()>> {
    let rest = line.strip_prefix("Benchmark")?;
    // As `testing` has it: `Benchmarks` is no name of a benchmark.
    if rest.starts_with(char::is_lowercase) {
        return None;
    }
    let mut words = line.split_whitespace();
    let name = words.next()?;
    // A name alone is printed when it begins.
    let iterations = words.next()?;
    let mut values = Vec::new();
    let is_number = iterations.parse::<u64>().is_ok();
    while let (true, Some(value)) = (is_number, words.next()) {
        match (value.parse(), words.next()) {
            (Ok(value), Some(unit)) => values.push((value, unit)),
            _ => return Some(Err(())),
        }
    }
    Some(match values.is_empty() {
        true => Err(()),
        false => Ok(Line { name, values }),
    })
}

/// The threads at the end of a name, as in `-8`.
fn threads(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((before, digits)) if digits.parse::<u32>().is_ok() => &name[before.len()..],
        _ => "",
    }
}

#[derive(Default)]
struct State {
    package: String,
    /// Processes of each package until now.
    processes: HashMap<String, usize>,
    /// The end of the last name, which failures do not print.
    threads: String,
    /// The operation whose failure's reason comes next.
    failing: Option<String>,
    environment: Environment,
    model: Option<String>,
    interrupted: bool,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = match is_events(&source) {
        true => outputs(&source.into_text()?, notes),
        false => source.into_text()?,
    };
    let packages: BTreeSet<&str> = (text.lines())
        .filter_map(|line| line.strip_prefix("pkg:"))
        .map(str::trim)
        .collect();
    let qualify = packages.len() > 1;
    let mut gather = Gather::default();
    let mut state = State::default();
    // The process that each operation was measured in last.
    let mut measured_in: HashMap<String, usize> = HashMap::new();
    let (mut broken, mut without_time, mut repeated) = (0, 0, false);
    for line in text.lines() {
        state.take(line);
        let named = |name: &str| match qualify {
            true => format!("{}.{name}", state.package),
            false => name.to_owned(),
        };
        if let Some(name) = line.trim_start().strip_prefix("--- FAIL: Benchmark") {
            let name = name.split_whitespace().next().unwrap_or_default();
            let end = if threads(name).is_empty() {
                &state.threads
            } else {
                ""
            };
            state.failing = Some(named(&format!("Benchmark{name}{end}")));
            continue;
        }
        if let Some(name) = state.failing.take() {
            let reason = if line.starts_with(' ') {
                line
            } else {
                "it tells no reason"
            };
            gather.operation(&name).failed("failed", reason);
        }
        let found = match result(line) {
            None => continue,
            Some(Err(())) => {
                broken += 1;
                continue;
            }
            Some(Ok(found)) => found,
        };
        threads(found.name).clone_into(&mut state.threads);
        let Some(ns) = found.ns() else {
            without_time += 1;
            continue;
        };
        let process = *state.processes.get(&state.package).unwrap_or(&0);
        let name = named(found.name);
        let operation = gather.operation(&name);
        let is_same = measured_in.insert(name, process) == Some(process);
        repeated |= is_same;
        let run = operation.next_run().saturating_sub(usize::from(is_same));
        operation.sample(run, ns);
        for (value, unit) in &found.values {
            if Unit::named(unit).is_none() {
                operation.attribute(unit, *value);
            }
        }
    }
    if let Some(name) = state.failing.take() {
        gather
            .operation(&name)
            .failed("failed", "it tells no reason");
    }
    notes.left_out(
        broken,
        "line(s)",
        "they begin like a result and are not one",
    );
    notes.left_out(without_time, "result(s)", "they have no time per operation");
    if repeated {
        notes.add(Note::OneProcess {
            option: "-count",
            instead: "repeat the command, with >> FILE or a file each",
        });
    }
    state.environment.cpu = machine::cpu(state.model, None, None);
    let mut profile = gather.profile(state.environment, notes)?;
    profile.interrupted = state.interrupted;
    Ok(profile)
}

impl State {
    /// What a line tells beside results.
    fn take(&mut self, line: &str) {
        let mut begins = |package: &str| {
            package.clone_into(&mut self.package);
            *self.processes.entry(package.to_owned()).or_default() += 1;
        };
        if let Some(os) = line.strip_prefix("goos:") {
            // The first line of a process. What is in no module has no package.
            begins("");
            self.environment.os = machine::os(os);
        } else if let Some(package) = line.strip_prefix("pkg:") {
            begins(package.trim());
        } else if let Some(arch) = line.strip_prefix("goarch:") {
            self.environment.arch = machine::arch(arch);
        } else if let Some(model) = line.strip_prefix("cpu:") {
            self.model = Some(model.trim().to_owned());
        } else if line.starts_with("panic:") || line.starts_with("fatal error:") {
            self.interrupted = true;
        }
    }
}

/// The texts of the events of `go test -json`, package by package as they come.
fn outputs(events: &str, notes: &mut Notes) -> String {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "Package", default)]
        package: String,
        #[serde(rename = "Output", default)]
        output: String,
    }
    let mut order: Vec<String> = Vec::new();
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut broken = 0;
    for line in events.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Event>(line) {
            Ok(event) => {
                if !texts.contains_key(&event.package) {
                    order.push(event.package.clone());
                }
                texts
                    .entry(event.package)
                    .or_default()
                    .push_str(&event.output);
            }
            Err(_) => broken += 1,
        }
    }
    notes.left_out(broken, "line(s)", "they are not events of go test -json");
    order
        .iter()
        .filter_map(|package| texts.remove(package))
        .collect()
}
