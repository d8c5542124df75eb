//! Every metric of a file is kept, with its unit and direction.

use std::fmt::Write as _;

use breakeven_import::Imported;
use breakeven_profile::profile::Operation;

use crate::support::{imported, read_text};

/// The counters of each run, as in `allocations 12 allocs -`, and its memory.
fn counted(operation: &Operation) -> String {
    let mut text = String::new();
    for run in &operation.runs {
        if let Some(bytes) = run.memory_bytes {
            writeln!(text, "memory {bytes}").unwrap();
        }
        for (name, value) in &run.counters {
            let counter = &operation.counters[name];
            let better = if counter.higher_is_better { "+" } else { "-" };
            writeln!(text, "{name} {value} {:?} {better}", counter.unit).unwrap();
        }
    }
    text
}

#[track_caller]
fn of(imported: &Imported, name: &str) -> String {
    let found = imported
        .profile
        .operations
        .iter()
        .find(|each| each.name == name);
    counted(found.unwrap_or_else(|| panic!("{name} in {:?}", imported.profile.operations)))
}

#[test]
fn go() {
    let line = |bytes: u32| {
        format!(
            "BenchmarkA-8 10 5 ns/op 354.5 MB/s {bytes} B/op 2 allocs/op 17 words/op 3 ns/query\n"
        )
    };
    let imported = read_text(line(64) + &line(128));
    let expected = "memory 128\nMB/s 354.5 \"MB/s\" +\nallocations 2 \"allocs\" -\nns/query 3 \"ns/query\" -\nwords/op 17 \"words/op\" -\n";
    assert_eq!(of(&imported, "BenchmarkA-8"), expected);
}

#[test]
fn google_benchmark() {
    let row = r#"{"name": "a", "iterations": 10, "threads": 2, "real_time": 5, "cpu_time": 4, "time_unit": "us", "family_index": 0,
        "bytes_per_second": 8e9, "items_per_second": 1e6, "misses": 7, "allocs_per_iter": 3, "max_bytes_used": 4096}"#;
    let imported = read_text(format!(
        r#"{{"context": {{"num_cpus": 2}}, "benchmarks": [{row}]}}"#
    ));
    let expected = "memory 4096\nallocations 3 \"allocs\" -\nbytes_per_second 8000000000 \"B/s\" +\ncpu_time 4 \"us\" -\nitems_per_second 1000000 \"1/s\" +\nmisses 7 \"\" -\n";
    assert_eq!(of(&imported, "a"), expected);
}

#[test]
fn jmh_profilers_by_fork() {
    let secondary = r#""·gc.alloc.rate.norm": {"score": 24, "scoreUnit": "B/op", "rawData": [[16, 16], [32, 32]]},
        "gc.count": {"score": 5, "scoreUnit": "counts", "rawData": [[2, 4], [6]]}"#;
    let file = format!(
        r#"[{{"benchmark": "a", "mode": "avgt", "primaryMetric": {{"scoreUnit": "ms/op", "rawData": [[1], [1]]}}, "secondaryMetrics": {{{secondary}}}}}]"#
    );
    let expected = "memory 16\ngc.count 3 \"counts\" -\nmemory 32\ngc.count 6 \"counts\" -\n";
    assert_eq!(of(&read_text(file), "a (avgt)"), expected);
}

#[test]
fn hyperfine_pytest_pyperf_and_benchmark_dotnet() {
    let hyperfine = r#"{"results": [{"command": "a", "times": [1], "user": 0.5, "system": 0.25, "memory_usage_byte": [10, 30]}]}"#;
    let expected = "memory 30\nsystem 0.25 \"s\" -\nuser 0.5 \"s\" -\n";
    assert_eq!(of(&read_text(hyperfine), "a"), expected);
    let pytest = r#"{"machine_info": {}, "benchmarks": [{"fullname": "a", "stats": {"data": [1]}, "extra_info": {"rows": 5, "rows_per_second": 2, "kind": "x"}}]}"#;
    let expected = "rows 5 \"\" -\nrows_per_second 2 \"\" +\n";
    assert_eq!(of(&read_text(pytest), "a"), expected);
    let pyperf = r#"{"benchmarks": [{"runs": [{"values": [1], "metadata": {"name": "a", "mem_max_rss": 77}}]}]}"#;
    assert_eq!(of(&read_text(pyperf), "(unnamed)"), "memory 77\n");
    let dotnet = r#"{"Benchmarks": [{"FullName": "a", "Statistics": {"OriginalValues": [1]}, "Memory": {"BytesAllocatedPerOperation": 64},
        "Metrics": [{"Value": 0.5, "Descriptor": {"Id": "Accuracy", "Unit": "", "TheGreaterTheBetter": true}}]}]}"#;
    assert_eq!(
        of(&read_text(dotnet), "a"),
        "memory 64\nAccuracy 0.5 \"\" +\n"
    );
}

