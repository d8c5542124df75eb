//! `breakeven advise`: what it prints in every format, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::command::{Breakeven, Ended, directory, line};

fn data(name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    data.join(name)
}

fn command(args: &str) -> Breakeven {
    line("advise").args(args)
}

fn advise(file: &Path, args: &str) -> Ended {
    command(args).arg(file).run()
}

#[track_caller]
fn narrow(table: &str) {
    assert!(!table.contains('\u{1b}'), "colours in a pipe");
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
}

#[test]
fn a_programs_table() {
    let table = advise(&data("program.json"), "").quietly(0).stdout;
    narrow(&table);
    assert_snapshot!(table);
}

/// A program's profile with one large call on the CPU, on that processor.
fn one_large_call(directory: &Path, model: &str) -> PathBuf {
    let path = directory.join("app.json");
    let profile = format!(
        r#"{{"format": "breakeven-profile", "version": 1, "environment": {{"cpu": {{"model": "{model}"}}}},
        "operations": [{{"name": "blur", "device": "cpu", "size": 65536, "memory_bytes": 524288,
        "samples_ns": [20000000, 20100000, 19900000]}}]}}"#
    );
    fs::write(&path, profile).unwrap();
    path
}

#[test]
fn the_evidence_of_a_sweep_replaces_the_rule_of_thumb() {
    let directory = directory();
    let app = one_large_call(directory.path(), "A");
    let sweep = |size: &str| {
        let path = directory.path().join("sweep.json");
        let profile = format!(
            r#"{{"format": "breakeven-profile", "version": 1, "environment": {{"cpu": {{"model": "A"}},
            "gpus": [{{"id": "cuda:0", "kind": "discrete"}}]}}, "operations": [], "evidence":
            {{"break_even": [{{"operation": "blur", "device": "cuda:0", "over": "cpu",{size}
            "tested_to": 1000000}}]}}}}"#
        );
        fs::write(&path, profile).unwrap();
        path
    };
    let with = |app: &Path, sweep: &Path| command("--evidence").arg(sweep).arg(app).run();
    let alone = advise(&app, "").quietly(0).said();
    assert!(alone.contains("may be worth a GPU's launch"), "{alone}");
    let pays = with(
        &app,
        &sweep(r#""size": 30000, "interval": [28000, 33000],"#),
    );
    let pays = pays.quietly(0).said();
    assert!(
        pays.contains("cuda:0 does this faster than the CPU"),
        "{pays}"
    );
    let never = with(&app, &sweep("")).quietly(0).said();
    assert!(!never.contains("GPU's launch"), "{never}");
    assert!(!never.contains("faster than the CPU"), "{never}");

    let elsewhere = one_large_call(directory.path(), "B");
    let refused = with(&elsewhere, &sweep("")).refusal();
    let refused = refused.replace(directory.path().to_str().unwrap(), "[dir]");
    assert_snapshot!(refused, @"error: [dir]/sweep.json: its evidence is from another machine: the processor is A there, B in [dir]/app.json");
}

#[test]
fn a_programs_markdown() {
    let ended = advise(&data("program.json"), "--format markdown --top 3");
    assert_snapshot!(ended.quietly(0).stdout);
}

#[test]
fn a_programs_json() {
    let ended = advise(&data("program.json"), "--format json --top 2").quietly(0);
    ended.json();
    assert_snapshot!(ended.stdout);
}

#[test]
fn a_benchmarks_table() {
    let table = advise(&data("sample.json"), "").quietly(0).stdout;
    narrow(&table);
    assert_snapshot!(table);
}

#[test]
fn fewer_suggestions_say_so() {
    let two = advise(&data("program.json"), "--top 2").quietly(0);
    assert_eq!(two.lines_with("    why ").len(), 2);
    assert_eq!(two.lines_with("… and 8 more").len(), 1, "{two:#?}");
    let critical = advise(&data("program.json"), "--critical").quietly(0);
    assert_eq!(critical.lines_with("0 of 10 suggestions").len(), 1);
    let critical = advise(&data("sample.json"), "--critical").quietly(0);
    assert_eq!(critical.lines_with("CRITICAL").len(), 1, "{critical:#?}");
}

