//! divan's table, as `cargo bench` prints it. divan prints only figures of its samples, so
//! the median of a benchmark is its one sample, and a table is one run: a process measures
//! each benchmark once. The tables of several processes in one file, one behind the other,
//! are several runs, and so are several files.
//!
//! Throughput and allocations are not kept.
//!
//! A benchmark is named by its path in the tree, as divan's filters have it:
//! `div::sum::64`.
//!
//! Source: divan's documentation, and its `src/tree_painter.rs`.

use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Profile};

use crate::format::Importer;
use crate::gather::Gather;
use crate::note::{Note, Notes};
use crate::read::Options;
use crate::source::Source;
use crate::unit::Unit;

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
    let mut paths: HashMap<String, usize> = HashMap::new();
    let (mut table, mut ignored, mut not_understood) = (0, 0, 0);
    for line in text.lines() {
        let line = plain(line);
        if let Some(name) = root(&line) {
            path = vec![name];
            table += 1;
            continue;
        }
        let Some(row) = Row::of(&line).filter(|row| row.depth < path.len()) else {
            continue;
        };
        path.truncate(row.depth + 1);
        match row.time {
            Time::None => path.push(row.name),
            Time::Ignored => {
                ignored += 1;
                path.push(row.name);
            }
            Time::Unknown => not_understood += 1,
            Time::Median(ns) => {
                path.push(row.name);
                let name = path.join("::");
                let operation = gather.operation(&name);
                // A path that is there twice in one table is measured by one process.
                let is_again = paths.insert(name, table) == Some(table);
                let run = operation.next_run().saturating_sub(usize::from(is_again));
                operation.sample(run, ns);
                notes.add(Note::SummaryOnly { figure: "median" });
            }
        }
    }
    notes.left_out(ignored, "benchmark(s)", "divan ignored them");
    notes.left_out(not_understood, "line(s)", "their median is not a time");
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

fn time(text: &str) -> Option<f64> {
    let (value, unit) = text.split_once(' ')?;
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
