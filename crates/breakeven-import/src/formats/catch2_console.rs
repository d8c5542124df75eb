//! What Catch2 prints of its benchmarks. The mean of a benchmark is its one sample, and a
//! process is one run, as in `--reporter xml`. Processes one behind the other in one file are
//! several runs, and so are several files.
//!
//! A benchmark is named by its test case and sections, as in the XML: `sums / nested / small`.
//! Names are wrapped at the table's column; the pieces are joined by spaces. One that failed
//! and a test case that failed are failures. A file without Catch2's last lines was cut.
//!
//! Source: the documentation of Catch2, "Authoring benchmarks", and its
//! `catch_reporter_console.cpp`.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::note::Notes;
use crate::source::Source;
use crate::unit::{plain, time};

pub(crate) static IMPORTER: Format = Format {
    name: "catch2-console",
    about: "Catch2: what its benchmarks print",
    recognises: |source| source.lines().any(|line| head(&plain(line)).is_some()),
    read,
};

/// The width of the names in a table with this head.
fn head(line: &str) -> Option<usize> {
    let is_head = line.starts_with("benchmark name ") && line.contains(" iterations ");
    line.find("samples").filter(|_| is_head)
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text(notes)?;
    let mut gather = Gather::default();
    let (mut version, mut process, mut has_ended) = (None, 0, false);
    // The test case and its sections, and whether their names come next.
    let (mut case, mut is_title): (Vec<String>, bool) = (Vec::new(), false);
    let (mut width, mut is_head) = (None, false);
    // The wrapped name, and the one whose mean comes next.
    let (mut name, mut running): (String, Option<String>) = (String::new(), None);
    for (number, line) in (1..).zip(text.lines()) {
        let line = plain(line);
        let is_rule = |mark: char| line.len() > 70 && line.chars().all(|each| each == mark);
        let words = || line.split_whitespace();
        if let Some(found) = head(&line) {
            (width, is_head, has_ended) = (Some(found), true, false);
            name.clear();
        } else if is_rule('-') {
            // Below the head of a table is such a line too.
            if !std::mem::take(&mut is_head) {
                (is_title, width) = (!is_title, None);
                if is_title {
                    case.clear();
                }
            }
        } else if is_rule('.') {
            is_title = false;
        } else if is_rule('=')
            || line.starts_with("All tests passed")
            || line.starts_with("test cases:")
        {
            (has_ended, width, is_title) = (!is_rule('='), None, false);
            process += usize::from(has_ended);
        } else if line.contains(" host application.") && line.contains("is a Catch") {
            version = words().find(|word| word.starts_with('v')).map(|word| {
                let version = word.trim_start_matches('v').trim_end_matches('.');
                format!("Catch2 {version}")
            });
        } else if line.ends_with(": FAILED:") {
            let failed = gather.operation(&case.join(" / "));
            failed.failed("error", "the test case failed");
        } else if is_title {
            match case.last_mut().filter(|_| !line.starts_with(' ')) {
                Some(wrapped) => wrapped.extend([" ", line.trim()]),
                None => case.push(line.trim().to_owned()),
            }
        } else if let Some(columns) = width {
            let own = line
                .char_indices()
                .nth(columns)
                .map_or(line.len(), |(at, _)| at);
            let (own, figures) = line.split_at(own);
            let own = own.trim();
            let figures: Vec<&str> = figures.split_whitespace().collect();
            if !own.is_empty() {
                name = [name.as_str(), own].join(" ").trim().to_owned();
            }
            let path = || {
                let path = case.iter().map(String::as_str);
                path.chain([name.as_str()]).collect::<Vec<_>>().join(" / ")
            };
            match figures[..] {
                [] if own.is_empty() => name.clear(),
                ["Benchmark", "failed", ..] => {
                    let reason = figures.join(" ");
                    gather.operation(&path()).failed("error", &reason);
                    name.clear();
                }
                [samples, _, _, _] if samples.parse::<u64>().is_ok() && !name.is_empty() => {
                    let path = path();
                    gather.operation(&path);
                    running = Some(path);
                    name.clear();
                }
                [value, unit, _, _, _, _] => {
                    if let Some(path) = running.take() {
                        let operation = gather.operation(&path);
                        match time(&format!("{value} {unit}")) {
                            Some(ns) => {
                                let run = operation.run_of(process);
                                operation.sample(run, ns);
                                notes.summary_only("mean");
                            }
                            None => {
                                let place = format!("{path}, line {number}");
                                let why = "their mean is not a time";
                                notes.leave_out("line(s)", why, &place);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    if !has_ended {
        notes.cut(&text);
    }
    gather.about.generator = version;
    gather.profile(notes)
}
