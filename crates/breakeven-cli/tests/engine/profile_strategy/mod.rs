//! `breakeven profile --strategy`: batches through the executor, and what a
//! profile records of them.

use breakeven::kernels::NAMES;
use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{Breakeven, Ended, directory, line, show};

mod bad;
mod devices;
mod printed;
mod several;

/// Six executions, two of them warm-ups, of a batch that is done at once.
const FEW: &str = "--iterations 4 --warmup 2 --kernel vector_add";

/// `profile` with a strategy, a file, and a cost model of its own.
struct Profiled {
    ended: Ended,
    directory: TempDir,
}

/// On a machine without any GPU, whatever this one has.
fn without_gpu(args: &str) -> Profiled {
    let directory = directory();
    let nowhere = "/proc/nonexistent/icd.json";
    let profile = profile(&directory, args)
        .env("VK_ICD_FILENAMES", nowhere)
        .env("VK_DRIVER_FILES", nowhere);
    Profiled {
        ended: profile.run(),
        directory,
    }
}

fn profile(directory: &TempDir, args: &str) -> Breakeven {
    line("profile --strategy")
        .args(args)
        .env("BREAKEVEN_CACHE_DIR", directory.path())
        .arg("-o")
        .arg(directory.path().join("profile.json"))
}

impl Profiled {
    fn path(&self) -> PathBuf {
        self.directory.path().join("profile.json")
    }

    fn operations(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path())
            .unwrap_or_else(|error| panic!("{error}: {:#?}", self.ended));
        let file: Value = serde_json::from_str(&text).unwrap();
        file["operations"].as_array().unwrap().clone()
    }

    /// The one operation of that name.
    #[track_caller]
    fn only(&self, name: &str) -> Value {
        let operations = self.operations().into_iter();
        let mut of_name: Vec<Value> = operations.filter(|each| each["name"] == name).collect();
        assert_eq!(of_name.len(), 1, "{of_name:#?}");
        of_name.remove(0)
    }
}

