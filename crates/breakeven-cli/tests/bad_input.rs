//! Files that are no profiles, through every command that reads one: exit code
//! 2, one line with the file and the place, no panic, in little time and memory.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::command::directory;

/// The commands, FILE standing for the profile, PAGE and BASELINE for files beside it.
const COMMANDS: [&str; 7] = [
    "show FILE",
    "compare FILE FILE",
    "advise FILE",
    "compare BASELINE FILE --accept",
    "convert FILE --to chrome",
    "convert FILE --to markdown -o -",
    "report FILE -o PAGE",
];

/// Reading the largest of these takes a tenth of it.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The words of a command, FILE and PAGE replaced.
fn words(command: &str, file: &Path) -> Vec<OsString> {
    let word = |word: &str| match word {
        "FILE" => file.as_os_str().to_owned(),
        "PAGE" => file.with_extension("html").into_os_string(),
        "BASELINE" => file.with_extension("baseline").into_os_string(),
        word => OsString::from(word),
    };
    let words = command.split_whitespace().map(word);
    std::iter::once("breakeven".into()).chain(words).collect()
}

/// How a command ends, what it prints, and how long it takes, in this process:
/// a panic fails the test.
fn run(command: &str, file: &Path) -> (u8, Vec<u8>, String, Duration) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let exit = breakeven_cli::run(words(command, file), &mut out, &mut err);
    let took = start.elapsed();
    (exit, out, String::from_utf8(err).unwrap(), took)
}

/// What a command says of a file that it refuses.
#[track_caller]
fn said(command: &str, file: &Path) -> String {
    let (exit, out, err, took) = run(command, file);
    assert_eq!(exit, 2, "{command}: {err}");
    assert!(took < AT_ONCE, "{command}: {took:?}");
    assert!(out.is_empty(), "{command}");
    assert!(
        err.ends_with('\n') && err.lines().count() == 1,
        "{command}: {err}"
    );
    assert!(err.len() < 1_000, "{command}: {err}");
    err
}

/// What every command says of the file at a path; they all say the same.
#[track_caller]
fn refused_path(file: &Path, directory: &Path) -> String {
    let first = said(COMMANDS[0], file);
    for command in &COMMANDS[1..] {
        assert_eq!(said(command, file), first, "{command}");
    }
    first.replace(directory.to_str().unwrap(), "[dir]")
}

/// What every command says of a file with this content.
#[track_caller]
fn refused(content: impl AsRef<[u8]>) -> String {
    let directory = directory();
    let file = directory.path().join("p.json");
    fs::write(&file, content).unwrap();
    refused_path(&file, directory.path())
}

/// A profile around these operations, without its end.
fn operations(operations: &str) -> String {
    format!("{{\"format\": \"breakeven-profile\", \"version\": 1,\n\"operations\": [\n{operations}")
}

#[test]
fn truncated() {
    assert_snapshot!(refused(operations("{\"name\": \"f\", \"samples_ns\": [1, 2")), @"error: [dir]/p.json:3:33: operations[0].samples_ns: the file ends early; its writer was stopped or the copy is incomplete: copy or measure again");
    assert_snapshot!(refused("{\"format\": \"breakeven-pro"), @"error: [dir]/p.json:1:25: format: the file ends early; its writer was stopped or the copy is incomplete: copy or measure again");
    assert_snapshot!(refused("{"), @"error: [dir]/p.json:1:1: the file ends early; its writer was stopped or the copy is incomplete: copy or measure again");
}

#[test]
fn empty() {
    assert_snapshot!(refused(""), @"error: [dir]/p.json: the file is empty; write the profile again");
    assert_snapshot!(refused("\n\n"), @"error: [dir]/p.json: the file is empty; write the profile again");
}

