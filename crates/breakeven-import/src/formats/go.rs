//! The text of `go test -bench`, or its events (`go test -json`). A test binary's process
//! is a run, known by the lines around its results (`goos:`, `pkg:`, `PASS`), and a line is
//! a sample, the mean time of `b.N` iterations.
//!
//! The lines of `-count N` share a process, and so the layout of memory, the seeds of maps
//! and what the heap holds; they are samples of one run. benchstat takes each of them for a
//! sample of its test, whose result then holds for that one process: the next one of the
//! same program may differ by more. Runs are made by repeating the command into one file
//! (`for i in 1 2 3 4 5; do go test -bench . >> old.txt; done`) or into several.
//!
//! Of several units the time per operation counts, `ns/op`; `B/op` is the run's memory,
//! `allocs/op` the counter `allocations`, and those of `b.ReportMetric` are counters of
//! their own. A name has the package before it, and behind it the configuration lines
//! (`note: after`) that stand above it. The number of processors at its end is an
//! attribute too (`gomaxprocs`).
//!
//! A result that log lines of the benchmark cut in two is read. What ends a package
//! (`panic:`, `FAIL`) is a failure of the benchmark that was running, or else of an
//! operation with the package's name. A file of two machines or commits is refused.
//!
//! Source: the Go project's proposal 14313, "Go Benchmark Data Format", and the
//! documentation of the package `testing`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Environment, Profile};
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json;
use crate::machine;
use crate::name::with_parameters;
use crate::note::Notes;
use crate::source::Source;
use crate::unit::Unit;

pub(crate) static IMPORTER: Format = Format {
    name: "go",
    about: "`go test -bench . > FILE`, also with -json",
    recognises: |source| {
        is_events(source)
            || source.lines().any(|line| {
                let is_frame = line.starts_with("goos: ") || end(line).is_some();
                is_frame || result(line).is_some_and(|(_, values)| values.is_some())
            })
    },
    read,
};

fn is_events(source: &Source) -> bool {
    // The first event may be of a build.
    source.has("Action") && (source.has("Package") || source.has("ImportPath"))
}

/// Values with their units.
type Values<'l> = Vec<(f64, &'l str)>;

/// The benchmark whose line this is, and its values where the line has them.
fn result(line: &str) -> Option<(&str, Option<Values<'_>>)> {
    let rest = line.strip_prefix("Benchmark")?;
    // As `testing` has it: `Benchmarks` is no name of a benchmark.
    if rest.starts_with(char::is_lowercase) {
        return None;
    }
    let name = line.split_whitespace().next()?;
    Some((name, values(&line[name.len()..])))
}

/// A result that what was printed before it did not end the line of.
fn behind_log(line: &str) -> Option<(&str, Option<Values<'_>>)> {
    let at = line.rfind("Benchmark")?;
    result(&line[at..]).filter(|(_, values)| values.is_some())
}

/// The package of a line that ends one, and what is said behind it.
fn end(line: &str) -> Option<(&str, &str)> {
    let mut rest = ["ok  \t", "ok \t", "FAIL\t", "?   \t"].iter();
    let rest = rest.find_map(|start| line.strip_prefix(start))?;
    rest.split_once(char::is_whitespace).or(Some((rest, "")))
}

/// The package of each line by the line that ends it, for files without `pkg:`.
fn packages(text: &str) -> Vec<&str> {
    let (mut package, mut has_passed) = ("", false);
    let package_above = |line| {
        match end(line) {
            Some((name, _)) => (package, has_passed) = (name, false),
            None if line == "PASS" && std::mem::replace(&mut has_passed, true) => package = "",
            None => {}
        }
        // What is in no module.
        Some(package)
            .filter(|name| *name != "command-line-arguments")
            .unwrap_or("")
    };
    let mut all: Vec<&str> = text.lines().rev().map(package_above).collect();
    all.reverse();
    all
}

