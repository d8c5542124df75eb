//! `breakeven history`: from the first entry to an alert, and what is refused.

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::command::{directory, skipped};
use crate::compare::{steady, within, write};

/// A history of forty commits: `decode` takes 8 ms and from commit 25 on 9 ms, `encode` 3 ms
/// and from commit 12 to 21 3.6 ms.
fn forty() -> TempDir {
    let directory = directory();
    for number in 0..40u32 {
        let noise = 1.0 + 0.01 * f64::from(number * 7_919 % 13) / 13.0;
        let decode = if number < 25 { 8e6 } else { 9e6 };
        let encode = if (12..22).contains(&number) {
            3.6e6
        } else {
            3e6
        };
        let operations = [
            steady("decode", decode * noise),
            steady("encode", encode * noise),
        ];
        add(&directory, number, &operations);
    }
    directory
}

fn add(directory: &TempDir, number: u32, operations: &[String]) {
    write(directory.path(), "new.json", operations);
    let (month, day) = (3 + number / 28, 1 + number % 28);
    let added = format!(
        "history add new.json --at c{number:03} --branch main --date 2026-{month:02}-{day:02}T12:00:00Z"
    );
    within(directory, &added).quietly(0);
}

#[test]
fn what_changed_when_and_what_is_still_there() {
    let directory = forty();
    let run = |line: &str, code| within(&directory, line).quietly(code).stdout;
    assert_snapshot!("changes", run("history changes", 0));
    assert_snapshot!("overview", run("history show", 0));
    assert_snapshot!("encode", run("history show encode", 0));
    assert_snapshot!(
        "markdown",
        run("history changes --open --format markdown", 0)
    );
    let list = run("history list", 0);
    assert_eq!(list.lines().count(), 41, "{list}");
    // The gate is about alerts, and accepting one closes it.
    run("history changes --gate", 1);
    assert_snapshot!(run("history annotate --at c025 more-accurate --accept", 0), @"accepted entry 26: c025, 2026-03-26 12:00, 2 operation(s)");
    run("history changes --gate", 0);
    assert_snapshot!("accepted", run("history changes decode", 0));
}

#[test]
fn the_newest_value_alone_is_reported() {
    let directory = forty();
    add(&directory, 40, &[steady("decode", 20e6)]);
    let changes = within(&directory, "history changes decode --open --gate").quietly(1);
    assert_snapshot!(changes.stdout);
}

#[test]
fn values_and_entries_are_exported() {
    let directory = forty();
    let run = |line: &str| within(&directory, line).quietly(0).stdout;
    let csv = run("history export");
    assert_eq!(csv.lines().count(), 81);
    assert_snapshot!(csv.lines().take(2).collect::<Vec<_>>().join("\n"));
    let json: serde_json::Value = serde_json::from_str(&run("history show --format json")).unwrap();
    assert_eq!(json["series"][1]["points"][39]["commit"], "c039");
    run("history export --entry 40 -o back.json");
    let read = |name: &str| breakeven_profile::file::read(&directory.path().join(name)).unwrap();
    assert_eq!(read("back.json").operations, read("new.json").operations);
    let json = run("history changes --format json");
    let changes: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(changes[0]["state"], "open");
    assert_eq!(changes[0]["after"]["commit"], "c025");
}

#[test]
fn a_history_reports_compare_how_much_runs_differ() {
    let directory = directory();
    // One run a side says nothing of noise; twenty entries do.
    for number in 0..20u32 {
        let noise = 1.0 + 0.01 * f64::from(number * 7_919 % 13) / 13.0;
        add(&directory, number, &[one_run(8e6 * noise)]);
    }
    write(directory.path(), "old.json", &[one_run(8e6)]);
    write(directory.path(), "new.json", &[one_run(9.6e6)]);
    within(&directory, "compare old.json new.json --gate").quietly(3);
    let line = "compare old.json new.json --gate --history breakeven-history.db";
    within(&directory, line).quietly(1);
    write(directory.path(), "new.json", &[one_run(8.01e6)]);
    within(&directory, line).quietly(0);
}

