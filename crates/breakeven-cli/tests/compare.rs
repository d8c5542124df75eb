//! `breakeven compare`: formats, exit codes, wrong use.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::command::{Ended, directory, line};

/// Relative places of five runs: a deviation of 1, mean 0.
const FIVE: [f64; 5] = [-1.265, -0.632, 0.0, 0.632, 1.265];

/// An operation of a profile file: its runs differ by this relative deviation.
pub(crate) fn operation(name: &str, median_ns: f64, deviation: f64, more: &str) -> String {
    let runs: Vec<String> = FIVE
        .iter()
        .map(|place| {
            let sample = (median_ns * (deviation * place).exp()).round();
            format!("{{\"samples_ns\": {:?}}}", [sample; 5])
        })
        .collect();
    format!(
        "{{\"name\": \"{name}\"{more}, \"runs\": [{}]}}",
        runs.join(", ")
    )
}

/// An operation whose runs hardly differ.
pub(crate) fn steady(name: &str, median_ns: f64) -> String {
    operation(name, median_ns, 0.01, "")
}

pub(crate) fn write(directory: &Path, name: &str, operations: &[String]) {
    let environment = "{\"revision\": \"4f2a91c\", \"build_profile\": \"release\", \"gpus\": \
                       [{\"id\": \"vulkan:llvmpipe\", \"kind\": \"software\"}]}";
    let text = format!(
        "{{\"format\": \"breakeven-profile\", \"version\": 1, \"created\": \
         \"2026-01-02T03:04:05Z\", \"environment\": {environment}, \"operations\": [{}]}}",
        operations.join(",\n")
    );
    fs::write(directory.join(name), text).unwrap();
}

/// `a.json` and `b.json`, where there is one operation of each verdict.
pub(crate) fn sample() -> TempDir {
    let directory = directory();
    let device = |size| format!(", \"device\": \"vulkan:llvmpipe\", \"size\": {size}");
    let memory = |bytes| format!(", \"memory_bytes\": {bytes}");
    let before = [
        steady("decode", 8e6),
        operation("conv2d", 1.2e6, 0.01, &memory(524_288)),
        operation("matmul", 3e6, 0.01, &device(65_536)),
        operation("resize", 5e6, 0.15, ""),
        steady("blend", 3e5),
        steady("old", 1e6),
    ];
    let after = [
        steady("decode", 6e6),
        operation("conv2d", 1.4e6, 0.01, &memory(1_048_576)),
        operation("matmul", 4e6, 0.01, &device(65_536)),
        operation("resize", 5.4e6, 0.15, ""),
        steady("blend", 3.05e5),
        steady("new", 1e6),
    ];
    write(directory.path(), "a.json", &before);
    write(directory.path(), "b.json", &after);
    directory
}

/// `breakeven` in a directory, with arguments in one line.
#[track_caller]
pub(crate) fn within(directory: &TempDir, args: &str) -> Ended {
    let mut breakeven = line(args);
    breakeven.command.current_dir(directory);
    breakeven.run()
}

#[test]
fn table() {
    let table = within(&sample(), "compare a.json b.json").quietly(0).stdout;
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
    assert!(!table.contains('\u{1b}'), "colours in a pipe");
    assert_snapshot!(table);
}

#[test]
fn table_of_a_gate() {
    let sample = sample();
    assert_snapshot!(
        within(&sample, "compare a.json b.json --gate")
            .quietly(1)
            .stdout
    );
}

#[test]
fn markdown() {
    let args = "compare a.json b.json --gate --format markdown";
    assert_snapshot!(within(&sample(), args).quietly(1).stdout);
}

#[test]
fn json() {
    let args = "compare a.json b.json --gate --format json";
    assert_snapshot!(within(&sample(), args).quietly(1).stdout);
}

#[test]
fn junit() {
    let args = "compare a.json b.json --gate --format junit";
    assert_snapshot!(within(&sample(), args).quietly(1).stdout);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let sample = sample();
    let forced = |format: &str| {
        let mut breakeven = line("compare a.json b.json --format").arg(format);
        breakeven.command.current_dir(&sample);
        let coloured = breakeven.env("CLICOLOR_FORCE", "1").env("TERM", "xterm");
        coloured.run().quietly(0).stdout
    };
    assert!(forced("table").contains("\u{1b}["));
    for format in ["json", "markdown", "github", "junit"] {
        assert!(!forced(format).contains('\u{1b}'), "{format}");
    }
}

