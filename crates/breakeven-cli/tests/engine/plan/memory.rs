//! Memory that tasks need: stated, and more than there is.

use super::{V100, plan_for, planned};

#[track_caller]
fn json(machine: &str, args: &str) -> serde_json::Value {
    planned(machine, &format!("{args} --format json")).json()
}

#[test]
fn a_stated_memory_is_taken_as_it_is_whatever_the_complexity() {
    let of = |complexity: &str| {
        let args = "--tasks 1000 --task-bytes 1MB --task-time 1ms --complexity";
        let plan = json(V100, &format!("{args} {complexity}"));
        assert_eq!(plan["workload"]["memory_per_task_bytes"], 1_000_000);
        plan["transfer_ns"].as_f64().unwrap()
    };
    let [none, usual, much] = ["0", "100", "100000"].map(of);
    assert!((none / 1e6 - 83.3).abs() < 0.1, "{none}");
    assert_eq!([usual, much], [none, none]);
    let table = planned(V100, "--tasks 1000 --task-bytes 1MiB").stdout;
    assert!(table.contains("1 000 tasks of 1 MiB,"), "{table}");
}

#[test]
fn a_task_that_the_host_cannot_hold_is_refused() {
    for more in ["", " --task-time 1s", " --compare"] {
        let args = format!("--tasks 1000 --task-bytes 186GiB{more}");
        let (_directory, plan) = plan_for(V100, &args);
        let said = plan.run().refusal();
        let expected = "error: m.toml: a task needs 186 GiB of memory and the machine has 64 GiB";
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn a_task_that_fits_no_gpu_is_the_cpus() {
    // Under pressure too, which would split.
    let full = V100.replace("memory_used = \"2 GiB\"", "memory_used = \"30 GiB\"");
    for machine in [V100, &full] {
        for more in ["", "--task-time 1s"] {
            let plan = json(machine, &format!("--tasks 1000 --task-bytes 40GiB {more}"));
            assert_eq!(plan["strategy"], "cpu-only", "{plan:#}");
            let reasons = plan["reasoning"].to_string();
            let expected = "no GPU has the 40 GiB free that a task needs";
            assert!(reasons.contains(expected), "{reasons}");
            assert!(plan["candidates"][1]["predicted_ns"].is_null(), "{plan:#}");
            assert!(plan["candidates"][2]["predicted_ns"].is_null(), "{plan:#}");
        }
    }
}

#[test]
fn a_batch_that_memory_cannot_hold_is_said() {
    let plan = json(V100, "--tasks 1000 --task-bytes 1GiB");
    let notes = plan["notes"].to_string();
    assert!(notes.contains("all tasks together need "), "{notes}");
    assert!(notes.contains("and the machine has 64 GiB"), "{notes}");
    let plan = json(V100, "--tasks 60 --task-bytes 1GiB");
    assert_eq!(plan["notes"], serde_json::json!([]));
}

#[test]
fn each_launch_of_what_does_not_fit_at_once_costs_its_own() {
    let slow = V100.replace("20 us", "100 ms").replace("64 GiB", "1 TiB");
    let gpu_ns = |bytes: &str| {
        let args = format!("--tasks 300 --task-bytes {bytes} --task-time 1s");
        let plan = json(&slow.replace("transfer = \"12 GB/s\"\n", ""), &args);
        plan["candidates"][1]["predicted_ns"].as_f64().unwrap()
    };
    // 3 GiB: ten at once, 30 launches. 100 MiB: all in one.
    let more_ms = (gpu_ns("3GiB") - gpu_ns("100MiB")) / 1e6;
    assert!((more_ms - 2_900.0).abs() < 1.0, "{more_ms}");
}

#[test]
fn no_split_is_faster_than_its_slowest_share() {
    let machines = [
        V100.to_owned(),
        V100.replace("20 us", "10 s"),
        V100.replace("20.0", "0.01"),
        V100.replace("20.0", "1e6"),
        format!("{V100}[[gpu]]\nname = \"T4\"\nspeedup = 7.0\n"),
    ];
    for machine in machines {
        for args in ["--tasks 1000", "--tasks 17", "--tasks 1000 --parallel 0.5"] {
            let args = format!("{args} --task-time 1ms");
            let plan = json(&machine, &args);
            let shares = plan["shares"].as_array().unwrap();
            let name = plan["strategy"].as_str().unwrap();
            let ns = plan["candidates"].as_array().unwrap().iter();
            let chosen = ns.clone().find(|each| each["strategy"] == name).unwrap();
            let whole = chosen["predicted_ns"].as_f64().unwrap();
            let slowest = shares
                .iter()
                .filter_map(|share| share["predicted_ns"].as_f64());
            let slowest = slowest.fold(0.0, f64::max);
            assert!(slowest > 0.0 && whole >= slowest * 0.999_999, "{plan:#}");
            // A split is predicted for the share in its name: of 1 000 tasks, ten are launched.
            let split = &plan["candidates"][2];
            if args.contains("1000") && machine.contains("10 s") {
                assert_eq!(split["strategy"], "hybrid:1/99", "{plan:#}");
                assert!(split["predicted_ns"].as_f64().unwrap() >= 10e9, "{plan:#}");
            }
        }
    }
}
