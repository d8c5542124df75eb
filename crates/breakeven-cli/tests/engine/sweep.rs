//! `breakeven sweep`: times over size, the break-even, and where it is reported.

use std::path::Path;

use breakeven::Costs;
use breakeven::plan::OperationCosts;
use serde_json::Value;

use crate::command::{Breakeven, directory, line, show};
use crate::engine::vulkan::software_gpu;

/// A sweep whose cost model is in that directory.
fn sweep(args: &str, cache: &Path) -> Breakeven {
    line("sweep").args(args).env("BREAKEVEN_CACHE_DIR", cache)
}

fn values(document: &Value) -> Vec<u64> {
    let points = document["points"].as_array().unwrap();
    let value = |point: &Value| point["value"].as_u64().unwrap();
    points.iter().map(value).collect()
}

#[test]
fn every_point_is_measured_in_every_round() {
    let cache = directory();
    let args = "vector_add --device cpu --from 1000 --to 5000 --rounds 3 --iterations 2";
    let json = |args: &str| sweep(args, cache.path()).args("--format json").run();
    let document = json(args).quietly(0).json();
    assert_eq!(values(&document), [1000, 2000, 4000, 5000]);
    for point in document["points"].as_array().unwrap() {
        assert_eq!(point["elements"], point["value"]);
        let time = &point["times"][0];
        assert_eq!(time["device"], "cpu");
        assert_eq!(time["rounds_ns"].as_array().unwrap().len(), 3);
        assert!(time["median_ns"].as_f64() > Some(0.0), "{point}");
    }
    assert_eq!(document["break_even"].as_array().unwrap().len(), 0);
    let table = sweep(args, cache.path()).run().quietly(0);
    assert!(table.stdout.contains("5 000"), "{table:#?}");
    let csv = sweep(args, cache.path())
        .args("--format csv")
        .run()
        .quietly(0);
    assert_eq!(csv.stdout.lines().count(), 5, "{csv:#?}");
    assert!(
        csv.stdout.contains("\nvector_add,size,1000,1000,cpu,3,"),
        "{csv:#?}"
    );
}

