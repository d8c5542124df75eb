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
    assert_snapshot!(refused("--tasks 10 --complexity NaN"), @"error: a complexity of NaN: give a number, 0 or more");
    assert_snapshot!(refused("--tasks 10 --complexity -1"), @"error: a complexity of -1: give a number, 0 or more");
    assert_snapshot!(refused("--tasks 10 --complexity inf"), @"error: a complexity of inf: give a number, 0 or more");
    assert_snapshot!(refused("--tasks 10 --complexity much"), @"error: invalid value 'much' for '--complexity <C>': give a number, as in 0.5");
    assert_snapshot!(refused("--tasks 10 --parallel 2"), @"error: a parallelization of 2: give a fraction between 0 (sequential) and 1");
    assert_snapshot!(refused("--tasks 10 --parallel -0.5"), @"error: a parallelization of -0.5: give a fraction between 0 (sequential) and 1");
    assert_snapshot!(refused("--tasks -1"), @"error: invalid value '-1' for '--tasks <N>': give a whole number, 0 or more");
    assert_snapshot!(refused("--tasks 18446744073709551616"), @"error: invalid value '18446744073709551616' for '--tasks <N>': the number is too large");
    assert_snapshot!(refused("--tasks 1e3"), @"error: invalid value '1e3' for '--tasks <N>': give a whole number, 0 or more");
}

#[test]
fn sizes_and_times_that_are_none() {
    assert_snapshot!(refused("--tasks 10 --task-bytes 16777216TiB"), @r#"error: invalid value '16777216TiB' for '--task-bytes <SIZE>': "16777216TiB" is too large; the largest amount of memory is 16777215 TiB"#);
    assert_snapshot!(refused("--tasks 10 --task-bytes 10potatoes"), @r#"error: invalid value '10potatoes' for '--task-bytes <SIZE>': "10potatoes" is not a size of memory; write a number and a unit, as in "64 GiB", "10 kB" or "512 B""#);
    assert_snapshot!(refused("--tasks 10 --task-bytes=-1"), @r#"error: invalid value '-1' for '--task-bytes <SIZE>': "-1" is not a size of memory; write a number and a unit, as in "64 GiB", "10 kB" or "512 B""#);
    assert_snapshot!(refused("--tasks 10 --task-time 0ms"), @"error: invalid value '0ms' for '--task-time <T>': give a time above 0");
    assert_snapshot!(refused("--tasks 10 --task-time 5"), @r#"error: invalid value '5' for '--task-time <T>': "5" is not a duration; write a number and a unit, as in "2 ms" or "800 us""#);
}

#[test]
fn machines_that_are_none() {
    assert_snapshot!(refused_for("cores = 4\n[[gpu]\n", "--tasks 10"), @"error: m.toml: line 2, column 7: unclosed array table, expected `]`");
    assert_snapshot!(refused_for("cores = 0\n", "--tasks 10"), @"error: m.toml: line 1, column 9: there are no 0 cores; give a number from 1 to 1048576");
    assert_snapshot!(refused_for("cores = 4\n[[gpu]]\nmemory = \"20 ZiB\"\n", "--tasks 10"), @r#"error: m.toml: line 3, column 10: "20 ZiB" is not a size of memory; write a number and a unit, as in "64 GiB", "10 kB" or "512 B""#);
    assert_snapshot!(refused_for("cores = 4\n[[gpu]]\nspeed = 3\n", "--tasks 10"), @"error: m.toml: line 3, column 1: unknown field `speed`, expected one of `name`, `kind`, `memory`, `memory_used`, `launch`, `transfer`, `speedup`, `driver`, `watts`, `idle_watts`");
    assert_snapshot!(refused_for("", "--tasks 10"), @"error: m.toml: line 1, column 1: missing field `cores`");
}

#[test]
fn files_that_cannot_be_read() {
    assert_snapshot!(refused("--tasks 10 --heuristics missing.toml"), @"error: cannot read the heuristics missing.toml: No such file or directory (os error 2)");
    let missing = line("plan --tasks 10 --hardware /proc/nonexistent/m.toml")
        .run()
        .refusal();
    assert_snapshot!(missing, @"error: cannot read the description of a machine /proc/nonexistent/m.toml: No such file or directory (os error 2)");
    let (directory, plan) = plan_for(V100, "--tasks 10 --heuristics m.toml");
    fs::write(directory.path().join("m.toml"), b"cores = \xff\n").unwrap();
    assert_snapshot!(plan.run().refusal(), @"error: cannot read the heuristics m.toml: stream did not contain valid UTF-8");
}

#[test]
fn heuristics_that_are_none() {
    let refused = |heuristics: &str| {
        let (directory, plan) = plan_for(V100, "--tasks 10 --heuristics h.toml");
        fs::write(directory.path().join("h.toml"), heuristics).unwrap();
        plan.run().refusal()
    };
    assert_snapshot!(refused("min_tasks = 3"), @"error: h.toml: line 1, column 1: unknown field `min_tasks`, expected one of `small_workload_threshold`, `large_workload_threshold`, `gpu_memory_pressure_threshold`, `min_tasks_for_gpu`, `optimal_cpu_batch_size`, `optimal_gpu_batch_size`, `complexity_threshold_for_gpu`, `last_answer`");
    assert_snapshot!(refused("\ngpu_memory_pressure_threshold = 80"), @"error: h.toml: line 2, column 1: gpu_memory_pressure_threshold is 80; give a fraction from 0 to 1");
}

#[test]
fn options_that_need_others() {
    let refused = |args: &str| {
        let said = line(args).run().refusal();
        said.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(refused("plan"), @r"
    error: the following required arguments were not provided:
      --tasks <N>
    ");
    assert_snapshot!(refused("plan --tasks 10 --compare"), @r"
    error: the following required arguments were not provided:
      --hardware <FILE.toml>
    ");
    assert_snapshot!(refused("plan --tasks 10 --forget"), @r"
    error: the following required arguments were not provided:
      --operation <NAME>
    ");
}

#[test]
fn an_order_that_is_none() {
    let (_directory, plan) = plan_for(V100, "--tasks 10");
    let said = plan.env("BREAKEVEN_STRATEGY", "fastest").run().refusal();
    assert_snapshot!(said, @r#"error: BREAKEVEN_STRATEGY: "fastest" is not a strategy; give auto, cpu-only, gpu-only or hybrid:GPU/CPU in percent, as in hybrid:60/40"#);
}

/// A required option that a given one excludes is not required, so these exclude it too.
#[test]
fn options_of_a_chain_without_one() {
    for args in [
        "plan --tasks 64 --operation matrix_multiply --size 128",
        "plan --tasks 64 --task-time 200us --size 64",
        "plan --tasks 64 --operation matrix_multiply --measure",
        "compare a.json b.json --accept --strict",
    ] {
        let said = line(args).run().refusal();
        assert!(said.contains("cannot be used with"), "{args}: {said}");
    }
}