#[test]
fn several_files_a_side() {
    let sample = sample();
    for name in ["a2.json", "b2.json"] {
        fs::copy(sample.path().join("a.json"), sample.path().join(name)).unwrap();
    }
    let args = "compare --baseline a.json a2.json --current b.json b2.json --format json";
    let found = within(&sample, args).quietly(0).json();
    assert_eq!(found["operations"][0]["baseline_runs"], 10);
    assert_eq!(found["operations"][0]["current_runs"], 10);
    let table = within(
        &sample,
        "compare --baseline a.json a2.json --current b.json",
    )
    .quietly(0);
    assert!(
        table
            .stdout
            .starts_with("baseline  a.json and 1 more · 10 runs")
    );
}

/// One table of exit codes: what is in `b.json`, what is allowed, how it ends.
#[test]
fn exit_codes_of_the_gate() {
    let directory = directory();
    let noisy = || operation("noisy", 1e6, 0.3, "");
    let (f, g) = (steady("f", 1e6), steady("g", 1e6));
    write(directory.path(), "a.json", &[f.clone(), g.clone(), noisy()]);
    for (current, args, code) in [
        (vec![f.clone(), g.clone(), noisy()], "", 0),
        (vec![f.clone(), g.clone(), noisy()], "--require-decided", 3),
        (vec![noisy()], "--allow-missing", 3),
        (vec![f.clone(), noisy()], "--require-decided", 2),
        (vec![f.clone(), noisy()], "--allow-missing", 0),
        (
            vec![f.clone(), noisy()],
            "--allow-missing --require-decided",
            3,
        ),
        // A regression goes before what is missing, and that before the unknown.
        (vec![steady("f", 2e6), noisy()], "", 1),
        (
            vec![steady("f", 2e6), noisy()],
            "--allow-missing --require-decided",
            1,
        ),
        (vec![steady("f", 5e5), g.clone()], "--allow-missing", 0),
        (vec![steady("other", 1e6)], "--allow-missing", 2),
        (vec![], "--allow-missing", 2),
    ] {
        write(directory.path(), "b.json", &current);
        let ended = within(&directory, &format!("compare a.json b.json --gate {args}"));
        assert_eq!(ended.code, Some(code), "{args}: {ended:#?}");
    }
    write(directory.path(), "b.json", &[steady("f", 2e6), noisy()]);
    within(&directory, "compare a.json b.json").quietly(0);
}

#[test]
fn budgets_are_held_with_and_without_a_gate() {
    let sample = sample();
    let with = |text: &str, args: &str| {
        fs::write(sample.path().join("budget.toml"), text).unwrap();
        within(
            &sample,
            &format!("compare a.json b.json --budget budget.toml {args}"),
        )
    };
    let budget = |name: &str, limit: &str| format!("[[budget]]\noperation = \"{name}\"\n{limit}\n");
    let over = with(&budget("blend", "max = \"200 us\""), "").quietly(1);
    assert_eq!(over.lines_with("  over  ").len(), 1, "{over:#?}");
    assert_eq!(over.lines_with("exceeds its budget").len(), 1, "{over:#?}");
    with(&budget("blend", "max = \"2 ms\""), "").quietly(0);
    let idle = with(&budget("nope", "max = \"2 ms\""), "").quietly(2);
    assert_eq!(
        idle.lines_with("\"nope\" applies to no operation").len(),
        1,
        "{idle:#?}"
    );
    // 1.7 % is no change within 5 %, and one beyond 1 %.
    let kind = |text: &str| {
        let found = with(text, "--format json").quietly(0).json();
        found["operations"][4]["change_type"].clone()
    };
    assert_eq!(kind(&budget("blend", "max_increase = 0.1")), "NO_CHANGE");
    assert_eq!(kind(&budget("blend", "max_increase = 0.01")), "REGRESSION");
}

#[test]
fn options_reach_the_verdict() {
    let directory = directory();
    let one = |ns: u64| {
        vec![format!(
            "{{\"name\": \"f\", \"samples_ns\": {:?}}}",
            [ns; 9]
        )]
    };
    write(directory.path(), "a.json", &one(1_000_000));
    write(directory.path(), "b.json", &one(1_200_000));
    let code = |args: &str| {
        let ended = within(&directory, &format!("compare a.json b.json --gate {args}"));
        assert_eq!(ended.stderr, "", "{ended:#?}");
        ended.code
    };
    assert_eq!(code(""), Some(3));
    assert_eq!(code("--plain-threshold"), Some(1));
    assert_eq!(code("--plain-threshold --threshold 25%"), Some(0));
    assert_eq!(code("--plain-threshold --metric p99"), Some(1));
    assert_eq!(code("--plain-threshold --metric throughput"), Some(1));
}

