//! `breakeven profile` as it is meant to be used.

use std::collections::BTreeSet;

use breakeven::kernels::NAMES;
use breakeven_profile::file;
use serde_json::Value;

use crate::command::{directory, line, show};
use crate::engine::vulkan::software_gpu;

/// Name and device of each operation.
fn operations(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let operations = document["operations"].as_array().unwrap();
    (operations.iter())
        .map(|each| (text(&each["name"]), text(&each["device"])))
        .collect()
}

#[test]
fn every_kernel_two_runs_and_the_file_shows_the_same() {
    let directory = directory();
    let file = directory.path().join("profile.json");
    let ended = line("profile --iterations 2 --warmup 1 --runs 2 --format json -o")
        .arg(&file)
        .run()
        .quietly(0);
    let document = ended.json();
    let on_cpu: Vec<_> = operations(&document)
        .into_iter()
        .filter(|(_, device)| device == "cpu")
        .map(|(operation, _)| operation)
        .collect();
    assert_eq!(on_cpu, NAMES);
    for operation in document["operations"].as_array().unwrap() {
        let figures = &operation["figures"];
        assert_eq!(figures["runs"], 2, "{operation:#}");
        assert_eq!(figures["summary"]["count"], 4, "{operation:#}");
        assert!(operation["failure"].is_null(), "{operation:#}");
        let share = figures["roofline"]["bytes_share"].as_f64();
        assert!(share.is_some_and(|share| share > 0.0), "{operation:#}");
    }
    let shown = show(&file, "--format json").quietly(0).json();
    assert_eq!(shown["operations"], document["operations"]);
    assert_eq!(shown["environment"], document["environment"]);
    let printed = file::read_from(ended.stdout.as_bytes(), "<stdout>").unwrap();
    assert_eq!(printed, file::read(&file).unwrap());
    // `breakeven` puts no host name and no path into a file unless asked.
    assert!(document["environment"]["host"].is_null());
}

#[test]
fn the_printed_json_is_a_profile() {
    let directory = directory();
    let few = "profile --iterations 3 --warmup 1 --runs 2 --device cpu --kernel vector_add";
    let [before, after] = ["a.json", "b.json"].map(|name| {
        let path = directory.path().join(name);
        let printed = line(few).args("--format json").run().quietly(0).stdout;
        std::fs::write(&path, printed).unwrap();
        path
    });
    let compared = line("compare --format json").arg(&before).arg(&after);
    let compared = compared.run().quietly(0).json();
    assert_eq!(compared["operations"][0]["operation"], "vector_add");
    assert_eq!(compared["operations"][0]["current_runs"], 2);
    line("advise").arg(&before).run().quietly(0);
    let shown = show(&before, "--format json").quietly(0).stdout;
    let read = |text: &str| file::read_from(text.as_bytes(), "<stdout>").unwrap();
    assert_eq!(read(&shown), file::read(&before).unwrap());
}

/// Or a comparison of the two would warn of another machine.
#[test]
fn the_suite_and_a_recorder_see_one_machine() {
    let few = "profile --iterations 2 --warmup 1 --device cpu --kernel vector_add";
    let printed = line(few).args("--format json").run().quietly(0).stdout;
    let suite = file::read_from(printed.as_bytes(), "<stdout>").unwrap();
    let recorder = breakeven_profile::get_profiler(true).snapshot();
    let mut differences = suite.environment.differences(&recorder.environment);
    differences.retain(|found| found.is_of_machine());
    assert_eq!(differences, []);
    let memory = [suite, recorder].map(|profile| {
        let cpu = profile.environment.cpu.unwrap();
        (cpu.memory_bytes, cpu.usable_memory_bytes)
    });
    assert_eq!(memory[0], memory[1]);
}

#[test]
fn the_formats_that_are_text() {
    let few = "profile --iterations 2 --warmup 1 --device cpu --kernel vector_add";
    let csv = line(few).args("--format csv").run().quietly(0);
    let lines: Vec<_> = csv.stdout.lines().collect();
    let columns: BTreeSet<_> = lines.iter().map(|line| line.split(',').count()).collect();
    assert_eq!((lines.len(), columns.len()), (2, 1), "{csv:#?}");
    let markdown = line(few).args("--format markdown").run().quietly(0);
    assert_eq!(markdown.lines_with(" elements** | cpu |").len(), 1);
    let table = line(few).run().quietly(0);
    for line in table.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(!table.stdout.contains('\u{1b}'), "{table:#?}");
}

#[test]
fn more_threads_than_cores_are_no_more_work() {
    let profile = line("profile --kernel vector_add --device cpu --iterations 2 --warmup 1");
    let ended = profile.env("RAYON_NUM_THREADS", "2000").run();
    assert!(
        ended.took < std::time::Duration::from_secs(60),
        "{ended:#?}"
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}

/// Not a failure: Mesa's driver has no tensor cores.
#[test]
fn a_kernel_that_a_device_lacks_cores_for_is_unsupported_there() {
    let Some(gpu) = software_gpu() else { return };
    let cache = directory();
    let run = |command: &str| {
        let command = command.replace("GPU", gpu);
        let command = line(&command).env("BREAKEVEN_CACHE_DIR", cache.path());
        command.env("COLUMNS", "1000").run()
    };
    let lacking = format!(
        "unsupported: tensor_core_matmul needs tensor cores that multiply f16 into f32, and {gpu} \
         has none; matrix_multiply runs there, in f32"
    );
    let measured = run("profile --device all --runs 2 --iterations 3 --kernel tensor_core_matmul --kernel matrix_multiply")
        .quietly(0);
    let on_gpu = format!("tensor_core_matmul on {gpu} (software): {lacking}");
    assert_eq!(measured.lines_with(&on_gpu).len(), 1, "{measured:#?}");
    // What half precision costs, beside the product in f32.
    let [rounded] = measured.lines_with("inputs in half precision")[..] else {
        panic!("{measured:#?}");
    };
    let error = rounded.split("an error of up to ").nth(1).unwrap();
    let error: f64 = error.split(' ').next().unwrap().parse().unwrap();
    assert!((1e-6..1e-2).contains(&error), "{rounded}");
    assert!(rounded.ends_with("× the time"), "{rounded}");

    let swept =
        run("sweep tensor_core_matmul --device GPU --from 16 --to 32 --rounds 2").quietly(0);
    assert_eq!(swept.lines_with(&on_gpu).len(), 1, "{swept:#?}");
    assert_eq!(swept.lines_with("was not measured").len(), 1, "{swept:#?}");
    let tuned = run("tune tensor_core_matmul --device GPU");
    assert_eq!(tuned.code, Some(0), "{tuned:#?}");
    assert!(tuned.stderr.contains(&lacking), "{tuned:#?}");
    let compared = run("ab --kernel tensor_core_matmul device=cpu device=GPU");
    assert_eq!(compared.code, Some(2), "{compared:#?}");
    assert!(compared.stderr.contains(&lacking), "{compared:#?}");
}
