//! Files of other tools, where commands read profiles. `tests/data/import` has two sides of
//! real files of three tools, taken in turns: `old`, `same` (the same program again) and
//! `slow` (twice the work). The README of breakeven-import's `tests/data` names the tools.

use std::fs;
use std::path::{Path, PathBuf};

use breakeven_profile::file;
use insta::assert_snapshot;

use crate::command::{Ended, breakeven, directory, line};
use crate::compare::{steady, within, write};

fn data(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/import");
    folder.join(name)
}

/// The files of a side: `NAME-SIDE.END`, or `NAME-SIDE-1.END` and so on.
fn side(name: &str, side: &str) -> Vec<PathBuf> {
    let begin = format!("{name}-{side}");
    let all = fs::read_dir(data("")).unwrap();
    let all = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = all.filter(|name| name.starts_with(&begin)).collect();
    files.sort();
    assert!(!files.is_empty(), "{begin}");
    files.iter().map(|name| data(name)).collect()
}

fn compared(name: &str, current: &str) -> Ended {
    let mut command = breakeven(["compare", "--baseline"]);
    for file in side(name, "old") {
        command = command.arg(file);
    }
    command = command.arg("--current");
    for file in side(name, current) {
        command = command.arg(file);
    }
    // The machine was busy: runs of the same program differ by a quarter.
    command.args("--gate --threshold 75%").run()
}

const TOOLS: [&str; 3] = ["go", "google-benchmark", "pyperf"];

#[test]
fn a_gate_fails_where_the_program_does_twice_the_work() {
    for tool in TOOLS {
        let ended = compared(tool, "slow").quietly(1);
        assert!(ended.stdout.contains("REGRESSION"), "{}", ended.stdout);
    }
}

#[test]
fn a_gate_passes_where_the_program_is_the_same() {
    for tool in TOOLS {
        let ended = compared(tool, "same").quietly(0);
        assert!(ended.stdout.contains("unchanged"), "{}", ended.stdout);
    }
}

#[test]
fn repetitions_of_one_process_decide_nothing() {
    let directory = directory();
    let line = |ns: u32| format!("BenchmarkA-8 100 {ns} ns/op\n");
    let side = |base: u32| {
        (0..20)
            .map(|each| line(base + each % 3))
            .collect::<String>()
    };
    fs::write(directory.path().join("old.txt"), side(100)).unwrap();
    fs::write(directory.path().join("new.txt"), side(150)).unwrap();
    let mut command = crate::command::line("compare old.txt new.txt --gate");
    command.command.current_dir(&directory);
    let ended = command.run();
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert_snapshot!(ended.stderr);
    assert!(ended.stdout.contains("INCONCLUSIVE"), "{}", ended.stdout);
}

#[test]
fn a_history_reports_the_noise_of_a_single_run() {
    let directory = directory();
    let entries: Vec<String> = [98, 103, 100, 97, 104, 101, 99, 102]
        .iter()
        .enumerate()
        .map(|(n, ns)| {
            format!(
                r#"{{"commit": {{"id": "c{n}"}}, "date": {n}, "benches": [{{"name": "BenchmarkA-8", "value": {ns}, "unit": "ns/op"}}]}}"#
            )
        })
        .collect();
    let entries = entries.join(", ");
    let history =
        format!(r#"window.BENCHMARK_DATA = {{"lastUpdate": 1, "entries": {{"Go": [{entries}]}}}}"#);
    fs::write(directory.path().join("data.js"), history).unwrap();
    for (name, ns) in [("old", 100), ("new", 150)] {
        let text = format!("BenchmarkA-8 100 {ns} ns/op\n");
        fs::write(directory.path().join(format!("{name}.txt")), text).unwrap();
    }
    let run = |args: &str| {
        let mut command = line("compare old.txt new.txt --gate");
        command.command.current_dir(&directory);
        command.args(args).run()
    };
    assert_eq!(run("").code, Some(3));
    let ended = run("--history data.js");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
}

#[test]
fn converting_keeps_a_profile() {
    let directory = directory();
    let output = directory.path().join("kept.json");
    let mut import = breakeven(["convert"]);
    for file in side("google-benchmark", "old") {
        import = import.arg(file);
    }
    import.arg("-o").arg(&output).run().quietly(0);
    let kept = file::read(&output).unwrap();
    assert_eq!(kept.operations[0].runs.len(), 6);
    assert_eq!(kept.environment.host, None);
    line("show").arg(&output).run().quietly(0);
    let list = line("convert --list").run().quietly(0).stdout;
    assert!(list.contains("go test -bench"), "{list}");
}

#[test]
fn a_table_is_read_by_its_columns() {
    let directory = directory();
    let side = |factor: f64| {
        let row = |run: u32| format!("f;{};{run}\n", factor * (1.0 + f64::from(run) / 100.0));
        let rows: String = (0..5).map(row).collect();
        format!("case;wall;process\n{rows}")
    };
    fs::write(directory.path().join("old.csv"), side(10.0)).unwrap();
    fs::write(directory.path().join("new.csv"), side(20.0)).unwrap();
    let run = |args: &str| {
        let mut command = line("compare old.csv new.csv --gate");
        command.command.current_dir(&directory);
        command.args(args).run()
    };
    run("--columns name=case,time=wall,unit=ms,run=process").quietly(1);
    assert_snapshot!(run("").refusal());
    assert_snapshot!(run("--columns name=case,time=wal,unit=ms").refusal());
    assert_snapshot!(run("--columns name=case,time=wall,unit=parsec").refusal());
    assert_snapshot!(run("--columns name=case").refusal());
    let refusal = run("--from pyperff").refusal();
    assert!(refusal.contains("did you mean \"pyperf\"?"), "{refusal}");
}

/// They were ignored.
#[test]
fn options_of_a_format_need_a_file_of_it() {
    let directory = directory();
    write(directory.path(), "a.json", &[steady("f", 1e6)]);
    fs::write(directory.path().join("b.folded"), "a;b 5\na;c 7\n").unwrap();
    let refused = |args| within(&directory, args).refusal();
    assert_snapshot!(refused("show a.json --unit ms"), @"error: --unit is for files of the format collapsed, and there is none");
    assert_snapshot!(refused("convert a.json --to csv --columns name=n,time=t,unit=ms"), @"error: --columns is for files of the format table, and there is none");
    let mixed = within(&directory, "compare a.json b.folded --unit ms").refusal();
    assert!(mixed.contains("no operation is on both sides"), "{mixed}");
}
