//! Batches on two real devices at once: Mesa's software GPU, listed twice.

use insta::assert_snapshot;
use serde_json::Value;

use super::{Profiled, executions, profile};
use crate::command::{Breakeven, directory, line, show};
use crate::engine::vulkan::{BOTH, Layer, Two};

/// A batch of 64 images on both, by a strategy.
fn on_both(args: &str) -> Option<(Two, Profiled)> {
    on_both_with(args, |profile| profile)
}

fn on_both_with(args: &str, with: impl FnOnce(Breakeven) -> Breakeven) -> Option<(Two, Profiled)> {
    let two = Two::new()?;
    let directory = directory();
    let profile = profile(&directory, args)
        .args("--kernel conv2d --tasks 64 --iterations 3 --warmup 1 --devices")
        .arg(BOTH.join(","))
        .env("COLUMNS", "100");
    let ended = with(two.before(profile)).run();
    Some((two, Profiled { ended, directory }))
}

/// The batches of the last execution on each device that both GPUs had a part of.
fn device_tasks(profiled: &Profiled) -> Vec<Value> {
    let operations = profiled.operations().into_iter();
    let reported = operations
        .filter(|each| each["name"] == "conv2d")
        .map(|each| each["executions"]["device_tasks"].clone());
    reported.filter(|reported| !reported.is_null()).collect()
}

fn tasks(of: &Value, device: &str) -> u64 {
    of[device].as_u64().unwrap_or_else(|| panic!("{of:#}"))
}

#[test]
fn a_gpus_only_batch_is_split_over_both() {
    let Some((_two, profiled)) = on_both("gpu-only") else {
        return;
    };
    let reported = device_tasks(&profiled);
    assert!(!reported.is_empty(), "{:#?}", profiled.ended);
    for each in &reported {
        assert_eq!(BOTH.map(|id| tasks(each, id)).iter().sum::<u64>(), 64);
        assert_eq!(tasks(each, "cpu"), 0);
    }
    let both = reported
        .iter()
        .filter(|each| BOTH.iter().all(|id| tasks(each, id) > 0));
    assert!(both.count() > 0, "{reported:#?}");
    let operations = profiled.operations();
    let spans = (operations.iter()).filter(|each| each["name"] == "conv2d:span");
    let mut devices: Vec<&str> = spans.map(|each| each["device"].as_str().unwrap()).collect();
    devices.sort_unstable();
    assert_eq!(devices, BOTH);
    let shown = show(&profiled.path(), "").quietly(0);
    assert!(
        shown.said().contains("tasks: vulkan:llvmpipe (software) "),
        "{shown:#?}"
    );
    profiled.ended.quietly(0);
}

#[test]
fn a_split_is_over_the_cpu_and_both() {
    let Some((_two, profiled)) = on_both("hybrid:50/50") else {
        return;
    };
    for each in device_tasks(&profiled) {
        assert_eq!(tasks(&each, "cpu"), 32);
        assert_eq!(BOTH.map(|id| tasks(&each, id)).iter().sum::<u64>(), 32);
    }
    let table = executions(&profiled.ended.quietly(0).stdout);
    let label = "cpu+vulkan:llvmpipe+vulkan:llvmpipe#2 (software)";
    assert!(table.contains(label), "{table}");
    let parts = "tasks: cpu 32 50%, vulkan:llvmpipe (software) ";
    assert!(table.contains(parts), "{table}");
}

#[test]
fn what_was_learned_of_each_is_planned_with() {
    let Some((two, profiled)) = on_both("gpu-only") else {
        return;
    };
    let learned = profiled.ended.quietly(0);
    let command = "breakeven plan --tasks N --operation NAME --device \
                   vulkan:llvmpipe,vulkan:llvmpipe#2";
    assert!(learned.said().contains(command), "{learned:#?}");
    let command = command.replace('N', "64").replace("64AME", "conv2d");
    let plan = line(command.trim_start_matches("breakeven "));
    let plan = plan.env("BREAKEVEN_CACHE_DIR", profiled.directory.path());
    let plan = two.before(plan).args("--format json").run().quietly(0);
    let plan = plan.json();
    let gpus = &plan["candidates"][1];
    assert_eq!(gpus["strategy"], "gpu-only");
    assert!(gpus["predicted_ns"].as_f64() > Some(0.0), "{plan:#}");
    let devices = plan["machine"]["gpus"].as_array().unwrap();
    assert!(devices.iter().map(|gpu| &gpu["name"]).eq(BOTH), "{plan:#}");
    assert_ne!(gpus["evidence"], "heuristic", "{plan:#}");
    // Of one that has another name nothing was learned.
    let other = line("plan --tasks 64 --operation vector_add --device gpu");
    let other = other.env("BREAKEVEN_CACHE_DIR", profiled.directory.path());
    let refused = two.before(other).run().refusal();
    let nothing = "nothing was measured of \"vector_add\" here; there are conv2d";
    assert!(refused.contains(nothing), "{refused}");
}

