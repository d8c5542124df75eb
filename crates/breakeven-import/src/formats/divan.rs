//! divan's table, as `cargo bench` prints it. divan prints only figures of its samples, so
//! the median of a benchmark is its one sample, and a table is one run: a process measures
//! each benchmark once. The tables of several processes in one file, one behind the other,
//! are several runs, and so are several files.
//!
//! The medians of throughput and allocations are counters, that of `max alloc` in bytes is
//! the memory.
//!
//! A benchmark is named by its path in the tree, as divan's filters have it:
//! `div::sum::64`.
//!
//! Source: divan's documentation, and its `src/tree_painter.rs`.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};

use crate::formats::{Importer, Options};
use crate::gather::{Gather, Gathered};
use crate::note::Notes;
use crate::source::Source;
use crate::unit::{Unit, value_and_unit};

pub(crate) static IMPORTER: Importer = Importer {
    name: "divan",
    about: "divan: `cargo bench > FILE`",
    recognises: |source| source.lines().any(|line| root(&plain(line)).is_some()),
    read,
};

/// Columns behind that of the fastest time.
const COLUMNS: usize = 5;

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text()?;
    let mut gather = Gather::default();
    let mut path: Vec<String> = Vec::new();
    let (mut table, mut ignored) = (0, 0);
    // The operation and run that lines below it count for, and what they count.
    let (mut measured, mut counted): (Option<(String, usize)>, _) = (None, String::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = plain(line);
        if let Some(name) = root(&line) {
            path = vec![name];
            table += 1;
            continue;
        }
        let Some(row) = Row::of(&line).filter(|row| row.depth < path.len()) else {
            if let Some((name, run)) = &measured {
                count(&line, &mut counted, gather.operation(name), *run);
            }
            continue;
        };
        measured = None;
        counted.clear();
        path.truncate(row.depth + 1);
        match row.time {
            Time::None => path.push(row.name),
            Time::Ignored => {
                ignored += 1;
                path.push(row.name);
            }
            Time::Unknown => {
                let place = format!("{}, line {number}", row.name);
                notes.leave_out("line(s)", "their median is not a time", &place);
            }
            Time::Median(ns) => {
                path.push(row.name);
                let name = path.join("::");
                let operation = gather.operation(&name);
                let run = operation.run_of(table);
                operation.summary(run, ns, "median", notes);
                measured = Some((name, run));
            }
        }
    }
    notes.left_out(ignored, "benchmark(s)", "divan ignored them");
    gather.profile(Environment::default(), notes)
}

/// The name at a table's head.
fn root(line: &str) -> Option<String> {
    let (name, columns) = line.split_once(" fastest ")?;
    let is_head = columns.contains("│ slowest") && columns.contains("│ median");
    is_head.then(|| name.trim().to_owned())
}

/// A line of the tree.
struct Row {
    /// Branches above it.
    depth: usize,
    name: String,
    time: Time,
}

enum Time {
    /// A group's.
    None,
    Ignored,
    /// ns.
    Median(f64),
    /// It is there and no time.
    Unknown,
}

impl Row {
    /// The row of a line that has a branch; those of throughput and allocations have none.
    fn of(line: &str) -> Option<Self> {
        let branch = ["├─ ", "╰─ "].into_iter();
        let at = branch.filter_map(|branch| line.find(branch)).min()?;
        let (before, behind) = line.split_at(at);
        let is_tree = before.chars().all(|each| matches!(each, ' ' | '│'));
        let behind = behind.get("├─ ".len()..).filter(|_| is_tree)?;
        // Names may hold the mark between columns, columns do not.
        let mut cells = behind.rsplitn(COLUMNS + 1, '│');
        let median = cells.nth(3)?.trim();
        let first = cells.last()?.trim_end();
        let (name, time) = match median {
            "" => match first.strip_suffix("(ignored)") {
                Some(name) => (name, Time::Ignored),
                None => (first, Time::None),
            },
            // Before the columns stands the fastest time, as in `2.4 µs`.
            median => {
                let name = first.rsplit_once(' ')?.0.trim_end().rsplit_once(' ')?.0;
                (name, time(median).map_or(Time::Unknown, Time::Median))
            }
        };
        Some(Self {
            depth: before.chars().count() / 3,
            name: name.trim().to_owned(),
            time,
        })
    }
}

/// Takes what a line below a benchmark counts: a throughput, or after `max alloc:` how many
/// and how many bytes.
fn count(line: &str, counted: &mut String, operation: &mut Gathered, run: usize) {
    let mut cells = line.rsplitn(COLUMNS + 1, '│');
    let median = cells.nth(3).unwrap_or_default().trim();
    let first = cells.last().unwrap_or_default();
    let first = first.trim_matches([' ', '│']);
    if let Some(what) = first.strip_suffix(':') {
        what.clone_into(counted);
    } else if let Some((value, unit)) = scaled(median) {
        let name = match (counted.as_str(), unit) {
            ("", _) => "throughput".to_owned(),
            (what, "") => what.to_owned(),
            (what, _) => format!("{what} bytes"),
        };
        operation.figure(run, &name, unit, value);
    }
}

/// A value such as `8.3 GB/s` without the prefix of its unit.
fn scaled(text: &str) -> Option<(f64, &str)> {
    let (value, unit) = value_and_unit(text);
    let value: f64 = value.parse().ok()?;
    let prefixes = ['K', 'M', 'G', 'T', 'P'].into_iter().zip(1..);
    let found = prefixes.filter_map(|(prefix, power)| Some((unit.strip_prefix(prefix)?, power)));
    Some(match found.last() {
        None => (value, unit),
        Some((unit, power)) => match unit.strip_prefix('i') {
            Some(unit) if !unit.starts_with('t') => (value * 1024_f64.powi(power), unit),
            _ => (value * 1e3_f64.powi(power), unit),
        },
    })
}

fn time(text: &str) -> Option<f64> {
    let (value, unit) = value_and_unit(text);
    let value: f64 = value.parse().ok()?;
    Some(Unit::named(unit)?.ns(value))
}

/// The line without the colours of a terminal.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once('m') {
        Some((codes, rest)) if codes.starts_with('[') => text + rest,
        _ => text + part,
    })
}
