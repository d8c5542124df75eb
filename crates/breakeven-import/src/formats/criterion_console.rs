//! What criterion prints: `NAME  time:   [low estimate high]`. It has an interval and no
//! samples, so the estimate in its middle is the one sample of a run; the folder
//! `target/criterion` has the samples and is better. Each result of a name is a run: a process
//! measures a benchmark once. The output of several processes in one file, one behind the
//! other, is several runs, and so are several files.
//!
//! The estimate of `thrpt` is a counter, and so is that of a measurement in another unit than
//! time. What criterion says of a change is of an earlier process and left out. A blank line
//! ends a group; a file that ends without one was cut.
//!
//! Source: the book of criterion.rs, "Command-Line Output", and its `src/report.rs`.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::note::Notes;
use crate::source::Source;
use crate::unit::{Unit, plain, scaled};

pub(crate) static IMPORTER: Format = Format {
    name: "criterion-console",
    about: "criterion: `cargo bench > FILE`; its folder has the samples too",
    recognises: |source| {
        let is_result = |line| {
            let line = plain(line);
            result(&line).is_some_and(|(_, estimate)| estimate.is_some())
        };
        source.lines().any(is_result)
    },
    read,
};

/// What criterion prints while it measures, on standard error, behind `Benchmarking NAME`.
const STEPS: [&str; 3] = [": Warming up for ", ": Collecting ", ": Analyzing"];

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text(notes)?;
    let mut gather = Gather::default();
    // A long name has a line of its own.
    let mut title = String::new();
    let mut running: Option<String> = None;
    let mut measured: Option<(String, usize)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = plain(line);
        if let Some((name, estimate)) = result(&line) {
            let name = if name.is_empty() { &title } else { name };
            measured = None;
            let Some((value, unit)) = estimate else {
                // Of a change, `[-1.2% +0.5% +2.0%]`.
                if !line.contains('%') {
                    let place = format!("{name}, line {number}");
                    notes.leave_out("line(s)", "their estimate cannot be read", &place);
                }
                continue;
            };
            running = None;
            let operation = gather.operation(name);
            let run = operation.new_run();
            match Unit::named(unit) {
                Some(unit) => operation.summary(run, unit.ns(value), "estimate", notes),
                None => {
                    operation.is_timeless = true;
                    operation.figure(run, unit, unit, value);
                    notes.summary_only("estimate");
                }
            }
            measured = Some((name.to_owned(), run));
        } else if let Some((value, unit)) =
            line.trim_start().strip_prefix("thrpt:").and_then(middle)
        {
            if let (Some((name, run)), Some((value, unit))) =
                (&measured, scaled(&format!("{value} {unit}")))
            {
                let operation = gather.operation(name);
                operation.figure(*run, "throughput", unit, value);
            }
        } else if let Some(name) = line.strip_prefix("Benchmarking ") {
            let end = STEPS.iter().filter_map(|step| name.find(step)).min();
            running = Some(name[..end.unwrap_or(name.len())].to_owned());
        } else if line.contains("panicked at ") {
            let name = running.take().unwrap_or_else(|| "criterion".to_owned());
            gather.operation(&name).failed("error", &line);
        } else if !line.starts_with(' ') {
            line.trim_end().clone_into(&mut title);
        }
    }
    if let Some(name) = &running {
        gather.operation(name);
    }
    let has_ended = text.ends_with('\n') && text.lines().last().is_none_or(str::is_empty);
    if running.is_some() || !has_ended {
        notes.cut(&text);
    }
    gather.profile(notes)
}

/// The name of a result, empty if the line above has it, and its estimate.
fn result(line: &str) -> Option<(&str, Option<(f64, &str)>)> {
    let (name, interval) = line.rsplit_once("time:   [")?;
    let is_name = name.is_empty() || name.ends_with(' ');
    is_name.then(|| {
        (
            name.trim(),
            middle(&line[line.len() - interval.len() - 1..]),
        )
    })
}

/// The estimate in the middle of an interval, `[1.2 ns 1.3 ns 1.4 ns]`, and its unit.
fn middle(interval: &str) -> Option<(f64, &str)> {
    let interval = interval.trim_start().strip_prefix('[')?;
    let (interval, _) = interval.split_once(']')?;
    let words: Vec<&str> = interval.split(' ').collect();
    let [_, _, value, unit, _, _] = words[..] else {
        return None;
    };
    Some((value.parse().ok()?, unit))
}
