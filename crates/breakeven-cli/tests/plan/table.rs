//! What is printed of one machine.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{V100, plan_for, planned};
use crate::command::line;

#[test]
fn by_the_rule() {
    assert_snapshot!(planned(V100, "--tasks 1000").stdout, @"");
}

#[test]
fn by_the_last_answer() {
    assert_snapshot!(planned(V100, "--tasks 60 --complexity 20 --task-bytes 1KiB").stdout, @"");
}

#[test]
fn by_costs() {
    let args = "--tasks 1000 --task-time 1ms";
    assert_snapshot!(planned(V100, args).stdout, @"");
}

#[test]
fn by_costs_with_a_declined_split() {
    let machine = "cores = 1\n[[gpu]]\nname = \"H100\"\nspeedup = 50";
    assert_snapshot!(planned(machine, "--tasks 1000 --task-time 1ms").stdout, @"");
}

#[test]
fn a_gpu_of_unknown_speed_has_no_time() {
    let machine = "cores = 4\n[[gpu]]\nname = \"card\"";
    assert_snapshot!(planned(machine, "--tasks 1000 --task-time 1ms").stdout, @"");
}

#[test]
fn nothing_to_run() {
    assert_snapshot!(planned(V100, "--tasks 0 --task-time 1ms").stdout, @"");
}

#[test]
fn the_operator_decides() {
    let (_directory, plan) = plan_for(V100, "--tasks 1000 --task-time 1ms");
    let plan = plan.env("BREAKEVEN_STRATEGY", "cpu-only").run().quietly(0);
    assert_snapshot!(plan.stdout, @"");
}

#[test]
fn the_operator_cannot_order_a_gpu_that_is_not_there() {
    let (_directory, plan) = plan_for("cores = 4", "--tasks 1000 --format json");
    let plan = plan.env("BREAKEVEN_STRATEGY", "gpu-only").run().quietly(0);
    let plan = plan.json();
    assert_eq!(plan["strategy"], "gpu-only");
    assert_eq!(plan["otherwise"], "cpu-only");
    assert_eq!(plan["estimated_gpu_tasks"], 0);
    assert_eq!(plan["estimated_cpu_tasks"], 1000);
    let reasons = plan["reasoning"].to_string();
    assert!(
        reasons.contains("every task falls back to the CPU"),
        "{reasons}"
    );
}

#[test]
fn auto_and_nothing_are_no_orders() {
    for order in ["", "auto", "AUTO"] {
        let (_directory, plan) = plan_for(V100, "--tasks 1000 --format json");
        let plan = plan
            .env("BREAKEVEN_STRATEGY", order)
            .run()
            .quietly(0)
            .json();
        assert_eq!(plan["strategy"], "gpu-only");
        assert_eq!(plan["otherwise"], json!(null));
    }
}

#[test]
fn as_json() {
    let args = "--tasks 1000 --task-time 1ms --format json";
    assert_snapshot!(planned(V100, args).stdout);
}

#[test]
fn the_stage_as_json() {
    let plan = |args: &str| planned(V100, &format!("{args} --format json")).json();
    let small = plan("--tasks 5");
    assert_eq!(small["stage"], 2);
    assert_eq!(small["basis"], "stage");
    assert_eq!(small["evidence"], "heuristic");
    assert_eq!(small["strategy"], "cpu-only");
    assert_eq!(small["batch_size"], 5);
    assert_eq!(small["candidates"][0]["predicted_ns"], json!(null));
    let last = plan("--tasks 60 --complexity 20");
    assert_eq!(last["stage"], json!(null));
    assert_eq!(last["basis"], "last_answer");
}

#[test]
fn the_heuristics_of_a_file() {
    let (directory, plan) = plan_for(V100, "--tasks 60 --complexity 20 --heuristics h.toml");
    let heuristics = "complexity_threshold_for_gpu = inf\nlast_answer = \"hybrid:70/30\"\n";
    fs::write(directory.path().join("h.toml"), heuristics).unwrap();
    let plan = plan.args("--format json").run().quietly(0).json();
    assert_eq!(plan["strategy"], "hybrid:70/30");
    assert_eq!(plan["batch_size"], 60);
    assert_eq!(plan["estimated_gpu_tasks"], 42);
    assert_eq!(plan["estimated_cpu_tasks"], 18);
}

#[test]
fn a_tasks_memory_follows_from_its_size() {
    let plan = planned(
        V100,
        "--tasks 7 --task-bytes 1KiB --complexity 50 --format json",
    )
    .json();
    assert_eq!(plan["workload"]["memory_per_task_bytes"], 7680);
}

#[test]
fn this_machine_gets_an_answer_too() {
    let plan = line("plan --tasks 5 --format json").run().quietly(0).json();
    assert_eq!(plan["strategy"], "cpu-only");
    assert_eq!(plan["machine"]["name"], "this machine");
    let table = line("plan --tasks 5").run().quietly(0).stdout;
    assert!(
        table.starts_with("cpu-only  5 tasks on the CPU, 5 per batch\n"),
        "{table}"
    );
}

#[test]
fn a_table_is_at_most_100_columns_wide() {
    let name = "a".repeat(300);
    let machine = V100.replace("V100", &name).replace("20.0", "1e-300");
    let most = "--tasks 18446744073709551615 --complexity 1e300 --task-time 9e99h";
    for args in [most, &format!("{most} --compare")] {
        let table = planned(&machine, args).stdout;
        for line in table.lines() {
            assert!(line.width() <= 100, "{line}");
        }
    }
}

#[test]
fn what_a_terminal_would_obey_is_not_shown() {
    let machine = V100.replace("V100", "V\\u001b[31m100");
    let table = planned(&machine, "--tasks 1000").stdout;
    assert!(
        !table.contains('\u{1b}') && table.contains("V\u{fffd}[31m100"),
        "{table}"
    );
}