/// The values of a result, behind its count of iterations.
fn values(text: &str) -> Option<Values<'_>> {
    let mut words = text.split_whitespace();
    words.next()?.parse::<u64>().ok()?;
    let mut values = Vec::new();
    while let Some(value) = words.next() {
        values.push((value.parse().ok()?, words.next()?));
    }
    (!values.is_empty()).then_some(values)
}

/// The processors at the end of a name, as in `-8`; nothing for one.
fn processors(name: &str) -> Option<u64> {
    name.rsplit_once('-')?.1.parse().ok()
}

/// A line that configures what follows, as in `note: after`.
fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(|each: char| each.is_ascii_lowercase())
        && !key.contains(|each: char| each.is_whitespace() || each.is_uppercase());
    let is_value = value.is_empty() || value.starts_with([' ', '\t']);
    // What the go command and programs print of themselves.
    let is_message = matches!(key, "go" | "testing" | "coverage" | "warning" | "error");
    (is_key && is_value && !is_message).then(|| (key, value.trim()))
}

/// Keys that the go command or benchstat give a meaning.
const KEYS: [&str; 5] = ["goos", "pkg", "goarch", "cpu", "commit"];

#[derive(Default)]
struct State<'t> {
    gather: Gather,
    /// Of the last result, and why it cannot be in a file with those before.
    measured: Environment,
    mixed: Option<FileError>,
    /// A process began, by its `goos:` or `pkg:`, and has not ended.
    is_open: bool,
    package: String,
    /// The package of the line by what ends it.
    package_below: &'t str,
    /// Configuration beside the machine's.
    configuration: BTreeMap<String, Value>,
    /// Its keys. Log lines look alike, so others count only before the first result.
    keys: BTreeSet<String>,
    has_results: bool,
    /// Processes until now.
    process: usize,
    repeated: bool,
    /// The processors of the last result: names of failures do not have them.
    processors: Option<u64>,
    /// The benchmark that runs: its name was printed and its result was not. The line,
    /// where more than the name was printed.
    running: Option<(String, Option<usize>)>,
    /// The operation whose reason comes next, and whether it was skipped.
    failing: Option<(String, bool)>,
    /// Why the process ends, and whether a benchmark failed by it.
    reason: Option<String>,
    has_failed: bool,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = match is_events(&source) {
        true => outputs(&source.into_text(notes)?, notes),
        false => source.into_text(notes)?,
    };
    let mut state = State::default();
    for ((number, line), package) in (1..).zip(text.lines()).zip(packages(&text)) {
        state.package_below = package;
        state.take(line, number, notes);
    }
    state.end_failure("", notes);
    if state.reason.is_some() {
        state.end_package(None);
    }
    if let Some((name, _)) = &state.running {
        state.gather.about.interrupted = true;
        state.gather.operation(&state.failed_name(name));
    }
    state.cut(notes);
    if state.is_open {
        notes.cut(&text);
    }
    if let Some(mixed) = state.mixed {
        return Err(mixed);
    }
    if state.repeated {
        notes.one_process("-count", "repeat the command, with >> FILE or a file each");
    }
    state.gather.profile(notes)
}

