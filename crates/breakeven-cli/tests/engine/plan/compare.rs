//! This machine and a described one side by side.

use insta::assert_snapshot;

use super::{V100, plan_for, planned};

/// The answer, which is the last line.
#[track_caller]
fn answer(machine: &str, args: &str) -> String {
    let said = planned(machine, &format!("{args} --compare")).said();
    let answer = said.find("Would a GPU help? ").expect(&said);
    said[answer..].to_owned()
}

#[test]
fn both_machines_are_there() {
    let both = planned(V100, "--tasks 1000 --task-time 1ms --compare --format json").json();
    assert_eq!(both["here"]["machine"]["name"], "this machine");
    assert_eq!(both["described"]["machine"]["name"], "m.toml");
    assert_eq!(both["described"]["strategy"], "hybrid:55/45");
    for side in ["here", "described"] {
        assert!(both[side]["reasoning"].is_array(), "{both:#}");
        assert!(
            both[side]["candidates"][0]["predicted_ns"].is_number(),
            "{both:#}"
        );
    }
    let table = planned(V100, "--tasks 1000 --task-time 1ms --compare");
    let there = "m.toml: hybrid:55/45: ";
    assert!(table.stdout.contains(there), "{table:#?}");
    let said = table.said();
    assert!(said.ends_with(both["answer"].as_str().unwrap()), "{said}");
}

/// No machine that runs this test has a million cores.
#[test]
fn with_times_it_says_how_much() {
    let fast = V100
        .replace("cores = 16", "cores = 1000000")
        .replace("20.0", "1e6");
    let args = "--tasks 1000 --task-bytes 1 --complexity 1 --task-time 1s";
    let yes = answer(&fast, args);
    assert!(yes.starts_with("Would a GPU help? Yes: there "), "{yes}");
    assert!(
        yes.contains(" with it and 1.00 s without: ") && yes.ends_with(" times as fast."),
        "{yes}"
    );
}

#[test]
fn a_gpu_is_compared_with_the_cpu_beside_it() {
    let workers = std::thread::available_parallelism().unwrap().get();
    let tasks = 400 * workers;
    // A GPU as fast as its 400 cores together: the gain is 2, whatever this machine has.
    let machine = format!(
        "cores = {}\n[[gpu]]\nspeedup = {}.0",
        4 * workers,
        4 * workers
    );
    let yes = answer(&machine, &format!("--tasks {tasks} --task-time 100ms"));
    assert_snapshot!(yes.replace(" here: ", " here (THIS): "), @"Would a GPU help? Yes: there 5.00 s with it and 10.0 s without: 2 times as fast. The CPU alone: 10.0 s there and 40.0 s here (THIS): 4 times as fast.");
    // The CPU is the same, and slower than this machine's if that has more cores.
    let slow = answer(
        "cores = 1\n[[gpu]]\nspeedup = 1.01\nlaunch = \"1 min\"",
        "--tasks 2000 --task-time 1s",
    );
    assert!(slow.contains("Yes: there "), "{slow}");
    assert_eq!(workers >= 2, slow.ends_with(" times as slow."), "{slow}");
}

#[test]
fn without_times_the_rule_answers() {
    let yes = answer(V100, "--tasks 1000");
    assert!(
        yes.starts_with(
            "Would a GPU help? Yes, by the rule (stage 6): gpu-only there; --task-time shows"
        ),
        "{yes}"
    );
    assert_snapshot!(answer(V100, "--tasks 5"), @"Would a GPU help? No: there too the work stays on the CPU (stage 2).");
    assert_snapshot!(answer("cores = 64", "--tasks 1000"), @"Would a GPU help? The described machine has no GPU.");
}

#[test]
fn the_operators_order_does_not_hide_the_answer() {
    let (_directory, plan) = plan_for(V100, "--tasks 1000 --compare --format json");
    let both = plan
        .env("BREAKEVEN_STRATEGY", "cpu-only")
        .run()
        .quietly(0)
        .json();
    assert_eq!(both["here"]["strategy"], "cpu-only");
    assert_eq!(both["described"]["strategy"], "cpu-only");
    assert_eq!(both["described"]["otherwise"], "gpu-only");
    let answer = both["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("Would a GPU help? Yes, by the rule (stage 6)"),
        "{answer}"
    );
}
