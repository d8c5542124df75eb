//! What cannot be planned: exit code 2, nothing on stdout, one line of what is
//! wrong, at once.

use std::fs;
use std::time::Duration;

use insta::assert_snapshot;

use super::{V100, plan_for};
use crate::command::line;

/// Nothing is looked for before the question is understood.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The refusal of these arguments for the machine of the documentation.
#[track_caller]
fn refused(args: &str) -> String {
    refused_for(V100, args)
}

#[track_caller]
fn refused_for(machine: &str, args: &str) -> String {
    let (_directory, plan) = plan_for(machine, args);
    let ended = plan.run();
    assert!(ended.took < AT_ONCE, "{ended:#?}");
    let said = ended.refusal();
    // The library of the command line adds a hint to what it refuses.
    let said = said.trim_end_matches("\n\nFor more information, try '--help'.\n");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said.to_owned()
}

#[test]
fn workloads_that_are_none() {
    assert_snapshot!(refused("--tasks 10 --complexity NaN"), @"");
    assert_snapshot!(refused("--tasks 10 --complexity -1"), @"");
    assert_snapshot!(refused("--tasks 10 --complexity inf"), @"");
    assert_snapshot!(refused("--tasks 10 --complexity much"), @"");
    assert_snapshot!(refused("--tasks 10 --parallel 2"), @"");
    assert_snapshot!(refused("--tasks 10 --parallel -0.5"), @"");
    assert_snapshot!(refused("--tasks -1"), @"");
    assert_snapshot!(refused("--tasks 18446744073709551616"), @"");
    assert_snapshot!(refused("--tasks 1e3"), @"");
}

#[test]
fn sizes_and_times_that_are_none() {
    assert_snapshot!(refused("--tasks 10 --task-bytes 16777216TiB"), @"");
    assert_snapshot!(refused("--tasks 10 --task-bytes 10potatoes"), @"");
    assert_snapshot!(refused("--tasks 10 --task-bytes=-1"), @"");
    assert_snapshot!(refused("--tasks 10 --task-time 0ms"), @"");
    assert_snapshot!(refused("--tasks 10 --task-time 5"), @"");
}

#[test]
fn machines_that_are_none() {
    assert_snapshot!(refused_for("cores = 4\n[[gpu]\n", "--tasks 10"), @"");
    assert_snapshot!(refused_for("cores = 0\n", "--tasks 10"), @"");
    assert_snapshot!(refused_for("cores = 4\n[[gpu]]\nmemory = \"20 ZiB\"\n", "--tasks 10"), @"");
    assert_snapshot!(refused_for("cores = 4\n[[gpu]]\nspeed = 3\n", "--tasks 10"), @"");
    assert_snapshot!(refused_for("", "--tasks 10"), @"");
}

#[test]
fn files_that_cannot_be_read() {
    assert_snapshot!(refused("--tasks 10 --heuristics missing.toml"), @"");
    let missing = line("plan --tasks 10 --hardware /nonexistent/m.toml")
        .run()
        .refusal();
    assert_snapshot!(missing, @"");
    let (directory, plan) = plan_for(V100, "--tasks 10 --heuristics m.toml");
    fs::write(directory.path().join("m.toml"), b"cores = \xff\n").unwrap();
    assert_snapshot!(plan.run().refusal(), @"");
}

#[test]
fn heuristics_that_are_none() {
    let refused = |heuristics: &str| {
        let (directory, plan) = plan_for(V100, "--tasks 10 --heuristics h.toml");
        fs::write(directory.path().join("h.toml"), heuristics).unwrap();
        plan.run().refusal()
    };
    assert_snapshot!(refused("min_tasks = 3"), @"");
    assert_snapshot!(refused("\ngpu_memory_pressure_threshold = 80"), @"");
}

#[test]
fn options_that_need_others() {
    let refused = |args: &str| {
        let said = line(args).run().refusal();
        said.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(refused("plan"), @"");
    assert_snapshot!(refused("plan --tasks 10 --compare"), @"");
    assert_snapshot!(refused("plan --tasks 10 --forget"), @"");
}

#[test]
fn an_order_that_is_none() {
    let (_directory, plan) = plan_for(V100, "--tasks 10");
    let said = plan.env("BREAKEVEN_STRATEGY", "fastest").run().refusal();
    assert_snapshot!(said, @"");
}
