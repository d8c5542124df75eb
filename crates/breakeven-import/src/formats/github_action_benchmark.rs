//! `data.js` of github-action-benchmark: the history of a repository's benchmarks. An entry
//! is what one workflow measured of one commit: a profile with one run, of one figure for
//! each benchmark. The newest entry is the profile; all of them are the history
//! ([`Imported::history`](crate::Imported::history)), which a comparison takes the noise of.
//! With several suites the newest of each counts. The suite is in the name (`Go: BenchmarkA`),
//! whatever others there are.
//!
//! The figure is a mean or a median, as the tool behind it has it. Rates (`iter/sec`) become
//! times, Go's other units (`ns/op\t 64 B/op`) memory and counters of the same operation. A
//! figure that is no time otherwise (percent) is a counter of its unit's name, of which more
//! or less is better as the tool says (`customBiggerIsBetter`).
//!
//! A list of `{name, value, unit}`, as the tools `customSmallerIsBetter` and
//! `customBiggerIsBetter` read it, is one run without a history. Which of the two tools reads
//! it is in the workflow: of what is no rate less counts as better, with a note.
//!
//! Source: the README of benchmark-action/github-action-benchmark, and `src/write.ts`.

use std::collections::{BTreeMap, HashMap};

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json::{self, Entries, Number};
use crate::machine;
use crate::note::{Entry, Notes};
use crate::source::Source;
use crate::unit::{Unit, value_and_unit};

pub(crate) static IMPORTER: Format = Format {
    name: "github-action-benchmark",
    about: "github-action-benchmark: dev/bench/data.js, its external JSON file, or what a custom tool wrote for it",
    recognises: |source| {
        source.text().trim_start().starts_with(PREFIX)
            || source.has("entries") && source.has("lastUpdate")
            || is_custom(source)
    },
    read,
};

/// What makes the JSON a script.
const PREFIX: &str = "window.BENCHMARK_DATA";

fn is_custom(source: &Source) -> bool {
    ["[].name", "[].value", "[].unit"]
        .iter()
        .all(|key| source.has(key))
}

#[derive(Deserialize)]
struct Document {
    entries: BTreeMap<String, Entries<Measured>>,
}

#[derive(Deserialize)]
struct Measured {
    commit: Option<Commit>,
    /// Milliseconds since 1970.
    date: Option<Number>,
    #[serde(default)]
    tool: String,
    benches: Entries<Bench>,
}

#[derive(Deserialize)]
struct Commit {
    id: Option<String>,
}

#[derive(Deserialize)]
struct Bench {
    name: String,
    value: Number,
    #[serde(default)]
    unit: String,
}

/// The entries of all suites of one workflow.
type Group<'d> = Vec<(&'d str, &'d Measured)>;

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    if is_custom(&source) {
        let measured = Measured {
            commit: None,
            date: None,
            tool: String::new(),
            benches: json::read(source, notes)?,
        };
        let profile = profile(&vec![("", &measured)], notes)?;
        notes.summary_only("value");
        return Ok(profile);
    }
    let path = source.path().to_owned();
    let mut text = source.into_memory(notes)?;
    without_prefix(&mut text);
    let document: Document = json::of(&text, &path, Value::Null, notes)?;
    let mut newest: Group<'_> = Vec::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut last_of: HashMap<&str, usize> = HashMap::new();
    for (suite, entries) in &document.entries {
        entries.note(notes);
        newest.extend(entries.read.last().map(|last| (suite.as_str(), last)));
        for measured in &entries.read {
            let commit = measured
                .commit
                .as_ref()
                .and_then(|commit| commit.id.as_deref());
            let commit = commit.unwrap_or_default();
            // Suites that measured the same commit are one entry; a commit that a suite
            // measured again is another.
            let last = last_of.get(commit).filter(|_| !commit.is_empty());
            match last.and_then(|last| groups.get_mut(*last)) {
                Some(group) if group.iter().all(|(name, _)| name != suite) => {
                    group.push((suite, measured));
                }
                _ => {
                    last_of.insert(commit, groups.len());
                    groups.push(vec![(suite, measured)]);
                }
            }
        }
    }
    let profile = profile(&newest, notes)?;
    notes.summary_only("value");
    groups.sort_by(|one, other| date(one).total_cmp(&date(other)));
    let entries = groups.iter().filter_map(|group| {
        // What an earlier entry leaves out is no news of the profile.
        let profile = self::profile(group, &mut Notes::default()).ok()?;
        Some(Entry {
            commit: profile.environment.revision.clone(),
            branch: None,
            date: profile.created.clone(),
            profile,
        })
    });
    notes.history = entries.collect();
    Ok(profile)
}

/// When the first of them was measured; without a date before all others.
fn date(group: &Group<'_>) -> f64 {
    let dates = group.iter().filter_map(|(_, measured)| measured.date);
    dates.map(|date| date.0).fold(f64::NEG_INFINITY, f64::max)
}

fn profile(group: &Group<'_>, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut gather = Gather::default();
    for (suite, measured) in group {
        measured.benches.note(notes);
        let mut known: HashMap<&str, usize> = HashMap::new();
        for bench in &measured.benches.read {
            // Behind the unit of the value, all other figures of a line of Go.
            let mut figures = bench.unit.split('\t').map(str::trim);
            let unit = figures.next().unwrap_or_default();
            // Each of these figures is there again: `BenchmarkA - B/op`.
            let of_unit = bench.name.strip_suffix(unit);
            let again = of_unit.and_then(|name| name.strip_suffix(" - "));
            let name = again.unwrap_or(&bench.name);
            let is_new = again.is_none() || !known.contains_key(name);
            let times = known.entry(name).or_default();
            *times += usize::from(is_new);
            let mark = Some(times.to_string());
            let operation = match *suite {
                "" => gather.entry(name, "cpu", mark),
                suite => {
                    let operation = gather.entry(&format!("{suite}: {name}"), "cpu", mark);
                    operation.attribute("suite", suite);
                    operation
                }
            };
            match Unit::named(unit) {
                Some(unit) if is_new => operation.sample(0, unit.ns(bench.value.0)),
                Some(_) => {}
                None => {
                    operation.is_timeless = true;
                    operation.figure(0, unit, unit, bench.value.0);
                    if let Some(counter) = operation.operation.counters.get_mut(unit) {
                        counter.higher_is_better |= measured.tool == "customBiggerIsBetter";
                        if suite.is_empty() && !counter.higher_is_better {
                            notes.no_direction(unit);
                        }
                    }
                }
            }
            for (value, unit) in figures.map(value_and_unit) {
                if let Ok(value) = value.parse() {
                    operation.figure(0, unit, unit, value);
                }
            }
        }
    }
    let commits = group
        .iter()
        .filter_map(|(_, measured)| measured.commit.as_ref());
    let mut commits = commits.filter_map(|commit| commit.id.as_deref());
    let first = commits.next();
    // The newest entries of several suites need not be of one commit.
    let revision = first.filter(|first| commits.all(|id| id == *first));
    gather.about.environment.revision = revision.map(str::to_owned);
    gather.about.created = machine::utc_of_ms(date(group));
    gather.profile(notes)
}

/// Replaces what makes the JSON a script by white space.
fn without_prefix(text: &mut [u8]) {
    if text.trim_ascii_start().starts_with(PREFIX.as_bytes()) {
        let begin = text.iter().position(|byte| *byte == b'{');
        text[..begin.unwrap_or(0)].fill(b' ');
    }
}
