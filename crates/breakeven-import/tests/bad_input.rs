//! Files that are wrong, per format: an error in one line, or a note.

use breakeven_import::{Format, Options};
use insta::assert_snapshot;

use crate::support::refused;

/// The errors of texts that are read as a format.
fn errors(format: &str, texts: &[&str]) -> String {
    let options = Options {
        from: Some(Format::named(format).expect("a format")),
        ..Options::default()
    };
    let errors = texts.iter().map(|text| refused(*text, &options));
    errors.collect::<Vec<_>>().join("\n")
}

#[test]
fn hyperfine() {
    assert_snapshot!(errors(
        "hyperfine",
        &[
            "",
            "{}",
            r#"{"results": [{"times": [1]}]}"#,
            r#"{"results": [{"command": "a", "times": ["b"]}]}"#,
            r#"{"results": [{"command": "a", "times": [-1]}]}"#,
            r#"{"results": [{"command": "a", "times": [1"#,
            r#"{"results": []} {}"#,
        ]
    ));
}

#[test]
fn chrome() {
    assert_snapshot!(errors(
        "chrome",
        &[
            "",
            "{}",
            "5",
            r#"{"traceEvents": {}}"#,
            r#"{"traceEvents": []}"#,
            r#"{"traceEvents": [5]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1}, {"ph": "X", "ts": "soon"}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": [1], "dur": 2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1e300, "dur": 2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 99999999999999999999, "dur": 2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": -2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": -2}]} []"#,
            r#"{"deviceProperties": [{}], "traceEvents": []}"#,
            "[",
            r#"[{"ph": "X", "#,
            r#"[{"ph": "X", "ts": 1 "dur": 2}]"#,
            &("[".repeat(300) + "1"),
        ]
    ));
}

