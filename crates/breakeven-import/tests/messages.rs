//! What is said of a file that is another format of a known tool, and of entries that
//! cannot be read.

use breakeven_import::Options;

use crate::support::{read_text, refused};

#[test]
fn another_format_of_a_known_tool_is_refused_with_the_option_that_writes_what_is_read() {
    let texts = [
        (
            "Benchmark              Time             CPU   Iterations\nBM_a   5 ns   5 ns   100\n",
            "--benchmark_out_format=json",
        ),
        (
            "name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n",
            "--benchmark_out_format=json",
        ),
        (
            "Benchmark     Mode  Cnt  Score   Error  Units\nA.x   avgt  5 1.0 ± 0.1 ms/op\n",
            "-rf json",
        ),
        (
            "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\"\n",
            "-rf json",
        ),
        (
            "| Method |     Mean |   Error |\n|------- |---------:|--------:|\n",
            "--exporters json",
        ),
        ("| Command | Mean [ms] | Min [ms] |\n", "--export-json"),
        (
            "command,mean,stddev,median,user,system,min,max\n",
            "--export-json",
        ),
        (
            "Benchmark 1: sleep 1\n  Time (mean ± σ):      1.002 s ±  0.001 s\n",
            "--export-json",
        ),
        (
            "------------ benchmark: 2 tests ------------\n",
            "--benchmark-json",
        ),
        (
            ".....................\nMean +- std dev: 5.1 us +- 0.1 us\n",
            "-o FILE",
        ),
        ("[50.00%] ··· Running (bench.time_a--).\n", "asv"),
        ("· Creating environments\n· Discovering benchmarks\n", "asv"),
        (
            "[ 50.00%] ··· bench.TimeSuite.time_keys   10.3±0.2μs\n",
            "asv",
        ),
        (
            "| Method     | Mean     | Error   |\n|----------- |---------:|--------:|\n",
            "--exporters json",
        ),
        ("→ any text\n", "it is not JSON"),
        ("[INFO] a line\n", "it is no JSON object"),
        ("│ old.txt │ new.txt │\n│ sec/op │ sec/op │\n", "benchstat"),
    ];
    for (text, instead) in texts {
        let said = refused(text, &Options::default());
        assert!(said.contains(instead), "{text}: {said}");
    }
}

#[test]
fn an_entry_that_cannot_be_read_is_named_and_the_others_are_kept() {
    let files = [
        r#"{"results": [{"command": "a", "times": ["x"]}, {"command": "b", "times": [1]}]}"#,
        r#"{"context": {"num_cpus": []}, "benchmarks": [{"name": "a", "real_time": "fast"}, {"name": "b", "real_time": 1}]}"#,
        r#"{"machine_info": {"cpu": {"count": -1}}, "benchmarks": [{"fullname": "a"}, {"fullname": "b", "stats": {"data": [1]}}]}"#,
        r#"{"benchmarks": [{"name": "a", "runs": 5}, {"metadata": {"name": "b"}, "runs": [{"values": [1]}]}]}"#,
        r#"[{"benchmark": "a", "primaryMetric": 1}, {"benchmark": "b", "primaryMetric": {"scoreUnit": "s/op", "rawData": [[1]]}}]"#,
        r#"{"HostEnvironmentInfo": {"ProcessorName": {"Value": "CPU X"}, "LogicalCoreCount": "two"},
            "Benchmarks": [{"FullName": "a", "Measurements": 1}, {"FullName": "b", "Statistics": {"OriginalValues": [1]}}]}"#,
        r#"{"lastUpdate": 1, "entries": {"s": [{"benches": [{"name": "a", "value": "x", "unit": "ns"}, {"name": "b", "value": 1, "unit": "ns"}]}]}}"#,
    ];
    for file in files {
        let imported = read_text(file);
        let names: Vec<&str> = imported
            .profile
            .operations
            .iter()
            .filter(|each| each.failure.is_none())
            .map(|each| each.name.as_str().trim_start_matches("s: "))
            .collect();
        assert_eq!(names, ["b"], "{file}");
        let said = imported
            .notes
            .iter()
            .map(ToString::to_string)
            .find(|note| note.contains("left out"));
        let said = said.unwrap_or_else(|| panic!("no note on {file}"));
        assert!(said.contains("number 1, a:"), "{said}");
    }
}

#[test]
fn google_benchmark_is_recognised_without_its_context() {
    let imported = read_text(
        r#"{"context": {}, "benchmarks": [{"name": "a", "real_time": 5, "time_unit": "ns"}]}"#,
    );
    assert_eq!(
        imported.format.map(|format| format.name()),
        Some("google-benchmark")
    );
}

#[test]
fn the_name_of_a_processor_may_be_a_lazy_value() {
    let file = r#"{"HostEnvironmentInfo": {"ProcessorName": {"IsValueCreated": true, "Value": "CPU X"}},
        "Benchmarks": [{"FullName": "a", "Statistics": {"OriginalValues": [1]}}]}"#;
    let cpu = read_text(file).profile.environment.cpu.unwrap();
    assert_eq!(cpu.model.as_deref(), Some("CPU X"));
}

#[test]
fn a_file_of_a_tool_without_any_benchmark_says_so() {
    for text in [
        "PASS\nok  \texample.com/p\t0.1s\n",
        "?   \texample.com/p\t[no test files]\n",
        r#"{"results": []}"#,
        r#"{"context": {"num_cpus": 8}, "benchmarks": []}"#,
        r#"{"HostEnvironmentInfo": {}, "Benchmarks": []}"#,
        r#"{"machine_info": {}, "benchmarks": []}"#,
    ] {
        let said = refused(text, &Options::default());
        assert!(
            said.contains("the file holds no times; look whether"),
            "{text}: {said}"
        );
    }
}

#[test]
fn a_figure_in_place_of_samples_is_noted_where_it_is_one() {
    let notes = |text: &str| -> Vec<String> {
        let imported = read_text(text);
        imported.notes.iter().map(ToString::to_string).collect()
    };
    let mean = r#"{"results": [{"command": "a", "mean": 2.0}]}"#;
    assert_eq!(
        notes(mean),
        ["the file holds no samples; the mean of each operation counts as one sample"]
    );
    let jmh = r#"[{"benchmark": "a", "primaryMetric": {"score": "NaN", "scoreUnit": "ms/op", "rawData": []}},
        {"benchmark": "b", "primaryMetric": {"score": 1, "scoreUnit": "ms/op", "rawData": [[1]]}}]"#;
    assert!(!notes(jmh).iter().any(|note| note.contains("no sample")));
}
