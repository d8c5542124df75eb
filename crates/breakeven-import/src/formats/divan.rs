//! divan's table, as `cargo bench` prints it. divan prints only figures of its samples, so
//! the median of a benchmark is its one sample, and a table is one run: a process measures
//! each benchmark once. The tables of several processes in one file, one behind the other,
//! are several runs, and so are several files.
//!
//! The medians of throughput and allocations are counters, that of `max alloc` in bytes is
//! the memory.
//!
//! A benchmark is named by its path in the tree, as divan's filters have it:
//! `div::sum::64`. One that a table has again is another, `name #2`. One that printed
//! something else in place of its figures failed, unless they come below.
//!
//! Source: divan's documentation, and its `src/tree_painter.rs`.

use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::note::Notes;
use crate::source::Source;
use crate::unit::{plain, scaled, time};

pub(crate) static IMPORTER: Format = Format {
    name: "divan",
    about: "divan: `cargo bench > FILE`",
    recognises: |source| source.lines().any(|line| root(&plain(line)).is_some()),
    read,
};

/// Columns behind that of the fastest time.
const COLUMNS: usize = 5;

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text(notes)?;
    let mut gather = Gather::default();
    let mut path: Vec<String> = Vec::new();
    let (mut table, mut ignored) = (0, 0);
    // The operation and run that lines below it count for, and what they count.
    let (mut measured, mut counted): (Option<(String, usize)>, _) = (None, String::new());
    // How often the table has each benchmark, and the depth and name of the last if it has
    // no figures yet.
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut running: Option<(usize, String)> = None;
    // Whether the tree has more branches than were read, or the last one no figures.
    let (mut has_branches, mut is_open) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = plain(line);
        if let Some(name) = root(&line) {
            path = vec![name];
            table += 1;
            known.clear();
            (running, is_open) = (None, true);
            continue;
        }
        let row = Row::of(&line).or_else(|| Row::below(&line, &mut running));
        let Some(row) = row.filter(|row| row.depth < path.len()) else {
            if let Some((name, run)) = &measured {
                count(&line, &mut counted, gather.operation(name), *run);
            }
            continue;
        };
        (measured, running) = (None, None);
        if let Some((tree, _)) = line.split_once("─ ") {
            has_branches = tree.contains(['├', '│']);
        }
        is_open = has_branches || matches!(row.time, Time::None | Time::NotYet);
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
            Time::Median(_) | Time::NotYet => {
                path.push(row.name.clone());
                let name = path.join("::");
                let times = known.entry(name.clone()).or_default();
                let operation = gather.entry(&name, "cpu", Some(times.to_string()));
                if let Time::Median(ns) = row.time {
                    *times += 1;
                    let run = operation.run_of(table);
                    operation.summary(run, ns, "median", notes);
                    measured = Some((operation.operation.name.clone(), run));
                } else {
                    let printed = line.split_once(&row.name).map(|(_, printed)| printed);
                    if let Some(reason) = printed.filter(|text| text.contains("panicked at")) {
                        operation.failed("error", reason);
                    }
                    running = Some((row.depth, row.name));
                }
            }
        }
    }
    if is_open {
        notes.cut(&text);
    }
    notes.left_out(ignored, "benchmark(s)", "divan ignored them");
    gather.profile(notes)
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
    /// In place of the figures stands what the benchmark printed.
    NotYet,
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
        let depth = before.chars().count() / 3;
        let mut cells = behind.rsplitn(COLUMNS + 1, '│');
        let is_complete = behind.matches('│').count() >= COLUMNS;
        let median = cells.nth(3).filter(|_| is_complete);
        let Some(median) = median.map(str::trim) else {
            let (name, _) = behind.split_once("  ").unwrap_or((behind, ""));
            return Some(Self {
                depth,
                name: name.trim().to_owned(),
                time: Time::NotYet,
            });
        };
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
            depth,
            name: name.trim().to_owned(),
            time,
        })
    }

    /// The figures of a benchmark that had none in its line.
    fn below(line: &str, running: &mut Option<(usize, String)>) -> Option<Self> {
        let mut cells = line.split('│').map(|cell| time(cell.trim()));
        let (Some(_), Some(ns)) = (cells.next()?, cells.nth(1)?) else {
            return None;
        };
        let (depth, name) = running.take()?;
        let time = Time::Median(ns);
        Some(Self { depth, name, time })
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