#[test]
fn the_format_goes_to_a_file_and_the_table_is_printed() {
    let sample = sample();
    let ended = within(
        &sample,
        "compare a.json b.json --format junit -o report.xml",
    )
    .quietly(0);
    assert!(ended.stdout.contains("IMPROVEMENT\n"), "{ended:#?}");
    let written = fs::read_to_string(sample.path().join("report.xml")).unwrap();
    assert!(written.starts_with("<?xml"), "{written}");
    let table = within(&sample, "compare a.json b.json -o table.txt").quietly(0);
    let written = fs::read_to_string(sample.path().join("table.txt")).unwrap();
    assert_eq!(written, table.stdout);
}

#[test]
fn wrong_use() {
    let sample = sample();
    let refused = |args: &str| within(&sample, args).refusal();
    assert_snapshot!(refused("compare a.json missing.json"), @"error: missing.json: cannot be opened: No such file or directory (os error 2)");
    assert_snapshot!(refused("compare a.json b.json -o missing/x.md"), @"error: missing/x.md: the directory missing cannot be used: No such file or directory (os error 2)");
    assert_snapshot!(refused("compare --baseline a.json ./a.json --current b.json"), @"error: ./a.json is named twice on one side");
    assert_snapshot!(refused("compare a.json a.json --gate"), @"error: a.json is on both sides; name the baseline and the new profile");
    assert_snapshot!(refused("compare a.json b.json --metric memory --threshold 2000%"), @r"
    error: invalid value '2000%' for '--threshold <FRACTION>': threshold is 2000; it must be from 0.1 to 1000, in percent (5.0 is 5 %)

    For more information, try '--help'.
    ");
    for (args, message) in [
        ("compare a.json", "<CURRENT>"),
        ("compare --baseline a.json", "--current <FILE>..."),
        ("compare a.json b.json --allow-missing", "--gate"),
        (
            "compare a.json b.json --threshold 5",
            "5 is 500 %; did you mean 5%?",
        ),
        (
            "compare a.json b.json --threshold nan",
            "give a fraction above zero",
        ),
        (
            "compare a.json b.json --alpha -1",
            "give a fraction above zero",
        ),
        (
            "compare a.json b.json --metric speed",
            "time, median, mean, p95, p99, total, memory, energy, calls, throughput",
        ),
    ] {
        let said = refused(args);
        assert!(said.contains(message), "{args}: {said}");
    }
    // Comparing a file with itself is fine where nothing hangs on it.
    within(&sample, "compare a.json a.json").quietly(0);
}

#[test]
fn input_from_which_no_verdict_follows() {
    let directory = directory();
    let refused = |baseline: &[String], current: &[String]| {
        write(directory.path(), "a.json", baseline);
        write(directory.path(), "b.json", current);
        within(&directory, "compare a.json b.json").refusal()
    };
    let f = || vec![steady("f", 1e6)];
    assert_snapshot!(refused(&[], &f()), @"error: the baseline holds no operations; measure again, or name another file");
    assert_snapshot!(refused(&f(), &[]), @"error: the current side holds no operations; measure again, or name another file");
    assert_snapshot!(refused(&f(), &[steady("g", 1e6)]), @"error: no operation is on both sides: the baseline has f on cpu, and the current side g on cpu; an operation is identified by name, device and size");
    assert_snapshot!(refused(&f(), &[steady("f", 0.0)]), @"error: every operation on both sides has a run with a time of 0 ns, which is below the clock's resolution; measure more work in a call");
    assert_snapshot!(refused(&f(), &[steady("f", -5.0)]), @"error: b.json: operations[0].runs[0].samples_ns[0]: -5 ns is not a time; times are from 0 to 2^63 ns");
}

#[test]
fn what_a_terminal_would_obey_is_not_printed() {
    let directory = directory();
    let odd = r"a\u001b]0;title\u0007\nb|<c>";
    write(directory.path(), "a.json", &[operation(odd, 1e6, 0.3, "")]);
    write(directory.path(), "b.json", &[operation(odd, 3e6, 0.3, "")]);
    for format in ["table", "markdown", "junit", "json"] {
        let args = format!("compare a.json b.json --gate --format {format}");
        let printed = within(&directory, &args).quietly(1).stdout;
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!printed.contains(obeyed), "{format}: {printed:?}");
    }
    write(directory.path(), "b.json", &[operation("b", 3e6, 0.3, "")]);
    let said = within(&directory, "compare a.json b.json").refusal();
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn names_as_long_as_can_be_keep_to_the_width() {
    let directory = directory();
    let long = "a_name_that_somebody_found_good_".repeat(30);
    let device = format!(", \"device\": \"{long}\", \"workload\": \"{long}\"");
    for (name, ns) in [("a.json", 1.0), ("b.json", 9e17)] {
        let operation = operation(&long, ns, 0.0, &device);
        write(directory.path(), name, &[operation]);
    }
    let table = within(&directory, "compare a.json b.json --gate").quietly(1);
    for line in table.stdout.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
}