#[test]
fn another_format() {
    assert_snapshot!(refused("{\"traceEvents\": []}"), @"error: [dir]/p.json: the trace holds no times; look whether anything ran while it was taken");
    assert_snapshot!(refused("cpu;conv2d 812000\n"), @"error: [dir]/p.json: the counts of collapsed stacks have no unit; give the unit: ns for those of breakeven convert, else us or ms, or the rate of the samples, as in 99hz (--unit)");
    let counts = r#"{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
        "profiles": [{"type": "sampled", "name": "t", "unit": "none", "startValue": 0, "endValue": 1, "samples": [[0]], "weights": [1]}]}"#;
    assert_snapshot!(refused(counts), @"error: [dir]/p.json: the file holds no samples; 1 profile(s) left out: their times cannot be read; the first is number 1: its unit is none, so its weights are counts of samples; give the unit: the rate of the samples, as in 100hz (--unit)");
    assert_snapshot!(refused("[]"), @"error: [dir]/p.json: of no known format, and not a breakeven profile: it is no JSON object, and a profile is one (--from; `breakeven convert --list` lists all)");
    assert_snapshot!(refused(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56"), @"error: [dir]/p.json:1:1: the file ends early; its writer was stopped or the copy is incomplete: copy or measure again");
}

#[test]
fn a_newer_version() {
    assert_snapshot!(refused("{\"format\": \"breakeven-profile\", \"version\": 2, \"operations\": {}}"), @"error: [dir]/p.json: the profile is of version 2 and this build reads version 1; update breakeven, or write the profile again with this one");
}

#[test]
fn deep_nesting() {
    let deep = "[".repeat(1 << 20);
    let said = refused(operations(&format!(
        "{{\"name\": \"f\", \"attributes\": {{\"a\": {deep}"
    )));
    assert!(
        said.starts_with("error: [dir]/p.json:3:158: operations[0].attributes.a[0][0]"),
        "{said}"
    );
    assert!(
        said.ends_with("lists or objects are nested more than 120 deep\n"),
        "{said}"
    );
    let unknown = refused(format!(
        "{{\"format\": \"breakeven-profile\", \"version\": 1, \"x\": {deep}"
    ));
    assert!(unknown.starts_with("error: [dir]/p.json:1:"), "{unknown}");
}

#[test]
fn huge_texts() {
    let long = "n".repeat(10 << 20);
    assert_snapshot!(refused(operations(&format!("{{\"name\": \"{long}\", \"samples_ns\": [1]}}]}}"))), @"error: [dir]/p.json: operations[0]: the name is 10485760 bytes long; shorten it to at most 65536");
    assert_snapshot!(refused(format!("{{\"{long}\": 1}}")).replace(&"n".repeat(200), "n…n"), @r#"error: [dir]/p.json: of no known format, and not a breakeven profile: line 1, column 10485767: missing field `format`; a profile begins {"format": "breakeven-profile", "version": 1 (--from; `breakeven convert --list` lists all)"#);
    assert_snapshot!(refused(format!("{{\"format\": \"{long}\"}}")).replace(&"n".repeat(199), "n…n"), @r#"error: [dir]/p.json: of no known format, and not a breakeven profile: its "format" is "n…nn…"; a profile begins {"format": "breakeven-profile", "version": 1 (--from; `breakeven convert --list` lists all)"#);
    assert_snapshot!(refused(&long), @"error: [dir]/p.json: of no known format, and not a breakeven profile: it is not JSON (--from; `breakeven convert --list` lists all)");
}

#[test]
fn utf_16() {
    assert_snapshot!(refused(b"\xff\xfe{\0}\0"), @"error: [dir]/p.json: of no known format, and not a breakeven profile: it is UTF-16 text; save it as UTF-8 (--from; `breakeven convert --list` lists all)");
}

#[test]
fn no_file() {
    let directory = directory();
    let missing = directory.path().join("p.json");
    assert_snapshot!(refused_path(&missing, directory.path()), @"error: [dir]/p.json: cannot be opened: No such file or directory (os error 2)");
    assert_snapshot!(refused_path(directory.path(), directory.path()), @"error: [dir]: the folder holds no results of a tool that is known; name a file in it");
}

/// Not bad, but what costs its square costs minutes here.
#[test]
fn many_operations_take_little_time() {
    let directory = directory();
    let file = directory.path().join("p.json");
    let operation = |n| {
        format!(
            "{{\"name\": \"f{}\", \"size\": {n}, \"samples_ns\": [9]}}",
            n / 2
        )
    };
    let all: Vec<String> = (0..20_000).map(operation).collect();
    fs::write(&file, operations(&all.join(",\n")) + "]}").unwrap();
    for command in COMMANDS {
        let (exit, out, err, took) = run(command, &file);
        assert_eq!(exit, 0, "{command}: {err}");
        // A page goes into a file.
        let page = file.with_extension("html");
        assert!(!out.is_empty() || page.exists(), "{command}");
        assert!(took < AT_ONCE, "{command}: {took:?}");
    }
}

/// A page as wide as the name would take minutes.
#[test]
fn a_long_name_on_a_wide_page_takes_little_time() {
    let directory = directory();
    let file = directory.path().join("p.json");
    let operation = |c: &str| {
        format!(
            "{{\"name\": \"{}\", \"samples_ns\": [9]}}",
            c.repeat(65_536)
        )
    };
    let all = ["a", "b", "c"].map(operation).join(",");
    fs::write(&file, operations(&all) + "]}").unwrap();
    let start = Instant::now();
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_breakeven"))
        .env("COLUMNS", "70000")
        .arg("show")
        .arg(&file)
        .output()
        .unwrap();
    assert!(shown.status.success(), "{shown:?}");
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

/// 512 MiB of address space: the program itself takes most of it.
#[test]
#[cfg(target_os = "linux")]
fn the_largest_of_these_take_little_memory() {
    let directory = directory();
    let long = "n".repeat(10 << 20);
    let deep = "[".repeat(10 << 20);
    for content in [
        operations(&format!("{{\"name\": \"{long}\"}}]}}")),
        operations(&format!(
            "{{\"name\": \"f\", \"attributes\": {{\"a\": {deep}"
        )),
        format!("{{\"{long}\": 1}}"),
    ] {
        let file = directory.path().join("p.json");
        fs::write(&file, content).unwrap();
        for command in COMMANDS {
            let limited = std::process::Command::new("sh")
                .args(["-c", "ulimit -v 524288 && exec \"$0\" \"$@\""])
                .arg(env!("CARGO_BIN_EXE_breakeven"))
                .args(
                    command
                        .replace("FILE", file.to_str().unwrap())
                        .split_whitespace(),
                )
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&limited.stderr);
            assert_eq!(limited.status.code(), Some(2), "{command}: {said}");
            assert!(said.starts_with("error: /"), "{command}: {said}");
        }
    }
}

/// A pipe whose reader has gone, as of `breakeven … | head`.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let directory = directory();
    let file = directory.path().join("p.json");
    fs::write(
        &file,
        operations(&format!(
            "{{\"name\": \"f\", \"runs\": [{}]}}]}}",
            ["{\"samples_ns\": [1, 2]}"; 4].join(",")
        )),
    )
    .unwrap();
    let formats = ["table", "json", "markdown", "github", "junit"];
    let mut commands: Vec<String> = COMMANDS.map(str::to_owned).into();
    commands.extend(formats.map(|format| format!("compare FILE FILE --format {format}")));
    commands
        .extend(["json", "markdown", "csv"].map(|format| format!("show FILE --format {format}")));
    for command in commands {
        let mut said = Vec::new();
        let exit = breakeven_cli::run(words(&command, &file), &mut Closed, &mut said);
        let said = String::from_utf8_lossy(&said);
        // What writes only a file is done.
        let is_right = matches!(exit, 141 | 0);
        assert!(is_right && said.is_empty(), "{command}: {exit:?}, {said}");
    }
}

/// Every count is the greatest that a file can hold, and there are two of each.
#[test]
fn the_greatest_counts() {
    const MOST: u64 = u64::MAX;
    const LONGEST: u64 = 1 << 63;
    let moments =
        format!(r#"{{"count": {MOST}, "total": 1.8e19, "mean": 1, "m2": 0, "min": 1, "max": 1}}"#);
    let one_run = format!(
        r#"{{"samples_ns": [1], "moments": {moments}, "nested_calls": {MOST}, "memory_bytes": {MOST}}}"#
    );
    let operation = format!(
        r#"{{"name": "f", "items": {MOST}, "bytes": {MOST}, "flops": {MOST}, "runs": [{one_run}, {one_run}],
        "attributes": {{"device_memory": {{"calls": {MOST}, "hits": {MOST}, "reserved_bytes": {MOST}}}}}}}"#
    );
    let other = operation.replace("\"f\"", "\"g\"");
    let stack = |frames: &str| {
        format!(
            r#"{{"frames": [{frames}], "calls": {MOST}, "total_ns": {LONGEST}, "self_ns": {LONGEST}}}"#
        )
    };
    let event = format!(r#"{{"name": "f", "start_ns": {LONGEST}, "duration_ns": {LONGEST}}}"#);
    let stream =
        format!(r#"{{"stream": "1", "busy_ns": {LONGEST}, "kernels": {MOST}, "copies": {MOST}}}"#);
    let activity = format!(
        r#"{{"device": "cpu", "span_ns": {LONGEST}, "busy_ns": {LONGEST}, "kernels": {MOST},
        "streams": [{stream}, {stream}]}}"#
    );
    let profile = operations(&format!("{operation}, {other}], "))
        + &format!(
            r#""stacks": [{}, {}, {}], "timeline": {{"dropped": {MOST}, "events": [{event}, {event}]}},
            "activity": [{activity}, {activity}],
            "environment": {{"recorder": {{"guard_ns": 1, "inside_ns": 1}}}}}}"#,
            stack(r#""f""#),
            stack(r#""g""#),
            stack(r#""g", "f""#),
        );
    let directory = directory();
    let file = directory.path().join("p.json");
    fs::write(&file, profile).unwrap();
    let further = [
        "show FILE --format csv",
        "compare FILE FILE --metric calls",
        "compare FILE FILE --metric throughput",
    ];
    for command in COMMANDS.into_iter().chain(further) {
        let (exit, _, err, _) = run(command, &file);
        assert_ne!(exit, 2, "{command}: {err}");
    }
}
