//! What was measured of an operation decides, until it is forgotten.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use breakeven::Costs;

use breakeven::plan::{Observation, RanOn};
use insta::assert_snapshot;

use super::{V100, plan_for};
use crate::command::{Breakeven, directory, line};

/// A cost model in which `blur` takes 1 ms a task on one worker, at 32 KiB each.
fn known(directory: &Path) {
    let (costs, warning) = Costs::load(&directory.join("costs.json"));
    assert!(warning.is_none(), "{warning:?}");
    for tasks in [100, 200, 400] {
        let seen = Observation {
            at: SystemTime::now(),
            tasks,
            ns: 1_000_000 * tasks,
            transfer_ns: None,
            shared: false,
            workers: 1,
        };
        costs.observe("blur", 32 << 10, RanOn::Cpu, &seen);
    }
    costs.save().unwrap();
}

fn plan(directory: &Path, args: &str) -> Breakeven {
    line("plan")
        .args(args)
        .env("BREAKEVEN_CACHE_DIR", directory)
}

#[test]
fn what_was_measured_gives_times() {
    let directory = directory();
    known(directory.path());
    let args = "--tasks 300 --operation blur --format json";
    let plan = plan(directory.path(), args).run().quietly(0).json();
    let cpu = &plan["candidates"][0];
    assert_eq!(cpu["strategy"], "cpu-only");
    assert_eq!(cpu["evidence"], "measured");
    let cores = plan["machine"]["cores"].as_f64().unwrap();
    let ms = cpu["predicted_ns"].as_f64().unwrap() / 1e6;
    assert!((ms * cores - 300.0).abs() < 3.0, "{plan:#}");
    // Of the one size that is known.
    assert_eq!(plan["workload"]["memory_per_task_bytes"], 32 << 10);
    assert_eq!(
        plan["notes"][0],
        "the size of a task is the one that was measured"
    );
}