impl State<'_> {
    fn take(&mut self, line: &str, number: usize, notes: &mut Notes) {
        self.end_failure(line, notes);
        self.is_open &= line != "FAIL";
        let stopped = line.trim_start().strip_prefix("--- ");
        let stopped = stopped.and_then(|line| line.split_once(": Benchmark"));
        if let Some((how @ ("FAIL" | "SKIP"), name)) = stopped {
            let name = name.split_whitespace().next().unwrap_or_default();
            let name = self.failed_name(&format!("Benchmark{name}"));
            self.failing = Some((name, how == "SKIP"));
            self.has_failed |= how == "FAIL";
            self.running = None;
        } else if let Some((name, values)) = result(line).or_else(|| behind_log(line)) {
            let is_same = |(running, _): &mut (String, _)| name.starts_with(running.as_str());
            if self.running.take_if(is_same).is_none() {
                self.cut(notes);
            }
            match values {
                Some(values) => self.result(name, &values, number),
                None => {
                    let rest = &line[name.len()..];
                    let line = (!rest.trim().is_empty()).then_some(number);
                    self.running = Some((name.to_owned(), line));
                    self.end_process(rest.trim_start());
                }
            }
        } else if let Some(values) = values(line) {
            if let Some((name, _)) = self.running.take() {
                self.result(&name, &values, number);
            } else if values.iter().any(|(_, unit)| unit.ends_with("/op")) {
                let why = "no name of a benchmark is before them";
                notes.leave_out("result(s)", why, &format!("line {number}"));
            }
        } else if let (true, Some(end)) = (line.starts_with("FAIL"), end(line)) {
            self.end_package(Some(end));
        } else if line == "PASS" || end(line).is_some() {
            self.reason = None;
            self.begin_process(notes);
            self.is_open = false;
        } else if !self.end_process(line)
            && let Some((key, value)) = configuration(line)
        {
            if matches!(key, "goos" | "pkg") {
                self.begin_process(notes);
                self.is_open = true;
            }
            let is_known = KEYS.contains(&key) || self.keys.contains(key);
            match self.running {
                // It is what the benchmark prints.
                Some(_) => {}
                None if is_known || !self.has_results => self.configure(key, value),
                None => {
                    let why = "a key configures only if it is there before the first result too";
                    notes.leave_out("line(s)", why, &format!("{key}, line {number}"));
                }
            }
        }
    }

    fn begin_process(&mut self, notes: &mut Notes) {
        if self.reason.is_some() {
            self.end_package(None);
        }
        self.cut(notes);
        self.has_failed = false;
        self.has_results = false;
        self.process += 1;
    }

    /// What a line says of how the process ends.
    fn end_process(&mut self, line: &str) -> bool {
        let starts = ["panic: ", "fatal error: ", "exit status ", "signal: "];
        let is_end = starts.iter().any(|start| line.starts_with(start));
        if is_end {
            self.reason.get_or_insert_with(|| line.to_owned());
        }
        is_end
    }

    /// The end of a package that failed: `example.com/p 0.1s`, or `[build failed]` behind
    /// the name.
    fn end_package(&mut self, end: Option<(&str, &str)>) {
        self.is_open = false;
        let (package, end) = end.unwrap_or_default();
        let reason = self.reason.take();
        let is_exit = |reason: &str| reason.starts_with("exit status ");
        self.gather.about.interrupted |= reason.as_deref().is_some_and(|reason| !is_exit(reason));
        let reason = reason
            .as_deref()
            .or(Some(end).filter(|end| end.starts_with('[')));
        let name = match self.running.take() {
            Some((name, _)) => self.failed_name(&name),
            None if !package.is_empty() => package.to_owned(),
            None if !self.package.is_empty() => self.package.clone(),
            None => "go test".to_owned(),
        };
        if !std::mem::take(&mut self.has_failed) {
            let reason = reason.unwrap_or("go test says FAIL");
            self.gather.operation(&name).failed("error", reason);
        }
        self.process += 1;
    }

    /// The reason of what failed or was skipped above this line.
    fn end_failure(&mut self, line: &str, notes: &mut Notes) {
        if let Some((name, is_skipped)) = self.failing.take() {
            let reason = Some(line.trim()).filter(|_| line.starts_with(' '));
            let operation = self.gather.operation(&name);
            match is_skipped {
                true => operation.skipped(reason, notes),
                false => operation.failed("error", reason.unwrap_or("it states no reason")),
            }
        }
    }

    /// Notes the benchmark whose result did not come.
    fn cut(&mut self, notes: &mut Notes) {
        if let Some((name, Some(line))) = self.running.take() {
            let place = format!("{name}, line {line}");
            notes.leave_out("result(s)", "their values are not there", &place);
        }
    }

    /// The operation of a benchmark.
    fn named(&self, name: &str) -> String {
        let package = match self.package.as_str() {
            "" => self.package_below,
            package => package,
        };
        let point = if package.is_empty() { "" } else { "." };
        with_parameters(&format!("{package}{point}{name}"), " ", &self.configuration)
    }

    /// The operation of a benchmark that failed, whose name may lack the processors.
    fn failed_name(&self, name: &str) -> String {
        match self.processors.filter(|_| processors(name).is_none()) {
            Some(processors) => self.named(&format!("{name}-{processors}")),
            None => self.named(name),
        }
    }

    fn result(&mut self, name: &str, values: &[(f64, &str)], number: usize) {
        self.processors = processors(name);
        self.has_results = true;
        self.measure(number);
        let time = |(value, unit): &(f64, &str)| Some(Unit::named(unit)?.ns(*value));
        let is_time = |each: &(f64, &str)| each.1.ends_with("/op") && time(each).is_some();
        let at = values.iter().position(is_time);
        let operation = self.named(name);
        let operation = self.gather.operation(&operation);
        operation.attribute("gomaxprocs", self.processors.unwrap_or(1));
        let known = operation.runs();
        let run = operation.run_of(self.process);
        self.repeated |= run < known;
        match at.and_then(|at| time(&values[at])) {
            Some(ns) => operation.sample(run, ns),
            None => operation.is_timeless = true,
        }
        for (place, (value, unit)) in values.iter().enumerate() {
            if Some(place) != at {
                operation.figure(run, unit, unit, *value);
            }
        }
    }

    /// Takes what the result of a line was measured with.
    fn measure(&mut self, number: usize) {
        let before = std::mem::replace(&mut self.measured, self.gather.about.environment.clone());
        if let (Some(difference), None) = (before.differences(&self.measured).first(), &self.mixed)
        {
            let message = format!(
                "its {} is {}, and that of the result before {}: a file is of one machine and one \
                 commit, so make a file of each",
                difference.what, difference.second, difference.first
            );
            self.mixed = Some(FileError::new(FileErrorKind::Value, message).at_position(number, 1));
        }
    }

    fn configure(&mut self, key: &str, value: &str) {
        match key {
            // The first line of a process. What is in no module has no package.
            "goos" => {
                self.package.clear();
                self.gather.about.environment.os = machine::os(value);
            }
            "pkg" => value.clone_into(&mut self.package),
            "goarch" => self.gather.about.environment.arch = machine::arch(value),
            "cpu" => {
                self.gather.about.environment.cpu = machine::cpu(Some(value.to_owned()), None, None)
            }
            // What says when it was measured is no part of what was.
            key if ["date", "time"].iter().any(|word| key.contains(word)) => {}
            key if key.contains("commit") => {
                self.gather.about.environment.revision =
                    Some(value.to_owned()).filter(|id| !id.is_empty());
            }
            key => {
                self.keys.insert(key.to_owned());
                self.configuration.remove(key);
                if !value.is_empty() {
                    self.configuration.insert(key.to_owned(), value.into());
                }
            }
        }
    }
}

/// The texts of the events of `go test -json`, package by package as they come.
fn outputs(events: &str, notes: &mut Notes) -> String {
    let mut order: Vec<String> = Vec::new();
    let mut texts: HashMap<String, String> = HashMap::new();
    for (number, line) in (1..).zip(events.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Ok(Value::Object(event)) = json::line(line, number, notes) else {
            let why = "they are not events of go test -json";
            notes.leave_out("line(s)", why, &format!("line {number}"));
            continue;
        };
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let package = text("Package");
        if !texts.contains_key(package) {
            order.push(package.to_owned());
        }
        let output = texts.entry(package.to_owned()).or_default();
        output.push_str(text("Output"));
    }
    order
        .iter()
        .filter_map(|package| texts.remove(package))
        .collect()
}