#[test]
fn no_advice_says_what_was_looked_at() {
    let directory = directory();
    let file = directory.path().join("quick.json");
    let text = r#"{"format": "breakeven-profile", "version": 1, "operations": [
        {"name": "decode", "samples_ns": [812000, 799000]},
        {"name": "broken", "failure": {"kind": "crash", "message": "gone"}}]}"#;
    fs::write(&file, text).unwrap();
    assert_snapshot!(advise(&file, "").quietly(0).stdout, @r"
    No advice: 7 rules examined 1 operation, and none applied.
    Not examined: 1 failed.
    ");
    fs::write(&file, r#"{"format": "breakeven-profile", "version": 1}"#).unwrap();
    for format in ["table", "json", "markdown"] {
        advise(&file, &format!("--format {format}")).quietly(0);
    }
}

#[test]
fn the_same_profile_gives_the_same_advice() {
    for format in ["table", "json", "markdown"] {
        let args = format!("--format {format}");
        let printed = || advise(&data("program.json"), &args).quietly(0).stdout;
        assert_eq!(printed(), printed());
    }
}

#[test]
fn into_a_file() {
    let directory = directory();
    let file = directory.path().join("advice");
    let ended = command("--format markdown")
        .env("CLICOLOR_FORCE", "1")
        .args("-o")
        .arg(&file)
        .arg(data("program.json"))
        .run();
    assert_eq!(ended.quietly(0).stdout, "");
    let printed = advise(&data("program.json"), "--format markdown").stdout;
    assert_eq!(fs::read_to_string(&file).unwrap(), printed);
    let table = command("-o").arg(&file).arg(data("program.json"));
    table.run().quietly(0);
    narrow(&fs::read_to_string(&file).unwrap());
}

#[test]
fn names_from_anywhere() {
    let directory = directory();
    let file = directory.path().join("odd.json");
    let long = "a_name_that_somebody_found_good_".repeat(6);
    let text = format!(
        r#"{{"format": "breakeven-profile", "version": 1, "operations": [
        {{"name": "a\u001b]0;title\u0007\nb | c", "device": "cuda:\u009b1", "samples_ns": [1000, 1001]}},
        {{"name": "{long}", "device": "cuda:{long}", "samples_ns": [1000, 1001]}}]}}"#
    );
    fs::write(&file, text).unwrap();
    for format in ["table", "markdown", "json"] {
        let printed = advise(&file, &format!("--format {format}"))
            .quietly(0)
            .stdout;
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!printed.contains(obeyed), "{format}: {printed:?}");
        if format == "table" {
            narrow(&printed);
        }
    }
}

#[test]
fn wrong_use_and_unreadable_files() {
    let user = directory();
    let refused = |args: &str| command(args).run().refusal();
    assert!(refused("").contains("<FILE>"));
    assert!(refused("a.json --top 0").contains("1 or more"));
    assert_snapshot!(
        refused("nowhere.json"),
        @"error: nowhere.json: cannot be opened: No such file or directory (os error 2)"
    );
    let file = user.path().join("bad.json");
    for (text, said) in [
        ("", "empty"),
        ("{\"format\": \"other\"}", "not a breakeven profile"),
        (
            "{\"format\": \"breakeven-profile\", \"version\": 9}",
            "version 9",
        ),
        ("{\"format\": \"breakeven-profile\", \"ver", "ends"),
    ] {
        fs::write(&file, text).unwrap();
        let one = command("").arg(&file).run().refusal();
        assert!(one.contains(said), "{one}");
    }
    let missing = user.path().join("none/advice.json");
    let unwritable = command("-o").arg(missing);
    assert!(
        unwritable
            .arg(data("program.json"))
            .run()
            .refusal()
            .contains("cannot be used")
    );
}

#[test]
fn the_repetitions_of_a_benchmark_tool_are_no_calls_to_batch() {
    let folder = directory();
    let file = folder.path().join("hyperfine.json");
    let times = vec!["0.0005"; 200].join(", ");
    let results = format!(r#"{{"results": [{{"command": "tool", "times": [{times}]}}]}}"#);
    fs::write(&file, results).unwrap();
    let printed = advise(&file, "").quietly(0).stdout;
    for rule in ["BATCHING", "CACHING"] {
        assert!(!printed.contains(rule), "{printed}");
    }
    // Nor after it was converted.
    let converted = folder.path().join("profile.json");
    let command = line("convert").arg(&file).arg("--output").arg(&converted);
    command.run().quietly(0);
    let printed = advise(&converted, "").quietly(0).stdout;
    assert!(!printed.contains("BATCHING"), "{printed}");
}