/// The table's part on executions, without what differs between runs and builds.
fn executions(table: &str) -> String {
    let lines = table
        .lines()
        .skip_while(|line| !line.starts_with("Executions"));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Replaces times, and why there is no GPU.
fn redacted(check: impl FnOnce()) {
    insta::with_settings!({filters => vec![
        (r" +\d[\d.]*(ns|µs|ms|s)\b", " [time]"),
        (r"(?s)there is no GPU\s+here: .*", "there is no GPU here: [why]"),
    ]}, { check() });
}

#[test]
fn a_gpu_that_is_not_there_falls_back_and_says_why() {
    for (strategy, tasks) in [("gpu-only", 600), ("hybrid:60/40", 360)] {
        let profiled = without_gpu(&format!("{strategy} {FEW}"));
        let operation = profiled.only("vector_add");
        assert_eq!(operation["device"], "cpu");
        assert_eq!(operation["size"], 100);
        assert_eq!(
            operation["runs"][0]["samples_ns"].as_array().unwrap().len(),
            4
        );
        assert!(operation["runs"][0]["first_call_ns"].is_number());
        assert_eq!(
            operation["runs"][0]["warmup_ns"].as_array().unwrap().len(),
            1
        );
        let reported = &operation["executions"];
        assert_eq!(reported["strategy"], strategy);
        assert_eq!(reported["executions"], 6);
        assert_eq!(reported["gpu_tasks"], 0);
        let fallbacks = reported["fallbacks"].as_array().unwrap();
        assert_eq!(fallbacks.len(), 1, "{fallbacks:?}");
        assert_eq!(fallbacks[0]["tasks"], tasks);
        assert_eq!(fallbacks[0]["executions"], 6);
        let error = fallbacks[0]["error"].as_str().unwrap();
        assert!(
            error.starts_with("unavailable: there is no GPU here"),
            "{error}"
        );
        assert_eq!(reported["device_error"], error);
        let spans = profiled.only("vector_add:span");
        assert_eq!(spans["device"], "cpu");
        // What was learned of a GPU that is not there is nothing.
        assert!(!profiled.directory.path().join("costs.json").exists());
        profiled.ended.quietly(0);
    }
}

#[test]
fn the_table_of_a_batch_without_a_gpu() {
    let table = |strategy: &str| {
        let profiled = without_gpu(&format!("{strategy} {FEW}"));
        let table = profiled.ended.quietly(0).stdout;
        for line in table.lines() {
            assert!(line.chars().count() <= 80, "wider than 80: {line}");
        }
        executions(&table)
    };
    redacted(|| {
        assert_snapshot!(table("gpu-only"), @r"
        Executions
             strategy  GPU tasks  CPU tasks  median  predicted
        vector_add · 100 tasks of 1000 elements
        cpu  gpu-only          0   100 100% [time]          –
          6 executions, as asked
          600 tasks fell back to the CPU in 6 executions: unavailable: there is no GPU here: [why]
        ");
        assert_snapshot!(table("cpu-only"), @r"
        Executions
             strategy  GPU tasks  CPU tasks  median  predicted
        vector_add · 100 tasks of 1000 elements
        cpu  cpu-only          0   100 100% [time]          –
          6 executions, as asked
        ");
        assert_snapshot!(table("auto"), @r"
        Executions
             strategy  GPU tasks  CPU tasks  median  predicted
        vector_add · 100 tasks of 1000 elements
        cpu  cpu-only          0   100 100% [time]          –
          6 executions, by the rule: stage 1: there is no GPU: cpu-only
        ");
    });
}

#[test]
fn tasks_are_counted_where_their_size_in_the_profile_is_rounded() {
    let profiled = without_gpu(&format!("cpu-only {FEW} --tasks 123"));
    let operation = profiled.only("vector_add");
    assert_eq!(operation["size"], 128);
    assert_eq!(operation["executions"]["tasks"], 123);
    assert_eq!(operation["runs"].as_array().unwrap().len(), 1);
    let ended = profiled.ended.quietly(0);
    assert_eq!(ended.lines_with("123 100%").len(), 1, "{ended:#?}");
}

#[test]
fn every_kernel_has_a_batch_and_runs_are_processes() {
    let profiled = without_gpu("auto --iterations 2 --warmup 1 --runs 2 --tasks 2");
    let names: Vec<String> = (profiled.operations().iter())
        .map(|each| each["name"].as_str().unwrap().to_owned())
        .collect();
    let both = NAMES.map(|name| [name.to_owned(), format!("{name}:span")]);
    assert_eq!(names, both.concat());
    for operation in profiled.operations() {
        assert_eq!(operation["runs"].as_array().unwrap().len(), 2);
        let of_spans = operation["name"].as_str().unwrap().ends_with(":span");
        if !of_spans {
            assert_eq!(operation["executions"]["decided_by"]["rule"], 6);
            assert_eq!(operation["size"], 2);
        }
    }
    let said = profiled.ended.quietly(0);
    assert_eq!(said.lines_with("nothing was learned").len(), 1, "{said:#?}");
}

#[test]
fn the_operator_comes_before_auto_and_not_before_a_strategy() {
    let directory = directory();
    let ordered = |args: &str, order: &str| {
        let nowhere = "/proc/nonexistent/icd.json";
        let profile = profile(&directory, &format!("{args} {FEW}"))
            .env("VK_ICD_FILENAMES", nowhere)
            .env("VK_DRIVER_FILES", nowhere)
            .env("BREAKEVEN_STRATEGY", order);
        profile.args("--format json").run()
    };
    let reported = |ended: Ended| ended.quietly(0).json()["operations"][0]["executions"].clone();
    let by_operator = reported(ordered("auto", "gpu-only"));
    assert_eq!(by_operator["decided_by"]["operator"], 6, "{by_operator:#}");
    assert_eq!(by_operator["fallbacks"][0]["tasks"], 600, "{by_operator:#}");
    let asked = reported(ordered("cpu-only", "gpu-only"));
    assert_eq!(asked["decided_by"]["asked"], 6, "{asked:#}");
    assert!(asked["fallbacks"].is_null(), "{asked:#}");
    let wrong = ordered("auto", "gpu").refusal();
    assert!(
        wrong.starts_with("error: BREAKEVEN_STRATEGY: \"gpu\" is not a strategy"),
        "{wrong}"
    );
}

#[test]
fn the_file_is_shown_compared_and_advised_on() {
    let profiled = without_gpu(&format!("gpu-only {FEW} --runs 2"));
    let file = profiled.path();
    let shown = show(&file, "").quietly(0).stdout;
    assert_eq!(executions(&shown), executions(&profiled.ended.stdout));
    assert!(executions(&shown).contains("fell back"), "{shown}");

    let second = without_gpu(&format!("cpu-only {FEW} --runs 2"));
    let compared = line("compare --format json")
        .arg(&file)
        .arg(second.path())
        .run();
    assert_eq!(compared.stderr, "", "{compared:#?}");
    let compared = compared.json();
    let operations = compared["operations"].as_array().unwrap();
    let names: Vec<&str> = (operations.iter())
        .filter(|each| each["baseline_time_ms"].is_number() && each["current_time_ms"].is_number())
        .map(|each| each["operation"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"vector_add"), "{compared:#}");

    let advised = line("advise --format json").arg(&file).run().quietly(0);
    let looked_at = advised.json()["looked_at"]["operations"].as_u64();
    assert!(looked_at > Some(0), "{advised:#?}");
}