fn one_run(ns: f64) -> String {
    let samples = [0.99 * ns, ns, 1.01 * ns];
    format!(r#"{{"name": "decode", "runs": [{{"samples_ns": {samples:?}}}]}}"#)
}

#[test]
fn a_number_removes_one_entry_and_says_which() {
    let directory = directory();
    for (number, hash) in ["aaaa", "1f00", "12ab", "12cd"].into_iter().enumerate() {
        write(directory.path(), "new.json", &[steady("f", 1e6)]);
        let added = format!(
            "history add new.json --at {hash} --date 2026-03-0{}T12:00:00Z",
            number + 1
        );
        within(&directory, &added).quietly(0);
    }
    let run = |line: &str| within(&directory, line).quietly(0).stdout;
    let refused = |line: &str| within(&directory, line).refusal();
    assert_snapshot!(run("history remove 1"), @"removed entry 1: aaaa, 2026-03-01 12:00, 1 operation(s)");
    assert_snapshot!(run("history annotate --at 1f fine"), @"annotated entry 2: 1f00, 2026-03-02 12:00, 1 operation(s)");
    // Two commits begin with 12.
    let several = refused("history annotate --at 12 fine --accept");
    assert_snapshot!(several, @r#"error: "12" names 2 entries, which `breakeven history list` shows; give the number of one"#);
    assert_eq!(run("history list").lines().count(), 5);
    assert_snapshot!(run("history annotate 3 fine --accept"), @"accepted entry 3: 12ab, 2026-03-03 12:00, 1 operation(s)");
    assert_snapshot!(run("history remove 3 4"), @r"
    removed entry 3: 12ab, 2026-03-03 12:00, 1 operation(s)
    removed entry 4: 12cd, 2026-03-04 12:00, 1 operation(s)
    ");
    assert_snapshot!(refused("history remove 12cd"), @r"
    error: invalid value '12cd' for '<ENTRY>...': give the number of an entry, as `breakeven history list` has it

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("history remove 9"), @"error: there is no such entry in the history; `breakeven history list` names all");
    for line in [
        "history remove",
        "history annotate fine",
        "history remove --at 1f",
    ] {
        refused(line);
    }
}

#[test]
fn several_profiles_of_a_commit_are_the_runs_of_one_entry() {
    let directory = directory();
    for (name, ms) in [("a.json", 1.0), ("b.json", 1.1), ("c.json", 1.2)] {
        write(directory.path(), name, &[one_run(ms * 1e6)]);
    }
    let run = |line: &str| within(&directory, line).quietly(0).stdout;
    assert_snapshot!(run("history add a.json b.json c.json --at c0 --branch main"), @"a.json, b.json, c.json: added as entry 1 of c0, 1 operation(s)");
    let again = run("history add a.json b.json c.json --at c0 --branch main");
    assert!(
        again.contains("is already in the history, as entry 1"),
        "{again}"
    );
    let json: serde_json::Value = serde_json::from_str(&run("history show --format json")).unwrap();
    let points = json["series"][0]["points"].as_array().unwrap();
    assert_eq!((points.len(), &points[0]["runs"]), (1, &3.into()));
    assert_eq!(points[0]["value_ns"], 1.1e6);
}

#[test]
fn the_gate_fails_on_an_operation_that_failed_in_the_newest_entry() {
    let directory = forty();
    within(&directory, "history annotate --at c025 wanted --accept").quietly(0);
    let crashed = r#"{"name": "encode", "failure": {"kind": "crash", "message": "signal 11"}}"#;
    add(&directory, 40, &[steady("decode", 9e6), crashed.to_owned()]);
    let failed = within(&directory, "history changes --gate --open").quietly(1);
    assert_snapshot!(failed.stdout);
    within(&directory, "history changes decode --gate").quietly(0);
    let json = within(&directory, "history changes encode --open --format json").quietly(0);
    assert_snapshot!(json.stdout);
    // So is an entry in which everything failed.
    add(&directory, 41, &[crashed.to_owned()]);
    within(&directory, "history changes --gate").quietly(1);
    // It is over once it works again.
    add(
        &directory,
        42,
        &[steady("decode", 9e6), steady("encode", 3e6)],
    );
    within(&directory, "history changes --gate").quietly(0);
}

#[test]
fn entries_of_detached_checkouts_are_not_mixed_with_those_of_a_branch() {
    let directory = directory();
    for number in 0..40u32 {
        let (branch, ns) = match number % 4 {
            0 => ("topic", 2e6),
            _ => ("", 1e6),
        };
        let noise = 1.0 + 0.01 * f64::from(number * 7_919 % 13) / 13.0;
        write(directory.path(), "new.json", &[one_run(ns * noise)]);
        let added = format!("history add new.json --at c{number:03} --branch={branch}");
        let date = format!("--date 2026-03-01T12:{number:02}:00Z");
        within(&directory, &format!("{added} {date}")).quietly(0);
    }
    let run = |line: &str, code| within(&directory, line).quietly(code).stdout;
    run("history changes --gate", 0);
    let shown = run("history show decode --format json", 0);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["series"][0]["points"].as_array().unwrap().len(), 30);
    run("history show decode --branch topic", 0);
    // The noise is that of the detached entries, not the difference between branches.
    write(directory.path(), "old.json", &[one_run(1e6)]);
    write(directory.path(), "slow.json", &[one_run(1.2e6)]);
    run(
        "compare old.json slow.json --gate --history breakeven-history.db",
        1,
    );
    run(
        "report old.json --history breakeven-history.db -o report.html",
        0,
    );
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("c039") && !page.contains("c036"));
}

#[test]
fn a_commit_that_is_not_on_the_branch_gets_none() {
    let directory = directory();
    let git = |line: &str| {
        let git = Command::new("git")
            .args(line.split(' '))
            .current_dir(&directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output();
        git.is_ok_and(|ran| ran.status.success())
    };
    if !git("init -q -b main") {
        return skipped("there is no git");
    }
    let commit = "-c user.name=a -c user.email=a@b commit -q --allow-empty -m a";
    assert!(git(commit));
    // Its revision is 4f2a91c.
    write(directory.path(), "new.json", &[steady("f", 1e6)]);
    let run = |line: &str| {
        let added = within(&directory, line);
        assert_eq!(added.code, Some(0), "{added:#?}");
        let entries = within(&directory, "history list --format json").json();
        let last = entries.as_array().unwrap().last().unwrap();
        (added.stderr, last["branch"].clone())
    };
    let (said, branch) = run("history add new.json");
    assert!(branch.is_null(), "{branch}");
    assert_snapshot!(said, @"note: new.json: its commit 4f2a91c is not on main, which is checked out: it gets no branch; --branch names one");
    let (said, branch) = run("history add new.json --at HEAD");
    assert_eq!((&*said, branch.as_str()), ("", Some("main")));
}

#[test]
fn wrong_use_is_reported() {
    let directory = forty();
    let lines = [
        "history show --history none.db",
        "history show decod",
        "history show --branch topic",
        "history annotate --at c999 text",
        "history export --entry 99 -o x.json",
        "history export --entry c00 -o x.json",
        "history changes --history new.json",
        "history add new.json --date yesterday",
        "history add none.json",
        "history changes --factor 1",
    ];
    let refused = lines.map(|line| within(&directory, line).refusal());
    assert_snapshot!(refused.concat());
}

#[test]
fn hostile_names_drive_no_terminal() {
    let directory = directory();
    // As JSON escapes it.
    let name = r"a\u001b[31m\u202e<script>alert(1)</script>|`";
    add(&directory, 0, &[steady(name, 1e6)]);
    for line in [
        "history show",
        "history list",
        "history changes",
        "history export",
        "history show --format markdown",
    ] {
        let ended = within(&directory, line).quietly(0);
        assert!(!ended.stdout.contains(['\u{1b}', '\u{202e}']), "{line}");
    }
}

#[test]
fn a_report_draws_the_history_of_its_operations() {
    let directory = forty();
    let hostile = r"</script><script>alert(1)</script>";
    let line =
        format!("history add new.json --at {hostile} --branch main --date 2026-05-01T00:00:00Z");
    within(&directory, &line).quietly(0);
    write(directory.path(), "one.json", &[steady("decode", 9e6)]);
    let line = "report one.json --history breakeven-history.db -o report.html";
    within(&directory, line).quietly(0);
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("at c025 from 8.04 ms to 9.04 ms"));
    assert!(page.contains("still there"));
    assert!(!page.contains("encode"), "it is not in the profile");
    assert!(!page.contains(hostile) && page.contains("alert(1)"));
}

/// A file that another process reads or copies half-way is whole.
#[test]
fn a_copy_of_the_file_is_a_history() {
    let directory = forty();
    let copy = |name: &str| {
        fs::copy(
            directory.path().join("breakeven-history.db"),
            Path::new(&directory.path().join(name)),
        )
    };
    copy("copy.db").unwrap();
    let changes = |file: &str| {
        within(&directory, &format!("history changes --history {file}"))
            .quietly(0)
            .stdout
    };
    assert_eq!(changes("copy.db"), changes("breakeven-history.db"));
}

/// Two steps stay; a rule without a percentage is refused.
#[test]
fn a_rule_is_replayed_over_a_history() {
    let history = forty();
    let audited = within(&history, "audit breakeven-history.db --rule mean>5%").quietly(0);
    assert_snapshot!(audited.stdout, @r"
    40 results of 2 operations, each compared with the one before

                                            mean > 5 %  breakeven compare
    results stopped                            2 of 39            2 of 39
    of these, gone again by themselves               0                  0
    smallest change found in 80 % of cases       4.8 %              5.5 %

    noise between runs  1.0 %
    runs per result     5
    With 4 runs per side, compare decides at 5.0 %.
    For CI: breakeven compare --baseline old-* --current new-* --metric mean
    --threshold 5% --gate
    ");
    let json = within(&history, "audit breakeven-history.db --format json").quietly(0);
    assert_eq!(json.json()["by_rule"]["stopped"], 2);
    let refused = within(&history, "audit breakeven-history.db --rule mean>5").refusal();
    assert!(refused.contains("as in `mean > 5%`"), "{refused}");
}

/// Results of two machines are no changes of one; what no file uses is refused.
#[test]
fn an_audit_of_a_history_is_of_one_machine() {
    let history = directory();
    for number in 0..12 {
        let (cpu, ns) = if number % 2 == 0 {
            ("A", 8e6)
        } else {
            ("B", 16e6)
        };
        let profile = format!(
            r#"{{"format":"breakeven-profile","version":1,"environment":{{"cpu":{{"model":"{cpu}"}}}},
                "operations":[{{"name":"decode","device":"cpu","samples_ns":[{ns}]}}]}}"#
        );
        fs::write(history.path().join("new.json"), profile).unwrap();
        let day = number + 1;
        let added = format!(
            "history add new.json --at c{number} --branch main --date 2026-03-{day:02}T12:00:00Z"
        );
        within(&history, &added).quietly(0);
    }
    let audited = within(&history, "audit breakeven-history.db --format json").quietly(0);
    let (changes, stopped) = (
        &audited.json()["changes"],
        &audited.json()["by_rule"]["stopped"],
    );
    assert_eq!((changes.as_u64(), stopped.as_u64()), (Some(5), Some(0)));
    let refused = within(&history, "audit new.json --unit 100hz").refusal();
    assert!(
        refused.contains("--unit is for files of the format collapsed"),
        "{refused}"
    );
}