#[test]
fn one_of_which_nothing_was_learned_is_reported() {
    let Some(two) = Two::new() else { return };
    let directory = directory();
    let with = |args: &str| {
        let command = line(args).env("BREAKEVEN_CACHE_DIR", directory.path());
        two.before(command).run().quietly(0)
    };
    with("profile --strategy gpu-only --kernel vector_add --iterations 2 --device vulkan:llvmpipe");
    let plan = with("plan --tasks 100 --operation vector_add --device gpu");
    let note = "\"vector_add\" was not measured on vulkan:llvmpipe#2, whose time is not included";
    assert!(plan.said().contains(note), "{plan:#?}");
}

#[test]
fn one_that_is_lost_half_way_costs_no_result_and_is_named() {
    let Some(layer) = Layer::new() else { return };
    let faults = format!(
        "vkQueueSubmit -4 kernel=correlate after=2 once={}",
        layer.once("correlate")
    );
    let lost = on_both_with("gpu-only", |profile| layer.before(profile, &faults));
    let Some((_two, profiled)) = lost else { return };
    let operations = profiled.operations().into_iter();
    let of_conv2d = operations.filter(|each| each["name"] == "conv2d");
    let fallbacks =
        of_conv2d.filter_map(|each| each["executions"]["fallbacks"].as_array().cloned());
    let lost: Vec<Value> = fallbacks
        .flatten()
        .filter(|each| each["error"].as_str().unwrap().starts_with("device lost"))
        .collect();
    assert_eq!(lost.len(), 1, "{lost:#?}");
    let device = lost[0]["device"].as_str().unwrap();
    assert!(BOTH.contains(&device), "{lost:#?}");
    // Where an execution takes half a second, the quarantine of a second ends between two, and
    // the device is tried again with a task.
    let counts = ["executions", "tasks"].map(|count| lost[0][count].as_u64());
    let [Some(executions), Some(tasks)] = counts else {
        panic!("{lost:#?}");
    };
    assert!(
        (1..=3).contains(&executions) && tasks >= executions,
        "{lost:#?}"
    );
    let ended = profiled.ended.quietly(0);
    assert!(
        ended
            .said()
            .contains(&format!("from {device} (software) to the CPU")),
        "{ended:#?}"
    );
}

#[test]
fn one_that_does_not_open_leaves_the_batch_to_the_other() {
    let Some(layer) = Layer::new() else { return };
    let faults = "vkCreateDevice -3 after=1";
    let closed = on_both_with("gpu-only", |profile| layer.before(profile, faults));
    let Some((_two, profiled)) = closed else {
        return;
    };
    let operations = profiled.operations();
    let done: Vec<&Value> = (operations.iter())
        .filter(|each| each["name"] == "conv2d:span" && each["device"] == BOTH[0])
        .collect();
    assert_eq!(done.len(), 1, "{:#?}", profiled.ended);
    let ended = profiled.ended;
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let said = format!("warning: {} is not used: unavailable: ", BOTH[1]);
    assert!(ended.stderr.contains(&said), "{ended:#?}");
}

#[test]
fn a_list_that_cannot_be_meant_is_refused() {
    let Some(two) = Two::new() else { return };
    let refused = |args: &str| two.before(line(args)).run().refusal();
    let twice = refused("profile --strategy auto --device vulkan:llvmpipe,vulkan:llvmpipe");
    assert_snapshot!(twice, @"error: --device vulkan:llvmpipe,vulkan:llvmpipe: vulkan:llvmpipe is given twice; remove one");
    let unknown = "error: there is no device \"vulkan:llvmpip#2\" here; did you mean \
                   \"vulkan:llvmpipe#2\"? there are: cpu, vulkan:llvmpipe (software), \
                   vulkan:llvmpipe#2 (software) (and `gpu`, `all`)\n";
    for command in [
        "profile --strategy auto",
        "profile",
        "sweep conv2d",
        "plan --tasks 9",
    ] {
        let said = refused(&format!(
            "{command} --device vulkan:llvmpipe,vulkan:llvmpip#2"
        ));
        assert_eq!(said, unknown, "{command}");
    }
    for command in ["profile --strategy hybrid:50/50", "plan --tasks 9"] {
        let said = refused(&format!("{command} --device cpu,vulkan:llvmpipe"));
        assert!(said.contains("name only GPUs"), "{said}");
    }
}

#[test]
fn both_are_measured_in_turn_where_no_strategy_is_given() {
    let Some(two) = Two::new() else { return };
    let profile = line("profile --kernel vector_add --iterations 2 --warmup 1 --format json");
    let profile = profile.arg("--device").arg(BOTH.join(","));
    let document = two.before(profile).run().quietly(0).json();
    let operations = document["operations"].as_array().unwrap();
    assert!(
        operations.iter().map(|each| &each["device"]).eq(BOTH),
        "{document:#}"
    );
}
