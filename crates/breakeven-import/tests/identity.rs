//! What names an operation: its entry in the file alone, with all that configures it.

use std::fs;

use breakeven_import::{Imported, Options, read};

use crate::support::{data, read_text, refused};

fn names(imported: &Imported) -> Vec<&str> {
    let operations = imported.profile.operations.iter();
    operations.map(|each| each.name.as_str()).collect()
}

/// The numbers of runs of all operations.
fn runs(imported: &Imported) -> Vec<usize> {
    let operations = imported.profile.operations.iter();
    operations.map(|each| each.runs.len()).collect()
}

fn has_same_names(imported: &Imported) -> bool {
    let mut notes = imported.notes.iter();
    notes.any(|note| note.starts_with("entries have the same name"))
}

#[test]
fn a_package_is_in_the_name_whatever_else_the_file_holds() {
    let package = |name: &str| {
        format!(
            "goos: linux\npkg: example.com/{name}\nBenchmark{name}-8 10 5 ns/op\nPASS\nok  \texample.com/{name}\t1s\n"
        )
    };
    let both = read_text(package("A") + &package("B"));
    assert_eq!(
        names(&both),
        ["example.com/A.BenchmarkA-8", "example.com/B.BenchmarkB-8"]
    );
    assert_eq!(
        names(&read_text(package("A"))),
        ["example.com/A.BenchmarkA-8"]
    );
}

#[test]
fn configuration_lines_of_go_distinguish_measurements() {
    let text = "note: before\n\nBenchmarkDecode/100-4 20 115 ns/op\nBenchmarkDecode/100-4 20 115 ns/op\n\
                note: after\nBenchmarkDecode/100-4 20 78.8 ns/op\nnote:\nBenchmarkDecode/100-4 20 60 ns/op\n";
    let imported = read_text(text);
    let name = "BenchmarkDecode/100-4";
    let expected = [
        format!("{name} (note=before)"),
        format!("{name} (note=after)"),
        name.to_owned(),
    ];
    assert_eq!(names(&imported), expected);
    // What the go command prints, and what says when it was measured, configure nothing.
    let text = "goos: linux\ncommit: abc\ncommit-time: 2026\ncoverage: 50% of statements\ngo: downloading x\n\
                BenchmarkA-4 20 115 ns/op\n";
    let imported = read_text(text);
    assert_eq!(names(&imported), ["BenchmarkA-4"]);
    assert_eq!(
        imported.profile.environment.revision.as_deref(),
        Some("abc")
    );
}