#[test]
fn what_was_swept_is_in_the_file_and_in_the_cost_model() {
    let directory = directory();
    let file = directory.path().join("sweep.json");
    let args = "conv2d --device cpu --over batch --from 1 --to 8 --rounds 3 --iterations 3";
    sweep(args, directory.path())
        .arg("-o")
        .arg(&file)
        .run()
        .quietly(0);
    let shown = show(&file, "--format json").quietly(0).json();
    let sizes: Vec<u64> = shown["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["size"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [1, 2, 4, 8].map(|batch| batch * 65_536));
    // An image is a task, as batches have it.
    let planned =
        line("plan --operation conv2d --tasks 4 --task-bytes 512KiB --complexity 0 --format json")
            .env("BREAKEVEN_CACHE_DIR", directory.path())
            .run()
            .quietly(0)
            .json();
    let cpu = &planned["candidates"][0];
    assert_eq!(cpu["strategy"], "cpu-only");
    assert!(cpu["predicted_ns"].as_f64() > Some(0.0), "{planned}");
}

#[test]
fn windows_and_hidden_units_have_their_own_values() {
    let cache = directory();
    for (args, expected, name) in [
        (
            "pixel_entropy --over window",
            [8, 16, 32],
            "pixel_entropy:window8",
        ),
        (
            "lstm_cell_forward --over hidden",
            [64, 128, 256],
            "lstm_cell_forward:hidden64",
        ),
    ] {
        let file = cache.path().join("sweep.json");
        let sweep = sweep(args, cache.path()).args("--device cpu --rounds 1 --iterations 1");
        let document = sweep
            .args("--format json")
            .arg("-o")
            .arg(&file)
            .run()
            .quietly(0)
            .json();
        assert_eq!(values(&document), expected);
        let shown = show(&file, "--format json").quietly(0).json();
        assert_eq!(shown["operations"][0]["name"], name);
    }
}

#[test]
fn a_gpu_is_held_against_the_cpu() {
    let Some(gpu) = software_gpu() else { return };
    let directory = directory();
    let file = directory.path().join("sweep.json");
    let args = "conv2d --from 16 --to 64 --rounds 3 --iterations 3 --format json";
    let sweep = sweep(args, directory.path()).args("--device").arg(gpu);
    let document = sweep.arg("-o").arg(&file).run().quietly(0).json();
    assert!(values(&document).starts_with(&[16]) && values(&document).ends_with(&[64]));
    let found = &document["break_even"][0];
    assert_eq!(
        (&found["device"], &found["over_device"]),
        (&gpu.into(), &"cpu".into())
    );
    let evidence = document["evidence"].as_array().unwrap();
    // A launch alone takes the CPU's time a hundred times.
    assert_eq!(found["answer"], "never", "{document}");
    assert!(evidence[0].get("size").is_none(), "{document}");
    assert_eq!(evidence[0]["tested_to"], 4096.0);
    // What others read it for.
    let profile: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let kept = profile["evidence"]["break_even"].as_array().unwrap();
    assert_eq!(kept.len(), evidence.len());
    for name in ["operation", "device", "over"] {
        assert_eq!(kept[0][name], evidence[0][name]);
    }
    assert_eq!(kept[0]["tested_to"].as_f64(), Some(4096.0));

    // Auto's choice rests on batches of both devices now, of several sizes of item.
    for side in [16, 64] {
        let known = learned(directory.path(), side, gpu);
        let [cpu, gpu] = [known.cpu, known.gpu(0).cost].map(|cost| cost.expect("it was executed"));
        // A launch of a few tasks, also where others have the cores; of a thousand small ones a
        // software GPU takes about as long as the cores, and noise decides.
        let few = cpu.fewest;
        assert!(gpu.predict_ns(few) > cpu.predict_ns(few), "{known:?}");
        assert!(cpu.fewest < cpu.most, "{known:?}");
        // On a busy machine pieces of its batches may overlap; such a batch shows only how far.
        let was_cut = known.gpu(0).bottleneck.is_some();
        assert!(gpu.fewest < gpu.most || was_cut, "{known:?}");
    }
}

#[test]
fn the_break_even_of_a_kernel_is_a_constant_too() {
    let Some(gpu) = software_gpu() else { return };
    let directory = directory();
    let source = directory.path().join("sizes.py");
    let args = "conv2d --from 16 --to 64 --rounds 3 --iterations 3 --emit python";
    let sweep = sweep(args, directory.path())
        .args("--device")
        .arg(gpu)
        .run();
    assert_eq!(sweep.code, Some(0), "{sweep:#?}");
    assert!(
        sweep
            .stdout
            .ends_with("\nCONV2D_GPU_FROM = float(\"inf\")\n"),
        "{sweep:#?}"
    );
    std::fs::write(&source, &sweep.stdout).unwrap();
    let checked = line("sweep --check").arg(&source).run().quietly(0);
    let said = format!(":3: CONV2D_GPU_FROM = never holds: {gpu} never pays up to size 64");
    assert!(checked.stdout.contains(&said), "{checked:#?}");
}

/// What the cost model in that directory knows of `conv2d` of images of that side.
fn learned(cache: &Path, side: usize, gpu: &str) -> OperationCosts {
    let (costs, warning) = Costs::load(&cache.join("costs.json"));
    assert!(warning.is_none(), "{warning:?}");
    // A pixel in and one out.
    costs.lookup("conv2d", 8 * side * side, &[gpu], 1)
}

#[test]
fn a_batch_is_predicted_as_it_is_executed() {
    let cache = directory();
    let args = "conv2d --device cpu --over batch --from 4 --to 64 --rounds 1 --iterations 1";
    sweep(args, cache.path()).run().quietly(0);
    let known = learned(cache.path(), 256, "no GPU");
    let cpu = known.cpu.expect("it was executed");
    assert_eq!((cpu.fewest, cpu.most), (4, 64), "{cpu:?}");
    let executed = line("profile --strategy cpu-only --kernel conv2d --tasks 32 --format json");
    let executed = executed.run().quietly(0).json();
    let median = &executed["operations"][0]["figures"]["summary"]["median"];
    let workers = std::thread::available_parallelism().unwrap().get() as f64;
    let ratio = cpu.predict_ns(32) / workers / median.as_f64().unwrap();
    // Other work on the machine comes and goes; a factor of the workers would not.
    assert!((0.25..4.0).contains(&ratio), "{ratio}: {cpu:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_found_out_before_anything_is_measured() {
    let refused = line("sweep conv2d --device cpu -o /proc/nonexistent/folder/sweep.json").run();
    assert!(
        refused.took < std::time::Duration::from_secs(5),
        "{refused:#?}"
    );
    let refusal = refused.refusal();
    assert!(refusal.contains("/proc/nonexistent/folder"), "{refusal}");
}

#[test]
fn a_smaller_range_than_the_kernels_own_is_a_range() {
    let cache = directory();
    let args = "conv2d --device cpu --to 8 --rounds 1 --iterations 1 --format json";
    let document = sweep(args, cache.path()).run().quietly(0).json();
    assert_eq!(values(&document), [8]);
}

#[test]
fn what_cannot_be_swept_is_refused_at_once() {
    let refused = |args: &str| line("sweep").args(args).run().refusal();
    insta::assert_snapshot!(refused("vector_add --over window"), @"error: a sweep of vector_add is over size or batch, not over window");
    insta::assert_snapshot!(refused("conv2d --from 64 --to 32"), @"error: --from 64 is beyond --to 32; give a range that has values in it");
    insta::assert_snapshot!(refused("pixel_entropy --over window --from 4"), @"error: a sweep over window is at 8, 16, 32; leave --from and --to out");
    let large = refused("conv2d --device cpu --to 100000000");
    assert!(
        large.contains("would take") && large.contains("; choose a smaller --to"),
        "{large}"
    );
    let kernel = refused("conv3d");
    assert!(kernel.contains("did you mean \"conv2d\"?"), "{kernel}");
    let over = refused("conv2d --over height");
    assert!(
        over.contains("[possible values: size, batch, window, hidden]"),
        "{over}"
    );
}
