//! What is printed of one machine.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{V100, plan_for, planned};
use crate::command::line;

#[test]
fn by_the_rule() {
    assert_snapshot!(planned(V100, "--tasks 1000").stdout, @r"
    gpu-only: 1 000 tasks on the GPU, 256 per batch
    workload  1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel
    machine   16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, launch
              20.0 µs, transfer 12.0 GB/s, 20 × a core
    why  stage 1: there is a GPU
         stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is
         not below 100 000
         stage 3: 100 % of the work is parallel
         stage 4: 6.3 % of the GPU's memory is in use, not above 80 %
         stage 5: 9.77 MiB fit the GPU's free 30 GiB
         stage 6: 1 000 tasks are more than 100, a workload of 102 400 000 is above
         10 000 000, and 100 % of the work is parallel, at least 50 %: gpu-only
         stage 7 agrees: a complexity of 100 is above 50
    ");
}

#[test]
fn by_the_last_answer() {
    assert_snapshot!(planned(V100, "--tasks 60 --complexity 20 --task-bytes 1KiB").stdout, @r"
    cpu-only: 60 tasks on the CPU, 32 per batch
    workload  60 tasks of 1 KiB, complexity 20, 100.0 % parallel
    machine   16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, launch
              20.0 µs, transfer 12.0 GB/s, 20 × a core
    why  stage 1: there is a GPU
         stage 2: 60 tasks are not fewer than 10, a workload of 122 880 is not below
         100 000
         stage 3: 100 % of the work is parallel
         stage 4: 6.3 % of the GPU's memory is in use, not above 80 %
         stage 5: 60 KiB fit the GPU's free 30 GiB
         stage 6: 60 tasks are not more than 100, a workload of 122 880 is not above
         10 000 000
         stage 7: a complexity of 20 is not above 50
         no stage decided; the last answer is cpu-only
    ");
}

#[test]
fn by_costs() {
    let args = "--tasks 1000 --task-time 1ms";
    assert_snapshot!(planned(V100, args).stdout, @r"
    hybrid:55/45: 552 tasks on the GPU, 448 tasks on the CPU, 155 per batch
    workload  1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel
    machine   16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, launch
              20.0 µs, transfer 12.0 GB/s, 20 × a core
    why  hybrid:55/45 should take 28.1 ms (heuristic), 44.8 % less than gpu-only,
         50.9 ms
         a perfect split could be 1.81 times as fast as the better device alone
         without costs stage 6 would say gpu-only
    shares  cpu: 448 tasks in 28.0 ms; V100: 552 tasks in 28.1 ms

    candidate     predicted  evidence
    cpu-only        63.0 ms  heuristic
    gpu-only        50.9 ms  heuristic
    hybrid:55/45    28.1 ms  heuristic
    ");
}

#[test]
fn by_costs_with_a_declined_split() {
    let machine = "cores = 1\n[[gpu]]\nname = \"H100\"\nspeedup = 50";
    assert_snapshot!(planned(machine, "--tasks 1000 --task-time 1ms").stdout, @r"
    gpu-only: 1 000 tasks on the GPU, 256 per batch
    workload  1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel
    machine   1 core; H100: discrete, 50 × a core
    why  gpu-only should take 20.0 ms (heuristic); hybrid:98/2 19.6 ms
         a perfect split could be 1.02 times as fast as the better device alone
         a split would gain 1.9 %, under 3.0 %: declined
         without costs stage 6 would say gpu-only

    candidate    predicted  evidence
    cpu-only        1.00 s  heuristic
    gpu-only       20.0 ms  heuristic
    hybrid:98/2    19.6 ms  heuristic

    note  H100: not known, counted as zero: `launch` and `transfer`
    ");
}

#[test]
fn a_gpu_of_unknown_speed_has_no_time() {
    let machine = "cores = 4\n[[gpu]]\nname = \"card\"";
    assert_snapshot!(planned(machine, "--tasks 1000 --task-time 1ms").stdout, @r"
    gpu-only: 1 000 tasks on the GPU, 256 per batch
    workload  1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel
    machine   4 cores; card: discrete
    why  stage 1: there is a GPU
         stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is
         not below 100 000
         stage 3: 100 % of the work is parallel
         stage 4: how much of the GPU's memory is in use is unknown and counts as no
         pressure
         stage 5: the GPU's memory is unknown and counts as enough
         stage 6: 1 000 tasks are more than 100, a workload of 102 400 000 is above
         10 000 000, and 100 % of the work is parallel, at least 50 %: gpu-only
         stage 7 agrees: a complexity of 100 is above 50

    candidate  predicted  evidence
    cpu-only      250 ms  heuristic

    note  card: its rate over that of a core (`speedup`) is not known: there is no
          estimate of its time
    ");
}

#[test]
fn nothing_to_run() {
    assert_snapshot!(planned(V100, "--tasks 0 --task-time 1ms").stdout, @r"
    cpu-only: there is nothing to run
    workload  0 tasks of 10 KiB, complexity 100, 100.0 % parallel
    machine   16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, launch
              20.0 µs, transfer 12.0 GB/s, 20 × a core
    why  stage 1: there is a GPU
         stage 2: 0 tasks are fewer than 10, a workload of 0 is below 100 000:
         cpu-only

    candidate    predicted  evidence
    cpu-only          0 ns  heuristic
    gpu-only       20.0 µs  heuristic
    hybrid:1/99       0 ns  heuristic
    ");
}

#[test]
fn the_operator_decides() {
    let (_directory, plan) = plan_for(V100, "--tasks 1000 --task-time 1ms");
    let plan = plan.env("BREAKEVEN_STRATEGY", "cpu-only").run().quietly(0);
    assert_snapshot!(plan.stdout, @r"
    cpu-only: 1 000 tasks on the CPU, 32 per batch
    workload  1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel
    machine   16 cores, 64 GiB; V100: discrete, 32 GiB, 2 GiB in use, launch
              20.0 µs, transfer 12.0 GB/s, 20 × a core
    why  BREAKEVEN_STRATEGY asks for cpu-only
         otherwise it would be hybrid:55/45
         hybrid:55/45 should take 28.1 ms (heuristic), 44.8 % less than gpu-only,
         50.9 ms
         a perfect split could be 1.81 times as fast as the better device alone
         without costs stage 6 would say gpu-only

    candidate     predicted  evidence
    cpu-only        63.0 ms  heuristic
    gpu-only        50.9 ms  heuristic
    hybrid:55/45    28.1 ms  heuristic
    ");
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
    assert_eq!(small["basis"], json!({ "rule": "small" }));
    assert_eq!(small["evidence"], "heuristic");
    assert_eq!(small["strategy"], "cpu-only");
    assert_eq!(small["batch_size"], 5);
    assert_eq!(small["candidates"][0]["predicted_ns"], json!(null));
    let last = plan("--tasks 60 --complexity 20");
    assert_eq!(last["basis"], json!({ "rule": "last" }));
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
fn a_software_gpu_is_recommended_by_its_time_only() {
    let software = V100.replace("discrete", "software");
    let plan = planned(&software, "--tasks 1000 --format json").json();
    assert_eq!(plan["strategy"], "cpu-only", "{plan:#}");
    let reasons = plan["reasoning"].to_string();
    assert!(
        reasons.contains("V100 was left out: it is software"),
        "{reasons}"
    );
    let plan = planned(&software, "--tasks 1000 --task-time 1ms --format json").json();
    assert_eq!(plan["strategy"], "hybrid:55/45", "{plan:#}");
}

#[test]
fn this_machine_gets_an_answer_too() {
    let plan = line("plan --tasks 5 --format json").run().quietly(0).json();
    assert_eq!(plan["strategy"], "cpu-only");
    assert_eq!(plan["machine"]["name"], "this machine");
    let table = line("plan --tasks 5").run().quietly(0).stdout;
    assert!(
        table.starts_with("cpu-only: 5 tasks on the CPU, 5 per batch\n"),
        "{table}"
    );
}

#[test]
fn a_table_is_at_most_80_columns_wide() {
    let name = "a".repeat(300);
    let machine = V100.replace("V100", &name).replace("20.0", "1e-300");
    let most = "--tasks 18446744073709551615 --complexity 1e300 --task-time 9e99h";
    for args in [most, &format!("{most} --compare")] {
        let table = planned(&machine, args).stdout;
        for line in table.lines() {
            assert!(line.width() <= 80, "{line}");
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