#[test]
fn divan_and_nvbench() {
    let divan = imported("divan/table.txt");
    assert_eq!(
        of(&divan, "div::sum::64"),
        "throughput 8029000000 \"B/s\" +\n"
    );
    let expected =
        "memory 512\nalloc bytes 512 \"B\" -\nallocations 1 \"allocs\" -\nmax alloc 1 \"\" -\n";
    assert_eq!(of(&divan, "div::vec::filled::u8::512"), expected);
    let summary = |tag: &str, hint: &str, value: &str| {
        format!(
            r#"{{"tag": "{tag}", "hint": "{hint}", "data": [{{"name": "value", "value": "{value}"}}]}}"#
        )
    };
    let all = [
        summary("nv/cold/time/gpu/mean", "duration", "1e-3"),
        summary("nv/cold/time/cpu/mean", "duration", "0.002"),
        summary("nv/cold/bw/item_rate", "item_rate", "5e6"),
        summary("nv/cold/sample_size", "sample_size", "99"),
    ];
    let nvbench = format!(
        r#"{{"benchmarks": [{{"name": "copy", "states": [{{"device": 0, "summaries": [{}]}}]}}]}}"#,
        all.join(", ")
    );
    let expected = "nv/cold/bw/item_rate 5000000 \"1/s\" +\nnv/cold/time/cpu/mean 0.002 \"s\" -\n";
    assert_eq!(of(&read_text(nvbench), "copy"), expected);
}

#[test]
fn iai_callgrind_before_gungraun() {
    let summary = r#"{"version": "6", "module_path": "a::b", "function_name": "f", "id": "x", "profiles": [
        {"tool": "Callgrind", "summaries": {"total": {"summary": {"Callgrind": {
            "Ir": {"metrics": {"Both": [{"Int": 12}, {"Int": 10}]}}, "L1hits": {"metrics": {"Left": {"Int": 5}}}}}}}},
        {"tool": "DHAT", "summaries": {"total": {"summary": {"DHAT": {"TotalBytes": {"metrics": {"Left": {"Int": 64}}}}}}}}]}"#;
    let twice = read_text(format!("{summary}\n{summary}\n"));
    let run = "DHAT TotalBytes 64 \"\" -\nInstructions 12 \"\" -\nL1 Hits 5 \"\" -\n";
    assert_eq!(of(&twice, "a::b x:"), run.repeat(2));
}

#[test]
fn asv_before_version_2_and_its_units() {
    let file = r#"{"commit_hash": "abc", "version": 1, "results": {"b.time_a": 2e-6, "b.track_rate": 7, "b.time_lost": null,
        "b.time_p": {"result": [1e-6, null, 3e-6, NaN], "params": [["1", "2"], ["'x'", "'y'"]], "samples": [[1e-6, 2e-6], null, null, null]}}}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine/abc.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, file).unwrap();
    let units = r#"{"b.track_rate": {"unit": "rows/s"}, "version": 2}"#;
    std::fs::write(folder.path().join("benchmarks.json"), units).unwrap();
    let imported = breakeven_import::read(&path, &breakeven_import::Options::default()).unwrap();
    assert_eq!(of(&imported, "b.track_rate"), "rows/s 7 \"rows/s\" +\n");
    let operations = imported.profile.operations.iter();
    let times = operations.map(|each| {
        let samples: Vec<f64> = each.samples_ns().map(f64::round).collect();
        (each.name.as_str(), samples, each.failure.is_some())
    });
    let expected = [
        ("b.time_a", vec![2000.0], false),
        ("b.time_lost", vec![], true),
        ("b.time_p(1, 'x')", vec![1000.0, 2000.0], false),
        ("b.time_p(1, 'y')", vec![], true),
        ("b.time_p(2, 'x')", vec![3000.0], false),
        ("b.track_rate", vec![], false),
    ];
    assert_eq!(times.collect::<Vec<_>>(), expected);
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert!(
        notes.iter().any(|note| note.contains("b.time_p(2, 'y')")),
        "{notes:?}"
    );
}

