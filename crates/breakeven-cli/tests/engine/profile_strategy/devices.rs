//! Batches on a real device: the software GPU, which may fail half-way.

use serde_json::Value;
use tempfile::TempDir;

use super::{FEW, Profiled, profile};
use crate::command::{Breakeven, directory, line};
use crate::engine::vulkan::{Layer, software_gpu};

/// What a software GPU is asked for by.
fn on_software(args: &str) -> Option<(TempDir, Breakeven)> {
    let gpu = software_gpu()?;
    let directory = directory();
    let profile = profile(&directory, args).args("--iterations 3 --warmup 1 --device");
    let profile = profile.arg(gpu).env("COLUMNS", "1000");
    Some((directory, profile))
}

#[test]
fn a_split_over_the_cpu_and_the_software_gpu() {
    let Some((directory, profile)) = on_software("hybrid:25/75 --kernel conv2d --tasks 8") else {
        return;
    };
    let gpu = software_gpu().unwrap();
    let profiled = Profiled {
        ended: profile.run(),
        directory,
    };
    let operation = profiled.only("conv2d");
    assert_eq!(operation["device"], format!("cpu+{gpu}"));
    assert_eq!(operation["executions"]["gpu_tasks"], 2);
    assert!(operation["executions"]["fallbacks"].is_null());
    let spans = profiled.operations();
    let devices: Vec<&Value> = (spans.iter())
        .filter(|each| each["name"] == "conv2d:span")
        .map(|each| &each["device"])
        .collect();
    assert_eq!(devices.len(), 2, "{devices:?}");
    let ended = profiled.ended.quietly(0);
    let names = |line: &&str| !line.contains("--device");
    for line in ended.lines_with(gpu).into_iter().filter(names) {
        assert!(line.contains("(software)"), "{line}");
    }
}

#[test]
fn the_second_time_auto_decides_by_what_it_learned() {
    let Some((directory, first)) = on_software("auto --kernel conv2d --tasks 24") else {
        return;
    };
    let said = first.run().quietly(0);
    assert_eq!(
        said.lines_with("the cost model has learned").len(),
        1,
        "{said:#?}"
    );
    let (_other, second) = on_software("auto --kernel conv2d --tasks 24").unwrap();
    let second = second.env("BREAKEVEN_CACHE_DIR", directory.path());
    let document = second.args("--format json").run().quietly(0).json();
    let operations = document["operations"].as_array().unwrap();
    let of_conv2d = (operations.iter()).filter(|each| each["name"] == "conv2d");
    let by = |word: &str| {
        let counts = of_conv2d.clone();
        let counts = counts.filter_map(|each| each["executions"]["decided_by"][word].as_u64());
        counts.sum::<u64>()
    };
    assert_eq!(by("rule"), 0, "{operations:#?}");
    assert_eq!(by("model") + by("exploration"), 4, "{operations:#?}");
}

#[test]
fn auto_leaves_a_software_gpu_alone_unless_it_is_asked_for() {
    let Some(gpu) = software_gpu() else { return };
    let directory = directory();
    let ended = profile(&directory, &format!("auto {FEW}")).run().quietly(0);
    if line("devices --format json")
        .run()
        .stdout
        .contains("\"discrete\"")
    {
        return;
    }
    let said = format!("Auto does not use {gpu} (software); --device gpu");
    assert_eq!(ended.lines_with(&said).len(), 1, "{ended:#?}");
}

#[test]
fn a_gpu_that_fails_half_way_falls_back_and_is_reported() {
    let Some(layer) = Layer::new() else { return };
    let Some((directory, profile)) = on_software("gpu-only --kernel conv2d --tasks 8") else {
        return;
    };
    let faults = format!(
        "vkQueueSubmit -4 kernel=correlate after=2 once={}",
        layer.once("correlate")
    );
    let profiled = Profiled {
        ended: layer.before(profile, &faults).run(),
        directory,
    };
    let operations = profiled.operations();
    let on_cpu = operations
        .iter()
        .find(|each| each["name"] == "conv2d" && each["device"] != software_gpu().unwrap())
        .unwrap_or_else(|| panic!("{:#?}", profiled.ended));
    let fallbacks = on_cpu["executions"]["fallbacks"].as_array().unwrap();
    assert_eq!(
        fallbacks[0]["error"], "device lost: Device is lost",
        "{fallbacks:?}"
    );
    let ended = profiled.ended.quietly(0);
    let mut said = ended.lines_with("device lost: Device is lost");
    // Later batches of the run are without it, for the same reason.
    said.retain(|line| !line.contains("quarantined"));
    assert_eq!(said.len(), 1, "{ended:#?}");
    let from = format!(
        "fell back from {} (software) to the CPU",
        software_gpu().unwrap()
    );
    assert!(said[0].contains(&from), "{said:?}");
}