#[test]
fn parameters_of_hyperfine_are_in_the_name_and_the_same_command_again_is_another() {
    let result =
        |parameters: &str| format!(r#"{{"command": "build", "times": [1, 1.1]{parameters}}}"#);
    let file = |all: &[&str]| {
        let all: Vec<String> = all.iter().map(|each| result(each)).collect();
        format!(r#"{{"results": [{}]}}"#, all.join(", "))
    };
    let threads = |n| format!(r#", "parameters": {{"threads": "{n}"}}"#);
    let imported = read_text(file(&[&threads(1), &threads(2)]));
    assert_eq!(names(&imported), ["build (threads=1)", "build (threads=2)"]);
    assert_eq!(
        names(&read_text(file(&[&threads(2)]))),
        ["build (threads=2)"]
    );
    let twice = read_text(file(&["", ""]));
    assert_eq!(
        (names(&twice), runs(&twice)),
        (vec!["build", "build #2"], vec![1, 1])
    );
    assert!(has_same_names(&twice), "{:?}", twice.notes);
}

#[test]
fn a_jmh_name_has_the_mode_and_the_threads_also_of_a_single_one() {
    let entry = |mode: &str, threads: u32| {
        format!(
            r#"{{"benchmark": "A.x", "mode": "{mode}", "threads": {threads}, "params": {{"n": 5}},
                "primaryMetric": {{"scoreUnit": "ms/op", "rawData": [[1]]}}}}"#
        )
    };
    let all = [entry("avgt", 1), entry("ss", 1), entry("avgt", 4)];
    let imported = read_text(format!("[{}]", all.join(", ")));
    let expected = [
        "A.x(n=5) (avgt)",
        "A.x(n=5) (ss)",
        "A.x(n=5) (avgt, 4 threads)",
    ];
    assert_eq!(names(&imported), expected);
    assert_eq!(names(&read_text(format!("[{}]", all[2]))), expected[2..]);
}

#[test]
fn a_benchmark_dotnet_name_has_the_job_also_of_a_single_one() {
    let entry = |job: &str| {
        format!(
            r#"{{"DisplayInfo": "T.A: {job} [N=5]", "FullName": "N.T.A(N: 5)", "Statistics": {{"OriginalValues": [1]}}}}"#
        )
    };
    let file = |all: &[String]| {
        format!(
            r#"{{"HostEnvironmentInfo": {{}}, "Benchmarks": [{}]}}"#,
            all.join(", ")
        )
    };
    let all = [
        entry("Job-ABCDEF(Runtime=.NET 8.0, LaunchCount=5)"),
        entry("Job-BCDEFG(Runtime=.NET 9.0, LaunchCount=5)"),
        entry("DefaultJob"),
        entry("ShortRun(IterationCount=3, LaunchCount=1, WarmupCount=3)"),
    ];
    let name = "N.T.A(N: 5)";
    let expected = [
        format!("{name} (Runtime=.NET 8.0)"),
        format!("{name} (Runtime=.NET 9.0)"),
        name.to_owned(),
        format!("{name} (ShortRun)"),
    ];
    assert_eq!(names(&read_text(file(&all))), expected);
    for (entry, expected) in all.iter().zip(&expected) {
        assert_eq!(
            names(&read_text(file(std::slice::from_ref(entry)))),
            [expected]
        );
    }
}

fn google(rows: &[&str]) -> String {
    format!(
        r#"{{"context": {{"num_cpus": 8}}, "benchmarks": [{}]}}"#,
        rows.join(", ")
    )
}

#[test]
fn two_families_of_one_name_stay_apart_and_repetitions_together() {
    let row = |family: u32, ns: u32| {
        format!(
            r#"{{"name": "map", "run_type": "iteration", "family_index": {family}, "per_family_instance_index": 0, "real_time": {ns}}}"#
        )
    };
    let rows = [row(0, 200), row(3, 50), row(0, 201), row(3, 51)];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let imported = read_text(google(&rows));
    assert_eq!(
        (names(&imported), runs(&imported)),
        (vec!["map", "map #2"], vec![1, 1])
    );
    assert_eq!(
        imported.profile.operations[1].runs[0].samples_ns,
        [50.0, 51.0]
    );
    assert!(has_same_names(&imported), "{:?}", imported.notes);
    // The number of a family alone is not in the name: it depends on those before it.
    assert_eq!(names(&read_text(google(&[rows[1]]))), ["map"]);
}

#[test]
fn entries_of_one_name_in_a_file_stay_apart_in_every_format() {
    let pytest = r#"{"fullname": "t", "stats": {"data": [1]}}"#;
    let pyperf = r#"{"metadata": {"name": "t"}, "runs": [{"values": [1]}]}"#;
    let jmh = r#"{"benchmark": "t", "primaryMetric": {"scoreUnit": "ms/op", "rawData": [[1]]}}"#;
    let dotnet = r#"{"FullName": "t", "Statistics": {"OriginalValues": [1]}}"#;
    let state = r#"{"device": 0, "axis_values": [], "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "1e-3"}]}]}"#;
    let files = [
        format!(r#"{{"machine_info": {{}}, "benchmarks": [{pytest}, {pytest}]}}"#),
        format!(r#"{{"benchmarks": [{pyperf}, {pyperf}]}}"#),
        format!("[{jmh}, {jmh}]"),
        format!(r#"{{"Benchmarks": [{dotnet}, {dotnet}]}}"#),
        format!(r#"{{"benchmarks": [{{"name": "t", "states": [{state}, {state}]}}]}}"#),
    ];
    for file in files {
        let imported = read_text(file.clone());
        assert_eq!(names(&imported), ["t", "t #2"], "{file}");
        assert_eq!(runs(&imported), [1, 1], "{file}");
    }
}

#[test]
fn a_suite_of_a_history_does_not_rename_the_benchmarks_of_another() {
    let suite = |name: &str, bench: &str| {
        format!(
            r#""{name}": [{{"commit": {{"id": "c"}}, "date": 1, "benches": [{{"name": "{bench}", "unit": "ns", "value": 1}}]}}]"#
        )
    };
    let file = |suites: &[String]| {
        read_text(format!(
            r#"{{"lastUpdate": 1, "entries": {{{}}}}}"#,
            suites.join(", ")
        ))
    };
    assert_eq!(names(&file(&[suite("Go", "a")])), ["Go: a"]);
    assert_eq!(
        names(&file(&[suite("Go", "a"), suite("Rust", "b")])),
        ["Go: a", "Rust: b"]
    );
    let twice = file(&[suite("Go", "a"), suite("Rust", "a")]);
    assert_eq!(names(&twice), ["Go: a", "Rust: a"]);
    assert!(!has_same_names(&twice), "{:?}", twice.notes);
    assert_eq!(names(&file(&[suite("Rust", "a")])), ["Rust: a"]);
}

#[test]
fn a_run_whose_first_value_is_no_time_is_not_merged_with_the_next() {
    let options = |columns: &str| Options {
        columns: Some(columns.parse().unwrap()),
        ..Options::default()
    };
    let table = "n,t,r\nf,-1,1\nf,5,1\nf,-1,2\nf,6,2\n";
    let columns = options("name=n,time=t,unit=ms,run=r");
    let table = breakeven_import::read_from(table.as_bytes(), "file", &columns).unwrap();
    assert_eq!(runs(&table), [2]);
    let measured = |launch: u32, ns: &str| {
        format!(
            r#"{{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": {launch}, "Operations": 1, "Nanoseconds": {ns}}}"#
        )
    };
    let all = [
        measured(1, "null"),
        measured(1, "5"),
        measured(2, "null"),
        measured(2, "6"),
    ];
    let dotnet = format!(
        r#"{{"Benchmarks": [{{"FullName": "f", "Measurements": [{}]}}]}}"#,
        all.join(", ")
    );
    assert_eq!(runs(&read_text(dotnet)), [2]);
    let process = |ns: &str| {
        format!("goos: linux\nBenchmarkA-8 1 {ns} ns/op\nBenchmarkA-8 1 5 ns/op\nPASS\n")
    };
    assert_eq!(runs(&read_text(process("-1") + &process("-1"))), [2]);
    let pyperf =
        r#"{"benchmarks": [{"runs": [{"values": [-1, 5]}, {"values": [-1]}, {"values": [6]}]}]}"#;
    assert_eq!(runs(&read_text(pyperf)), [2]);
}

#[test]
fn pass_ends_a_process_of_go_without_a_head_too() {
    let once = "BenchmarkA-8 1 5 ns/op\nPASS\n";
    assert_eq!(runs(&read_text(once.repeat(3))), [3]);
}

#[test]
fn criterion_names_a_benchmark_without_benchmark_json_by_its_folder() {
    let directory = tempfile::tempdir().unwrap();
    let sample = fs::read_to_string(data("criterion/two/sum/fold/64/new/sample.json")).unwrap();
    for folder in ["ok/new", "group/shared_counter/new"] {
        let folder = directory.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sample.json"), &sample).unwrap();
    }
    let name = r#"{"full_id": "ok!"}"#;
    fs::write(directory.path().join("ok/new/benchmark.json"), name).unwrap();
    let imported = read(directory.path(), &Options::default()).unwrap();
    assert_eq!(names(&imported), ["group/shared_counter", "ok!"]);
    let one = directory.path().join("group/shared_counter");
    assert_eq!(
        names(&read(&one, &Options::default()).unwrap()),
        ["shared_counter"]
    );
    assert_eq!(
        names(&read(&one.join("new"), &Options::default()).unwrap()),
        ["shared_counter"]
    );
    // One broken file does not lose the folder.
    fs::write(directory.path().join("ok/new/sample.json"), "{").unwrap();
    let imported = read(directory.path(), &Options::default()).unwrap();
    assert_eq!(runs(&imported), [1, 0]);
    assert!(imported.profile.operations[1].failure.is_some());
    let note = imported
        .notes
        .iter()
        .find(|note| note.contains("ok/new/sample.json"));
    assert!(note.is_some(), "{:?}", imported.notes);
}

#[test]
fn a_table_reads_thousands_and_leaves_out_the_rows_that_it_cannot_read() {
    let options = |columns: &str| Options {
        columns: Some(columns.parse().unwrap()),
        ..Options::default()
    };
    let csv = "Method;Job;Mean\nSort;DefaultJob;1,234.5 ns\nParse;DefaultJob;12.25 μs\nBroken;DefaultJob;NA\n\
               Big;DefaultJob;1,234,567 ns\nUnsure;DefaultJob;8,688 ns\nShort\n";
    let columns = options("name=Method,time=Mean");
    let imported = breakeven_import::read_from(csv.as_bytes(), "file", &columns).unwrap();
    let times: Vec<(&str, f64)> = (imported.profile.operations.iter())
        .map(|each| (each.name.as_str(), each.runs[0].samples_ns[0]))
        .collect();
    assert_eq!(
        times,
        [("Sort", 1234.5), ("Parse", 12_250.0), ("Big", 1_234_567.0)]
    );
    let note = imported.notes[0].to_string();
    assert!(note.starts_with("3 row(s) left out"), "{note}");
    assert!(note.contains("Broken") && note.contains("line 4"), "{note}");
    let unsure = "a;b\nf;8,688 ns\n".to_owned();
    let said = refused(unsure, &options("name=a,time=b"));
    assert!(said.contains("between thousands"), "{said}");
}

#[test]
fn families_of_google_benchmark_without_an_index_stay_apart() {
    let aggregate = |family: &str, figure: &str, ns: u32| {
        format!(
            r#"{{"name": "a_{figure}", {family} "run_name": "a", "run_type": "aggregate", "aggregate_name": "{figure}", "real_time": {ns}}}"#
        )
    };
    let times = |rows: &[String]| {
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let imported = read_text(google(&rows));
        let operations = imported.profile.operations.into_iter();
        operations
            .map(|each| (each.name, each.runs[0].samples_ns.clone()))
            .collect::<Vec<_>>()
    };
    let two = |first: &[f64], second: &[f64]| {
        vec![
            ("a".to_owned(), first.to_vec()),
            ("a #2".to_owned(), second.to_vec()),
        ]
    };
    for [first, second] in [[r#""family_index": 0,"#, r#""family_index": 1,"#], ["", ""]] {
        let rows = [
            aggregate(first, "mean", 9),
            aggregate(first, "median", 100),
            aggregate(second, "mean", 8),
            aggregate(second, "median", 5000),
        ];
        assert_eq!(times(&rows), two(&[100.0], &[5000.0]));
    }
    let row = |index: u32, ns: u32| {
        format!(
            r#"{{"name": "a", "run_type": "iteration", "repetition_index": {index}, "real_time": {ns}}}"#
        )
    };
    assert_eq!(times(&[row(0, 1), row(0, 5)]), two(&[1.0], &[5.0]));
    let rows = [row(0, 1), row(1, 2), row(0, 5), row(1, 6)];
    assert_eq!(times(&rows), two(&[1.0, 2.0], &[5.0, 6.0]));
    // Before version 1.5 nothing distinguishes repetitions and families.
    let old = |name: &str, ns: u32| format!(r#"{{"name": "{name}", "real_time": {ns}}}"#);
    assert_eq!(
        times(&[old("a_median", 1), old("a_median", 5)]),
        two(&[1.0], &[5.0])
    );
}

#[test]
fn a_file_of_go_with_two_commits_or_machines_is_refused() {
    for [key, one, other] in [
        ["commit", "aaaa", "bbbb"],
        ["git-commit", "aaaa", "bbbb"],
        ["cpu", "Old CPU", "New CPU"],
        ["goos", "linux", "windows"],
        ["goarch", "aarch64", "x86"],
    ] {
        let text = |other: &str| {
            format!(
                "goos: linux\n{key}: {one}\nBenchmarkA 10 100 ns/op\nPASS\n{key}: {other}\nBenchmarkA 10 200 ns/op\n"
            )
        };
        let said = refused(text(other), &Options::default());
        assert!(
            said.contains(one) && said.contains(other) && said.contains(":6:1"),
            "{said}"
        );
        assert_eq!(runs(&read_text(text(one))), [2]);
    }
    // What has no result is no measurement.
    read_text("goarch: 386\nPASS\ngoarch: amd64\nBenchmarkA 10 100 ns/op\n");
}

#[test]
fn the_line_that_ends_a_package_of_go_names_it_if_nothing_else_does() {
    let package =
        |name: &str| format!("BenchmarkA-8 10 100 ns/op\nPASS\nok  \texample.com/{name}\t1s\n");
    let imported = read_text(package("p") + &package("q"));
    assert_eq!(
        names(&imported),
        ["example.com/p.BenchmarkA-8", "example.com/q.BenchmarkA-8"]
    );
    let alone = "BenchmarkA-8 10 100 ns/op\nPASS\n".to_owned();
    assert_eq!(
        names(&read_text(alone.clone() + &package("q"))),
        ["BenchmarkA-8", "example.com/q.BenchmarkA-8"]
    );
    assert_eq!(
        names(&read_text(alone + "ok  \tcommand-line-arguments\t1s\n")),
        ["BenchmarkA-8"]
    );
}

#[test]
fn a_log_line_does_not_rename_the_benchmarks_of_go_below_it() {
    let text = "goos: linux\nnote: before\nBenchmarkA 10 100 ns/op\nhttp: Server closed\nBenchmarkB 10 100 ns/op\n\
                note: after\nBenchmarkB 10 90 ns/op\nPASS\nok  \texample.com/p\t1s\nBenchmarkC 10 9 ns/op\n";
    let expected = [
        "example.com/p.BenchmarkA (note=before)",
        "example.com/p.BenchmarkB (note=before)",
        "example.com/p.BenchmarkB (note=after)",
        "BenchmarkC (note=after)",
    ];
    let imported = read_text(text);
    assert_eq!(names(&imported), expected);
    let note = imported.notes[0].to_string();
    assert!(note.ends_with("the first is http, line 4"), "{note}");
}

#[test]
fn a_benchmark_that_a_table_of_divan_has_again_is_another() {
    let row =
        |name: &str, us: u32| format!("├─ {name}   1 µs  │ 1 µs  │ {us} µs  │ 1 µs  │ 10  │ 20\n");
    let head = "alpha   fastest  │ slowest  │ median  │ mean  │ samples │ iters\n";
    let table = head.to_owned() + &row("fib", 2) + &row("fib", 4);
    let imported = read_text(table.repeat(2));
    assert_eq!(names(&imported), ["alpha::fib", "alpha::fib #2"]);
    assert_eq!(runs(&imported), [2, 2]);
    assert_eq!(imported.profile.operations[1].runs[1].samples_ns, [4000.0]);
}

#[test]
fn a_benchmark_of_criterion_without_its_newest_results_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for folder in ["a/new", "a/base", "b/base", "b/main", "b/change"] {
        let folder = directory.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let times = r#"{"iters": [1], "times": [2]}"#;
        fs::write(folder.join("sample.json"), times).unwrap();
        if !folder.ends_with("change") {
            fs::write(folder.join("benchmark.json"), r#"{"full_id": "a"}"#).unwrap();
        }
    }
    let imported = read(directory.path(), &Options::default()).unwrap();
    assert_eq!(names(&imported), ["a"]);
    let note = imported.notes[0].to_string();
    assert!(
        note.starts_with("1 benchmark(s) left out: they have no folder new"),
        "{note}"
    );
    assert!(note.contains("b/base"), "{note}");
}
