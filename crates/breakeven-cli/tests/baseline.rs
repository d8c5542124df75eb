//! `breakeven baseline accept`: what it shows, what it refuses, what it writes.

use std::fs;

use insta::assert_snapshot;

use crate::command::directory;
use crate::compare::{steady, within, write};

#[test]
fn the_first_baseline_and_the_next() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    let first = within(&directory, "baseline accept one.json").quietly(0);
    assert_snapshot!(first.stdout, @r"
    breakeven-baseline.json: there was no baseline

    breakeven-baseline.json: written
    ");
    write(
        directory.path(),
        "two.json",
        &[steady("f", 2e6), steady("g", 1e6)],
    );
    let next = within(&directory, "baseline accept two.json --dry-run").quietly(0);
    assert_snapshot!(next.stdout);
    let kept = breakeven_profile::file::read(&directory.path().join("breakeven-baseline.json"));
    assert_eq!(
        kept.unwrap().operations.len(),
        1,
        "a dry run writes nothing"
    );

    within(&directory, "baseline accept two.json").quietly(0);
    within(
        &directory,
        "compare breakeven-baseline.json two.json --gate",
    )
    .quietly(0);
}

#[test]
fn several_profiles_become_one() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    write(directory.path(), "two.json", &[steady("f", 1e6)]);
    within(
        &directory,
        "baseline accept one.json two.json --baseline all.json",
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
    within(&directory, "baseline accept one.json").quietly(0);
    let path = directory.path().join("breakeven-baseline.json");
    let before = fs::read(&path).unwrap();
    let said = within(&directory, "baseline accept two.json").refusal();
    assert_snapshot!(said, @"error: breakeven-baseline.json: is the baseline of other operations, and stays: no operation is on both sides: the baseline has f on cpu, and the current side g on cpu; an operation is identified by name, device and size; delete the file to begin anew, or name another (--baseline)");
    within(&directory, "baseline accept two.json --dry-run").refusal();
    assert_eq!(fs::read(&path).unwrap(), before);
    within(
        &directory,
        "baseline accept two.json --baseline two-baseline.json",
    )
    .quietly(0);
}

#[test]
fn what_is_no_baseline() {
    let directory = directory();
    let refused = |text: &str| {
        let text = format!("{{\"format\": \"breakeven-profile\", \"version\": 1, {text}}}");
        fs::write(directory.path().join("x.json"), text).unwrap();
        let said = within(&directory, "baseline accept x.json").refusal();
        let path = directory.path().join("breakeven-baseline.json");
        assert!(!path.exists(), "{said}");
        said
    };
    assert_snapshot!(refused("\"operations\": []"), @"error: there are no operations in it; measure before accepting");
    assert_snapshot!(refused("\"operations\": [{\"name\": \"f\"}]"), @"error: f on cpu has no samples; a baseline needs it measured");
    assert_snapshot!(refused("\"operations\": [{\"name\": \"f\", \"samples_ns\": [1], \"failure\": {\"kind\": \"crash\", \"message\": \"signal 11\"}}]"), @"error: f on cpu failed: crash: signal 11; a baseline needs it measured");
    assert_snapshot!(refused("\"operations\": [{\"name\": \"f\", \"samples_ns\": [0, 0, 7]}]"), @"error: f on cpu: a run has a median of 0 ns, so nothing could be compared with it; measure more work in a call");
    let interrupted =
        "\"interrupted\": true, \"operations\": [{\"name\": \"f\", \"samples_ns\": [1]}]";
    assert_snapshot!(refused(interrupted), @"error: measuring was interrupted; measure again, or give --allow-interrupted");
    within(&directory, "baseline accept x.json --allow-interrupted").quietly(0);
}

#[test]
fn wrong_use() {
    let directory = directory();
    write(directory.path(), "one.json", &[steady("f", 1e6)]);
    fs::write(directory.path().join("notes.txt"), "not a profile").unwrap();
    let refused = |args: &str| within(&directory, args).refusal();
    // A slip of the pen must not cost a file that is no baseline.
    assert_snapshot!(refused("baseline accept one.json --baseline notes.txt"), @"error: notes.txt: not a breakeven profile: it is not JSON");
    assert_snapshot!(refused("baseline accept one.json one.json"), @"error: one.json is named twice on one side");
    assert_snapshot!(refused("baseline accept one.json --baseline missing/b.json"), @"error: missing/b.json: the directory missing cannot be used: No such file or directory (os error 2)");
    let said = refused("baseline accept");
    assert!(said.contains("<CURRENT>"), "{said}");
}