#[test]
fn rocprofv3() {
    let records = |list: &str, record: &str| {
        format!(r#"{{"rocprofiler-sdk-tool": [{{"buffer_records": {{"{list}": [{record}]}}}}]}}"#)
    };
    assert_snapshot!(errors(
        "rocprofv3",
        &[
            "",
            "{}",
            r#"{"rocprofiler-sdk-tool": 5}"#,
            r#"{"rocprofiler-sdk-tool": [{"agents": [{"id": {"handle": 1}}]}]}"#,
            &records(
                "kernel_dispatch",
                r#"{"start_timestamp": 1, "end_timestamp": "x"}"#
            ),
            &records("hip_api", r#"{"start_timestamp": 5, "end_timestamp": 1}"#),
            &records("memory_copy", r#"{"start_timestamp": 5}, {"bytes": -1}"#),
            &records("hip_api", "")[..60],
        ]
    ));
    assert_snapshot!(errors(
        "rocprofv3-csv",
        &[
            "",
            "Kind,Kernel_Name,Start_Timestamp,End_Timestamp\n",
            "Kind,Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\nKERNEL_DISPATCH,1,a,5,4\n",
            "Kind,Direction,Start_Timestamp\n",
            "Name,Calls\n",
            "Domain,Function,Start_Timestamp,End_Timestamp\nHIP,f,1\n",
        ]
    ));
}

#[test]
fn nvbench_and_databases_without_a_path() {
    assert_snapshot!(errors(
        "nvbench",
        &[
            "{}",
            r#"{"benchmarks": [{}]}"#,
            r#"{"benchmarks": [{"name": "a", "states": [{"is_skipped": false}]}]}"#,
            r#"{"benchmarks": [{"name": "a", "states": [{"summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "nan"}]}]}]}]}"#,
        ]
    ));
    assert_snapshot!(errors("nsys", &["SQLite format 3\0"]));
}

#[test]
fn what_nothing_recognises_is_reported_as_no_profile() {
    assert_snapshot!(refused("some text", &Options::default()));
}

#[test]
fn google_benchmark() {
    assert_snapshot!(errors(
        "google-benchmark",
        &[
            "",
            "[]",
            r#"{"benchmarks": 1}"#,
            r#"{"benchmarks": [{}]}"#,
            r#"{"benchmarks": [{"name": "a", "real_time": "fast"}]}"#,
            r#"{"benchmarks": [{"name": "a", "real_time": 1, "time_unit": "parsec"}]}"#,
            r#"{"benchmarks": [{"name": "a", "real_time": NaN}]}"#,
            r#"{"benchmarks": [{"name": "a", "real_time": NaM}]}"#,
            r#"{"benchmarks": [{"name": "a", "real_time": 1"#,
        ]
    ));
}

#[test]
fn pytest_benchmark() {
    assert_snapshot!(errors(
        "pytest-benchmark",
        &[
            "",
            "{}",
            r#"{"benchmarks": [{"name": "a", "stats": {}}]}"#,
            r#"{"benchmarks": [{"fullname": "a"}]}"#,
            r#"{"benchmarks": [{"fullname": "a", "stats": {"data": ["x"]}}]}"#,
            r#"{"benchmarks": [{"fullname": "a", "stats": {"data": []}}]}"#,
            r#"{"machine_info": {"cpu": {"count": -1}}, "benchmarks": []}"#,
        ]
    ));
}

#[test]
fn pyperf() {
    assert_snapshot!(errors(
        "pyperf",
        &[
            "",
            "{}",
            r#"{"benchmarks": [{"metadata": {"name": "a"}}]}"#,
            r#"{"benchmarks": [{"runs": [{"values": 1}]}]}"#,
            r#"{"benchmarks": [{"runs": [{"warmups": [[1, 2]]}]}]}"#,
        ]
    ));
}

#[test]
fn jmh() {
    assert_snapshot!(errors(
        "jmh",
        &[
            "",
            "{}",
            "[]",
            r#"[{"benchmark": "a"}]"#,
            r#"[{"benchmark": "a", "primaryMetric": {"scoreUnit": "ms/op", "rawData": [1]}}]"#,
            r#"[{"benchmark": "a", "primaryMetric": {"scoreUnit": "ms/op", "rawData": [["x"]]}}]"#,
            r#"[{"benchmark": "a", "primaryMetric": {"scoreUnit": "ops/s", "rawData": [[0]]}}]"#,
            r#"[{"benchmark": "a", "primaryMetric": {"scoreUnit": "s/op", "rawDataHistogram": [[[[1]]]]}}]"#,
        ]
    ));
}

#[test]
fn benchmark_dotnet() {
    assert_snapshot!(errors(
        "benchmarkdotnet",
        &[
            "",
            r#"{"Benchmarks": []}"#,
            r#"{"Benchmarks": [{"Method": "a"}]}"#,
            r#"{"Benchmarks": [{"FullName": "a", "Measurements": [{}]}]}"#,
            r#"{"Benchmarks": [{"FullName": "a", "Measurements": [{"IterationMode": 1}]}]}"#,
            r#"{"HostEnvironmentInfo": {"LogicalCoreCount": "two"}, "Benchmarks": []}"#,
        ]
    ));
}

#[test]
fn catch2() {
    assert_snapshot!(errors(
        "catch2",
        &[
            "",
            "text",
            "<Catch></Catch>",
            "<Catch><TestCase name=\"a\">\n</Catch>",
            "<Catch><BenchmarkResults name=\"a\">\n",
            "<Catch>\n<BenchmarkResults><mean value=\"1\"/></BenchmarkResults></Catch>",
            "<Catch><BenchmarkResults name=\"a\"><mean/></BenchmarkResults></Catch>",
            "<Catch><BenchmarkResults name=\"a\"><mean value=\"fast\"/></BenchmarkResults></Catch>",
            "<Catch><BenchmarkResults name=\"&what;\"/></Catch>",
            "<Catch><mean value=\"1\"/></Catch>",
        ]
    ));
}

#[test]
fn go() {
    assert_snapshot!(errors(
        "go",
        &[
            "",
            "PASS\nok \texample.com/a\t0.1s\n",
            "BenchmarkA-8\n",
            "BenchmarkA-8 100\n",
            "BenchmarkA-8 100 fast ns/op\n",
            "BenchmarkA-8 many 12 ns/op\n",
            "BenchmarkA-8 100 -12 ns/op\n",
        ]
    ));
}

#[test]
fn divan() {
    assert_snapshot!(errors(
        "divan",
        &[
            "",
            "div  fastest  │ slowest  │ median  │ mean  │ samples │ iters\n",
            "├─ a  1 ns  │ 1 ns  │ 1 ns  │ 1 ns  │ 1  │ 1\n",
            "div  fastest  │ slowest  │ median  │ mean  │ samples │ iters\n├─ a  1 ns  │ 1 ns\n",
            "div  fastest  │ slowest  │ median  │ mean  │ samples │ iters\n╰─ a  1 ns  │ 1 ns  │ 1 parsec  │ 1 ns  │ 1  │ 1\n",
        ]
    ));
}

#[test]
fn criterion_console() {
    assert_snapshot!(errors(
        "criterion-console",
        &[
            "",
            "\n",
            "a    time:   [1 ns 2 ns",
            "a    time:   [1 ns 2 ns]\n\n",
            "a    time:   [1 ns fast ns 3 ns]\n\n",
            "a    time:   [1 ns -2 ns 3 ns]\n\n",
            "a    time:   [-1.0% +0.5% +2.0%] (p = 0.50 > 0.05)\n\n",
        ]
    ));
}

#[test]
fn libtest() {
    assert_snapshot!(errors(
        "libtest",
        &[
            "",
            "test a ... ok\n",
            "running 1 test\ntest a ... ignored\n\ntest result: ok. 0 passed\n",
            "test a ... bench: fast ns/iter (+/- 1)\n",
            "test a ... bench: 5 ns/iter (+/-",
            "test a ... bench: 5 parsec/iter (+/- 1)\n",
            "test a ... bench: -5 ns/iter (+/- 1)\n",
        ]
    ));
}

#[test]
fn github_action_benchmark() {
    assert_snapshot!(errors(
        "github-action-benchmark",
        &[
            "",
            "window.BENCHMARK_DATA = ",
            "window.BENCHMARK_DATA = {}",
            r#"window.BENCHMARK_DATA = {"entries": {}}"#,
            r#"window.BENCHMARK_DATA = {"entries": {"a": [{}]}}"#,
            r#"window.BENCHMARK_DATA = {"entries": {"a": [{"benches": [{"name": "a", "value": "b"}]}]}}"#,
            r#"[{"name": "a", "unit": "ns", "value": "fast"}]"#,
            r#"[{"name": "a", "unit": "ns", "value": -1}]"#,
            r#"[{"name": "a", "unit": "ns", "value": 1"#,
        ]
    ));
}

#[test]
fn catch2_console() {
    let head = "benchmark name                       samples       iterations    estimated\n";
    let row = "small                                            5           537     279.24 us\n";
    let texts = [
        String::new(),
        "All tests passed (1 assertion in 1 test case)\n".to_owned(),
        head.to_owned(),
        format!("{head}{row}"),
        format!("{head}{row}All tests passed\n"),
        format!(
            "{head}{row}{:37}1 parsec 2 parsec 3 parsec\nAll tests passed\n",
            ""
        ),
        format!("{head}{row}{:37}-1 ns 2 ns 3 ns\nAll tests passed\n", ""),
    ];
    assert_snapshot!(errors(
        "catch2-console",
        &texts.each_ref().map(String::as_str)
    ));
}

#[test]
fn asv() {
    assert_snapshot!(errors(
        "asv",
        &[
            "",
            "{}",
            r#"{"results": []}"#,
            r#"{"results": {}}"#,
            r#"{"results": {"b.time_a": -1}}"#,
            r#"{"results": {"b.time_a": NaN}}"#,
            r#"{"results": {"b.time_a": {"result": [1, 2], "params": []}}}"#,
            r#"{"results": {"b.time_a": 1"#,
        ]
    ));
}

#[test]
fn gungraun() {
    assert_snapshot!(errors(
        "gungraun",
        &[
            "",
            "[]",
            "{}",
            "no JSON",
            r#"{"module_path": "a"}"#,
            r#"{"module_path": "a", "profiles": [{"tool": "Callgrind", "data": {"total": {"metrics": {"Ir": 5}}}}]}"#,
            r#"{"module_path": "a", "profiles": [{"tool"#,
        ]
    ));
}

#[test]
fn bmf() {
    assert_snapshot!(errors(
        "bmf",
        &[
            "",
            "[]",
            "{}",
            r#"{"a": 5}"#,
            r#"{"a": {}}"#,
            r#"{"a": {"latency": 5}}"#,
            r#"{"a": {"latency": {"value": "fast"}}}"#,
            r#"{"a": {"latency": {"value": -1}}}"#,
            r#"{"a": {"throughput": {"value": 0}}}"#,
            r#"{"a": {"latency": {"value": 1"#,
        ]
    ));
}

#[test]
fn criterion() {
    let said = |files: &[(&str, &str)]| {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("f/new");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let options = Options {
            from: Format::named("criterion"),
            ..Options::default()
        };
        let error = breakeven_import::read(directory.path(), &options).unwrap_err();
        let path = directory.path().to_str().unwrap();
        error.to_string().replace(path, "[dir]")
    };
    let name = ("benchmark.json", r#"{"full_id": "f"}"#);
    let said = [
        said(&[]),
        said(&[name]),
        said(&[name, ("sample.json", "")]),
        said(&[name, ("sample.json", r#"{"iters": [1, 2], "times": [2]}"#)]),
        said(&[name, ("sample.json", r#"{"iters": [0], "times": [2]}"#)]),
        said(&[name, ("estimates.json", r#"{"mean": {}}"#)]),
        said(&[
            ("benchmark.json", "{}"),
            ("sample.json", r#"{"iters": [1], "times": [2]}"#),
        ]),
    ];
    assert_snapshot!(said.join("\n"));
    let options = Options {
        from: Format::named("criterion"),
        ..Options::default()
    };
    assert_snapshot!(refused(r#"{"iters": [1], "times": [2]}"#, &options));
}