#[test]
fn published_data_js_of_go_has_all_units_in_one() {
    let bench = |name: &str, value: f64, unit: &str| {
        format!(
            r#"{{"name": "{name}", "value": {value}, "unit": "{unit}", "extra": "100 times\n8 procs"}}"#
        )
    };
    let all = [
        bench(
            "BenchmarkA",
            115.0,
            r"ns/op\t    1056 B/op\t      12 allocs/op",
        ),
        bench("BenchmarkA - ns/op", 115.0, "ns/op"),
        bench("BenchmarkA - B/op", 1056.0, "B/op"),
        bench("BenchmarkA - allocs/op", 12.0, "allocs/op"),
        bench("size", 5.0, "MB"),
    ];
    let imported = read_text(format!(
        r#"{{"lastUpdate": 1, "entries": {{"Go": [{{"benches": [{}]}}]}}}}"#,
        all.join(", ")
    ));
    assert_eq!(imported.profile.operations.len(), 2);
    assert_eq!(imported.profile.operations[0].runs[0].samples_ns, [115.0]);
    assert_eq!(
        of(&imported, "Go: BenchmarkA"),
        "memory 1056\nallocations 12 \"allocs\" -\n"
    );
    assert_eq!(of(&imported, "Go: size"), "MB 5 \"MB\" -\n");
}

#[test]
fn what_is_no_time_is_a_counter_in_every_format() {
    let entry = |tool: &str| {
        let benches = [
            ("a", "Percent"),
            ("b - B/op", "B/op"),
            ("c", "MB/s"),
            ("c", "MB/s"),
        ];
        let benches = benches
            .map(|(name, unit)| format!(r#"{{"name": "{name}", "value": 64, "unit": "{unit}"}}"#));
        format!(
            r#"{{"lastUpdate": 1, "entries": {{"s": [{{"tool": "{tool}", "benches": [{}]}}]}}}}"#,
            benches.join(", ")
        )
    };
    let bigger = read_text(entry("customBiggerIsBetter"));
    assert_eq!(of(&bigger, "s: a"), "Percent 64 \"Percent\" +\n");
    assert_eq!(of(&bigger, "s: b"), "memory 64\n");
    // Two entries of one name are no samples of each other.
    assert_eq!(of(&bigger, "s: c #2"), "MB/s 64 \"MB/s\" +\n");
    let smaller = read_text(entry("customSmallerIsBetter"));
    assert_eq!(of(&smaller, "s: a"), "Percent 64 \"Percent\" -\n");
    let pyperf = r#"{"benchmarks": [{"metadata": {"name": "m", "unit": "byte"},
        "runs": [{"values": [1024, 2048], "metadata": {"mem_max_rss": 9999999}}, {"values": [512]}]}]}"#;
    assert_eq!(of(&read_text(pyperf), "m"), "memory 2048\nmemory 512\n");
    let jmh = |unit: &str| {
        read_text(format!(
            r#"[{{"benchmark": "a", "primaryMetric": {{"scoreUnit": "{unit}", "rawData": [[16, 18], [32]]}}}}]"#
        ))
    };
    assert_eq!(of(&jmh("B/op"), "a"), "memory 18\nmemory 32\n");
    assert_eq!(
        of(&jmh("MB/sec"), "a"),
        "MB/sec 17 \"MB/sec\" +\nMB/sec 32 \"MB/sec\" +\n"
    );
    let go = read_text("BenchmarkA-8 100 12 B/op 7 words/op\n");
    assert_eq!(
        of(&go, "BenchmarkA-8"),
        "memory 12\nwords/op 7 \"words/op\" -\n"
    );
    for imported in [bigger, smaller, go] {
        assert!(
            imported
                .profile
                .operations
                .iter()
                .all(|each| each.failure.is_none())
        );
    }
    // A time that is none is no such figure.
    let nan = r#"{"context": {"num_cpus": 1}, "benchmarks": [{"name": "a", "real_time": "NaN", "cpu_time": 1},
        {"name": "b", "real_time": 1}]}"#;
    assert!(read_text(nan).profile.operations[0].failure.is_some());
}
