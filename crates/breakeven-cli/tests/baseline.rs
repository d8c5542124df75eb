//! `breakeven compare --accept`: what it shows, what it refuses, what it writes.

use std::fs;

use insta::assert_snapshot;

use crate::command::directory;
use crate::compare::{steady, within, write};

#[test]
fn the_first_baseline_and_the_next() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    let first = within(&directory, "compare baseline.json one.json --accept").quietly(0);
    assert_snapshot!(first.stdout, @r"

    baseline.json: written
    ");
    write(
        directory.path(),
        "two.json",
        &[steady("f", 2e6), steady("g", 1e6)],
    );
    let next = within(&directory, "compare baseline.json two.json --accept").quietly(0);
    assert_snapshot!(next.stdout);
    within(&directory, "compare baseline.json two.json --gate").quietly(0);
}

#[test]
fn several_profiles_become_one() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    write(directory.path(), "two.json", &[steady("f", 1e6)]);
    within(
        &directory,
        "compare --baseline all.json --current one.json two.json --accept",
    )
    .quietly(0);
    let all = breakeven_profile::file::read(&directory.path().join("all.json")).unwrap();
    assert_eq!(all.operations[0].runs.len(), 10);
}

#[test]
fn a_baseline_of_other_operations_is_not_replaced() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    write(directory.path(), "two.json", &[steady("g", 1e6)]);
    within(&directory, "compare baseline.json one.json --accept").quietly(0);
    let path = directory.path().join("baseline.json");
    let before = fs::read(&path).unwrap();
    let said = within(&directory, "compare baseline.json two.json --accept").refusal();
    assert_snapshot!(said, @"error: baseline.json: stays the baseline; delete it to begin anew, or name another: no operation is on both sides: the baseline has f on cpu, and the current side g on cpu; an operation is identified by name, device and size");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_baseline() {
    let directory = directory();
    let refused = |text: &str| {
        let text = format!("{{\"format\": \"breakeven-profile\", \"version\": 1, {text}}}");
        fs::write(directory.path().join("x.json"), text).unwrap();
        let said = within(&directory, "compare baseline.json x.json --accept").refusal();
        let path = directory.path().join("baseline.json");
        assert!(!path.exists(), "{said}");
        said
    };
    assert_snapshot!(refused("\"operations\": []"), @"error: there are no operations in it; measure before accepting");
    assert_snapshot!(refused("\"operations\": [{\"name\": \"f\"}]"), @"error: f on cpu has no samples; a baseline needs it measured");
    assert_snapshot!(refused("\"operations\": [{\"name\": \"f\", \"samples_ns\": [1], \"failure\": {\"kind\": \"crash\", \"message\": \"signal 11\"}}]"), @"error: f on cpu failed: crash: signal 11; a baseline needs it measured");
    let interrupted =
        "\"interrupted\": true, \"operations\": [{\"name\": \"f\", \"samples_ns\": [1]}]";
    assert_snapshot!(refused(interrupted), @"error: measuring was interrupted; measure again before accepting");
}

#[test]
fn what_failed_is_refused_before_anything_is_printed() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    within(&directory, "compare baseline.json one.json --accept").quietly(0);
    let failed = steady("f", 1e6).replacen(
        '{',
        "{\"failure\": {\"kind\": \"crash\", \"message\": \"signal 11\"}, ",
        1,
    );
    write(directory.path(), "failed.json", &[failed]);
    let said = within(&directory, "compare baseline.json failed.json --accept").refusal();
    assert_snapshot!(said, @"error: f on cpu failed: crash: signal 11; a baseline needs it measured");
}

#[test]
fn a_baseline_of_fewer_runs_is_warned_of() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    within(
        &directory,
        "compare --baseline baseline.json --current one.json --accept",
    )
    .quietly(0);
    let few = "{\"name\": \"f\", \"samples_ns\": [1000000, 1000100, 1000050]}".to_owned();
    // Another operation still has as many.
    let both = [steady("f", 1e6), steady("g", 1e6)];
    write(directory.path(), "both.json", &both);
    within(&directory, "compare baseline.json both.json --accept").quietly(0);
    write(directory.path(), "few.json", &[few, steady("g", 1e6)]);
    // Over one that exists, and the first.
    for baseline in ["baseline.json", "new.json"] {
        let accept = format!("compare {baseline} few.json --accept");
        let ended = within(&directory, &accept);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let said = format!(
            "warning: {baseline}: a baseline of 1 run: a verdict needs 4 runs per side; five or more are better\n"
        );
        assert_eq!(ended.stderr, said);
    }
}

#[test]
fn wrong_use() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    fs::write(directory.path().join("notes.txt"), "not a profile").unwrap();
    let refused = |args: &str| within(&directory, args).refusal();
    // A slip of the pen must not cost a file that is no baseline.
    assert_snapshot!(refused("compare notes.txt one.json --accept"), @"error: notes.txt: not a breakeven profile: it is not JSON");
    assert_snapshot!(refused("compare one.json one.json --accept"), @"error: one.json is on both sides; name the baseline and the new profile");
    assert_snapshot!(refused("compare missing/b.json one.json --accept"), @"error: missing/b.json: the directory missing cannot be used: No such file or directory (os error 2)");
    assert!(refused("compare b.json one.json --accept --gate").contains("cannot be used with"));
    assert!(
        refused("compare --baseline b.json c.json --current one.json --accept")
            .contains("one baseline")
    );
}
