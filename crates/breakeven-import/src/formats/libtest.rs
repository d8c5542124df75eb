//! What the test harness of Rust prints of `#[bench]`: `test NAME ... bench: 27 ns/iter
//! (+/- 1)`, also as criterion writes it with `--output-format bencher`. It prints the median
//! of its samples, which is the one sample of a run: a process measures each benchmark once.
//! The output of several processes in one file, one behind the other, is several runs, and so
//! are several files. Where the file has cargo's lines `Running benches/a.rs (…)`, a name in
//! two such programs is two benchmarks.
//!
//! The rate behind the median (`= 512 MB/s`) is a counter. A benchmark that failed has its
//! panic as reason; tests and ignored benchmarks are left out.
//!
//! Source: `library/test/src/formatters/pretty.rs` and `bench.rs` of Rust, and criterion's
//! `src/report.rs`.

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::note::Notes;
use crate::source::Source;
use crate::unit::{Unit, plain, value_and_unit};

pub(crate) static IMPORTER: Format = Format {
    name: "libtest",
    about: "`#[bench]` of Rust: `cargo bench > FILE`; criterion's `--output-format bencher`",
    recognises: |source| {
        let is_result = |line| {
            let line = plain(line);
            let is_begun = line.starts_with("test ") || line.starts_with(BENCH);
            is_begun && figures(&line).is_some()
        };
        source.lines().any(is_result)
    },
    read,
};

/// What stands before a result.
const BENCH: &str = "bench: ";

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text(notes)?;
    let mut gather = Gather::default();
    let mut program = String::new();
    // The benchmark whose outcome has not come, and the one whose output is shown.
    let mut running: Option<String> = None;
    let mut shown: Option<String> = None;
    let (mut ignored, mut is_open) = (0, false);
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let line = plain(line);
        let is_count = |rest: &str| rest.ends_with(" tests") || rest.ends_with(" test");
        if let Some(path) = line.trim_start().strip_prefix("Running ") {
            program = path.split(" (").next().unwrap_or_default().to_owned();
            continue;
        } else if line.strip_prefix("running ").is_some_and(is_count) {
            is_open = true;
            continue;
        } else if line.starts_with("test result: ") {
            (is_open, shown) = (false, None);
            continue;
        }
        if let Some(name) = line.strip_prefix("---- ") {
            shown = name.strip_suffix(" stdout ----").map(str::to_owned);
            continue;
        }
        let (name, outcome) = match (test(&line), &running) {
            (Some((name, outcome)), _) => (name.to_owned(), outcome),
            // What the benchmark printed is before it.
            (None, Some(name)) => (name.clone(), line.as_str()),
            (None, None) => {
                if let Some(name) = shown.as_ref().filter(|_| line.contains("panicked at ")) {
                    let message = lines.peek().map_or("", |(_, message)| message);
                    let operation = gather.entry(name, "cpu", Some(program.clone()));
                    operation.operation.failure = None;
                    operation.failed("error", &format!("{line} {message}"));
                }
                continue;
            }
        };
        running = None;
        match (figures(outcome), outcome) {
            (Some((ns, rate)), _) => {
                let operation = gather.entry(&name, "cpu", Some(program.clone()));
                let run = operation.new_run();
                operation.summary(run, ns, "median", notes);
                if let Some((value, unit)) = rate {
                    operation.figure(run, unit, unit, value);
                }
            }
            (None, "FAILED") => {
                let operation = gather.entry(&name, "cpu", Some(program.clone()));
                operation.failed("error", "it states no reason");
            }
            (None, "ok") => {}
            (None, outcome) if outcome.starts_with("ignored") => ignored += 1,
            (None, outcome) if outcome.contains(BENCH) => {
                let place = format!("{name}, line {number}");
                notes.leave_out("line(s)", "their median cannot be read", &place);
            }
            (None, _) => running = Some(name),
        }
    }
    if let Some(name) = &running {
        gather.entry(name, "cpu", Some(program));
    }
    // criterion prints no line at the end.
    let is_cut_line = !text.ends_with('\n');
    if is_open || running.is_some() || is_cut_line {
        notes.cut(&text);
    }
    notes.left_out(ignored, "test(s)", "libtest ignored them");
    gather.profile(notes)
}

/// The name of a test and what is behind it.
fn test(line: &str) -> Option<(&str, &str)> {
    // As `--quiet` has it.
    if let Some(name) = line.strip_suffix(" --- FAILED") {
        return Some((name, "FAILED"));
    }
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.trim_end();
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    Some((name, outcome.trim()))
}

/// The median of a benchmark, ns, and its rate with the unit.
fn figures(outcome: &str) -> Option<(f64, Option<(f64, &str)>)> {
    let (_, figures) = outcome.split_once(BENCH)?;
    let (median, spread) = figures.split_once(" (+/- ")?;
    let (_, rate) = spread.split_once(')')?;
    let (value, unit) = value_and_unit(median.trim());
    let value: f64 = value.replace(',', "").parse().ok()?;
    let unit = Unit::named(unit).filter(|_| unit.ends_with("/iter"))?;
    let rate = rate.trim().strip_prefix("= ").map(value_and_unit);
    let rate = rate.and_then(|(value, unit)| Some((value.replace(',', "").parse().ok()?, unit)));
    Some((unit.ns(value), rate))
}