#[test]
fn what_was_measured_is_of_its_size_and_of_this_machine() {
    let directory = directory();
    known(directory.path());
    let args = "--tasks 300 --task-bytes 1MiB --operation blur --format json";
    let other = plan(directory.path(), args).run().quietly(0).json();
    assert_snapshot!(other["notes"][0], @r#""\"blur\" was not measured here at 1 MiB per task; it was at 32 KiB and a little more""#);
    let (_machine, there) = plan_for(V100, "--tasks 300 --operation blur --format json");
    let there = there.env("BREAKEVEN_CACHE_DIR", directory.path()).run();
    let there = there.quietly(0).json();
    // The task's time on a core, on as many cores as the described machine has.
    let notes = there["notes"].to_string();
    assert!(
        notes.contains("takes 1.00 ms on a core of this machine"),
        "{notes}"
    );
    let ms = there["candidates"][0]["predicted_ns"].as_f64().unwrap() / 1e6;
    assert!((ms - 19.0).abs() < 0.1, "19 waves of 16 tasks: {there:#}");
}

#[test]
fn a_cpu_that_was_not_measured_is_said() {
    let directory = directory();
    let (costs, _) = Costs::load(&directory.path().join("costs.json"));
    for tasks in [100, 200, 400] {
        let seen = Observation {
            at: SystemTime::now(),
            tasks,
            ns: 1_000 * tasks,
            transfer_ns: None,
            shared: false,
            workers: 1,
        };
        costs.observe("blur", 32 << 10, RanOn::Gpu("gpu:0"), &seen);
        costs.observe("conv2d", 32 << 10, RanOn::Gpu("gpu:0"), &seen);
    }
    costs.save().unwrap();
    let note = |operation: &str| {
        let args = format!("--tasks 300 --operation {operation} --format json");
        let plan = plan(directory.path(), &args).run().quietly(0).json();
        plan["notes"].to_string()
    };
    assert_snapshot!(note("blur"), @r#"["the size of a task is the one that was measured","\"blur\" was not measured on the CPU, so no times are compared; executions with the strategy Auto measure it"]"#);
    assert_snapshot!(note("conv2d"), @r#"["the size of a task is the one that was measured","\"conv2d\" was not measured on the CPU, so no times are compared; `breakeven profile --strategy auto --kernel conv2d` measures it"]"#);
}

/// GPU and CPU commands that differ by a factor, so that both are worth using.
#[test]
fn plan_uses_what_run_measured_under_a_name() {
    let directory = directory();
    let inputs: Vec<String> = (0..40).map(|input| input.to_string()).collect();
    let run = |name: &str, forms: [&str; 4]| {
        let run = line("run -j 1 --name")
            .arg(name)
            .env("BREAKEVEN_CACHE_DIR", directory.path());
        let forms = forms.into_iter().filter(|form| !form.is_empty());
        let run = forms.fold(run, Breakeven::arg);
        let ended = inputs.iter().fold(run, Breakeven::arg).run();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    };
    run("plain", ["--cpu", "sleep 0.01 # {}", "", ""]);
    run(
        "both",
        ["--cpu", "sleep 0.04 # {}", "--gpu", "sleep 0.02 # {}"],
    );
    let of = |name: &str| {
        let args = format!("--tasks 40 --operation {name} --format json");
        plan(directory.path(), &args).run().quietly(0).json()
    };
    let (plain, both) = (of("plain"), of("both"));
    assert_eq!(plain["candidates"][0]["evidence"], "measured", "{plain:#}");
    assert!(
        both["candidates"][0]["predicted_ns"].is_number(),
        "{both:#}"
    );
    assert_eq!(both["machine"]["gpus"][0]["name"], "gpu:0", "{both:#}");
    assert_eq!(both["basis"], "model", "{both:#}");
    assert!(
        both["candidates"][1]["predicted_ns"].is_number(),
        "{both:#}"
    );
    // A process for each input: no launch of a GPU serves several.
    let alone = both["candidates"].as_array().unwrap().iter();
    let alone = alone.filter(|each| each["strategy"] == "gpu-only");
    for each in alone {
        let ms = each["predicted_ns"].as_f64().unwrap() / 1e6;
        assert!(ms > 40.0 * 20.0, "40 processes of 20 ms: {both:#}");
    }
}

#[test]
fn a_device_that_is_not_there_is_wrong_use() {
    let directory = directory();
    let ended = plan(directory.path(), "--tasks 300 --device cuda:nothing").run();
    let said = ended.refusal();
    assert!(
        said.starts_with("error: there is no device \"cuda:nothing\" here"),
        "{said}"
    );
}

#[test]
fn the_preset_that_splits_has_a_name() {
    let (_machine, there) = plan_for(
        V100,
        "--tasks 60 --complexity 60 --heuristics hybrid-first --format json",
    );
    let there = there.run().quietly(0).json();
    assert_eq!(there["strategy"], "hybrid:70/30");
}

#[test]
fn a_task_is_indivisible() {
    let seconds = |args: &str| {
        let (_machine, there) = plan_for(V100, &format!("{args} --format json"));
        let plan = there.run().quietly(0).json();
        plan["candidates"][0]["predicted_ns"].as_f64().unwrap() / 1e9
    };
    assert_eq!(seconds("--tasks 1 --task-time 1s"), 1.0);
    assert_eq!(seconds("--tasks 16 --task-time 1s"), 1.0);
    assert_eq!(seconds("--tasks 17 --task-time 1s"), 2.0);
    // What is hardly parallel is not parallel: no split is faster than one device.
    let args = "--tasks 1000 --task-time 1ms --parallel 0.000001 --format json";
    let (_machine, there) = plan_for(V100, args);
    let plan = there.run().quietly(0).json();
    for candidate in 0..3 {
        let ns = plan["candidates"][candidate]["predicted_ns"].as_f64();
        assert!(ns.unwrap() > 0.97e9, "{plan:#}");
    }
}

#[test]
fn a_forgotten_operation_is_unknown() {
    let directory = directory();
    known(directory.path());
    let forget = || {
        plan(directory.path(), "--operation blur --forget")
            .run()
            .quietly(0)
    };
    assert_eq!(
        forget().stdout,
        "the measurements of \"blur\" are deleted\n"
    );
    assert_eq!(forget().stdout, "there are no measurements of \"blur\"\n");
}

#[test]
fn an_operation_that_was_not_measured_is_wrong_use() {
    let directory = directory();
    let refused = |operation: &str| {
        let args = format!("--tasks 300 --operation {operation}");
        plan(directory.path(), &args).run().refusal()
    };
    assert_snapshot!(refused("blurr"), @r#"error: nothing was measured of "blurr" here; nothing else was measured either"#);
    known(directory.path());
    assert_snapshot!(refused("blurr"), @r#"error: nothing was measured of "blurr" here; did you mean "blur"? there are blur"#);
}

#[test]
fn a_damaged_model_is_a_warning() {
    let directory = directory();
    fs::write(directory.path().join("costs.json"), "{").unwrap();
    let ended = plan(directory.path(), "--tasks 300 --operation blur").run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.starts_with("warning: "), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 2, "{ended:#?}");
}
