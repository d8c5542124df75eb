//! A failure that a file reports is a failed operation, and what was measured is kept.

use breakeven_import::Imported;
use breakeven_profile::profile::Operation;

use crate::support::read_text;

#[track_caller]
fn operation<'i>(imported: &'i Imported, name: &str) -> &'i Operation {
    let found = imported
        .profile
        .operations
        .iter()
        .find(|each| each.name == name);
    found.unwrap_or_else(|| panic!("{name} in {:?}", imported.profile.operations))
}

#[track_caller]
fn failure(imported: &Imported, name: &str) -> String {
    let failure = operation(imported, name).failure.as_ref();
    failure.map_or_else(String::new, ToString::to_string)
}

fn hyperfine(codes: &str) -> Imported {
    read_text(format!(
        r#"{{"results": [{{"command": "make", "median": 1, "times": [1, 2, 3], "exit_codes": {codes}}}]}}"#
    ))
}

#[test]
fn executions_that_ended_with_another_exit_code_are_no_times() {
    let some = hyperfine("[0, 2, 0]");
    assert_eq!(
        failure(&some, "make"),
        "1 of 3 executions ended with exit code 2"
    );
    assert_eq!(operation(&some, "make").runs[0].samples_ns, [1e9, 3e9]);
    let all = hyperfine("[2, 2, 2]");
    assert_eq!(
        failure(&all, "make"),
        "3 of 3 executions ended with exit code 2"
    );
    assert!(operation(&all, "make").runs.is_empty());
    let killed = hyperfine("[null, null, null]");
    assert_eq!(
        failure(&killed, "make"),
        "3 of 3 executions were killed by a signal"
    );
    assert_eq!(failure(&hyperfine("[0, 0, 0]"), "make"), "");
    let summary = r#"{"results": [{"command": "make", "median": 1, "exit_codes": [1]}]}"#;
    assert!(operation(&read_text(summary), "make").runs.is_empty());
}

const HEAD: &str = "goos: linux\npkg: example.com/p\nBenchmarkA-8 10 1000 ns/op\n";

#[test]
fn a_package_of_go_that_panicked_failed() {
    let text = format!(
        "{HEAD}panic: index out of range\n\ngoroutine 1 [running]:\nexit status 2\nFAIL\texample.com/p\t18.1s\nFAIL\n"
    );
    let imported = read_text(text);
    assert_eq!(
        operation(&imported, "example.com/p.BenchmarkA-8").failure,
        None
    );
    assert_eq!(
        failure(&imported, "example.com/p"),
        "panic: index out of range"
    );
    assert!(imported.profile.interrupted);
    // Without the go command around it nothing follows the panic.
    let alone = read_text(format!("{HEAD}panic: index out of range\n"));
    assert_eq!(
        failure(&alone, "example.com/p"),
        "panic: index out of range"
    );
}

#[test]
fn a_benchmark_of_go_that_was_running_failed() {
    let text = format!(
        "{HEAD}BenchmarkC-8   \tpanic: test timed out after 30m0s\nrunning tests:\n\tBenchmarkC (29m50s)\n\nexit status 2\nFAIL\texample.com/p\t1800.1s\nFAIL\n"
    );
    let imported = read_text(text);
    assert_eq!(
        failure(&imported, "example.com/p.BenchmarkC-8"),
        "panic: test timed out after 30m0s"
    );
    assert_eq!(imported.profile.operations.len(), 2);
    let verbose = format!("{HEAD}BenchmarkC\npanic: no\nFAIL\texample.com/p\t1s\n");
    assert_eq!(
        failure(&read_text(verbose), "example.com/p.BenchmarkC-8"),
        "panic: no"
    );
}

#[test]
fn a_package_of_go_that_was_not_built_failed_and_one_that_logs_a_panic_did_not() {
    let built =
        format!("{HEAD}PASS\nok  \texample.com/p\t1s\nFAIL\texample.com/q [build failed]\n");
    assert_eq!(
        failure(&read_text(built), "example.com/q"),
        "[build failed]"
    );
    let alone = read_text("FAIL\texample.com/q [build failed]\n");
    assert_eq!(failure(&alone, "example.com/q"), "[build failed]");
    let logged = format!("{HEAD}panic: recovered\nPASS\nok  \texample.com/p\t1s\n");
    let logged = read_text(logged);
    assert_eq!(logged.profile.operations.len(), 1);
    assert!(!logged.profile.interrupted);
}

#[test]
fn log_lines_within_a_result_of_go_do_not_lose_it() {
    let text = format!(
        "{HEAD}BenchmarkServe-8   \t2026/01/02 10:00:00 listening on :8080\nlevel: info\n2026/01/02 shutting down\n     100\t  11234567 ns/op\t    512 B/op\nBenchmarkPlain-8 \t 5\t 1000 ns/op\nPASS\n"
    );
    let imported = read_text(text);
    let serve = operation(&imported, "example.com/p.BenchmarkServe-8");
    assert_eq!(serve.runs[0].samples_ns, [11_234_567.0]);
    assert_eq!(imported.profile.operations.len(), 3);
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    let lost =
        format!("{HEAD}BenchmarkServe-8   \tlistening\nBenchmarkPlain-8 \t 5\t 1000 ns/op\nPASS\n");
    let note = read_text(lost).notes[0].to_string();
    assert!(note.contains("BenchmarkServe-8, line 4"), "{note}");
}

#[test]
fn what_a_file_names_and_has_no_time_of_failed() {
    let other = r#"{"benchmark": "b", "primaryMetric": {"scoreUnit": "ms/op", "rawData": [[1]]}}"#;
    let jmh = format!(
        r#"[{{"benchmark": "a", "mode": "avgt", "primaryMetric": {{"score": "NaN", "scoreUnit": "ms/op", "rawData": []}}}}, {other}]"#
    );
    assert!(failure(&read_text(jmh), "a (avgt)").starts_with("no result"));
    let pytest = r#"{"machine_info": {}, "benchmarks": [{"fullname": "a", "stats": {}}, {"fullname": "b", "stats": {"median": 1}}]}"#;
    assert!(failure(&read_text(pytest), "a").starts_with("no result"));
    let catch2 = r#"<Catch2TestRun><TestCase name="t"><BenchmarkResults name="a"></BenchmarkResults>
        <BenchmarkResults name="b"><mean value="5"/></BenchmarkResults></TestCase></Catch2TestRun>"#;
    assert!(failure(&read_text(catch2), "t / a").starts_with("no result"));
}

#[test]
fn a_test_case_of_catch2_that_failed_failed() {
    let text = r#"<Catch2TestRun><TestCase name="t"><BenchmarkResults name="b"><mean value="5"/></BenchmarkResults>
        <OverallResult success="false"/></TestCase></Catch2TestRun>"#;
    let imported = read_text(text);
    assert_eq!(failure(&imported, "t"), "the test case failed");
    assert_eq!(failure(&imported, "t / b"), "");
}

#[test]
fn a_file_of_catch2_that_is_cut_or_has_a_bad_element_keeps_what_was_measured() {
    let bad = r#"<Catch2TestRun><TestCase name="t"><BenchmarkResults name="a"><mean value="fast"/></BenchmarkResults>
        <BenchmarkResults name="b"><mean value="5"/></BenchmarkResults>"#;
    let imported = read_text(bad);
    assert_eq!(operation(&imported, "t / b").runs[0].samples_ns, [5.0]);
    assert!(failure(&imported, "t / a").starts_with("no result"));
    assert!(imported.profile.interrupted);
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    let notes = notes.join("\n");
    assert!(
        notes.contains("fast is not a number") && notes.contains("ends early"),
        "{notes}"
    );
}

#[test]
fn what_a_tool_skipped_did_not_fail_and_is_named() {
    let google = read_text(
        r#"{"context": {"num_cpus": 8}, "benchmarks": [
            {"name": "a", "family_index": 0, "skipped": true, "skip_message": "no AVX"},
            {"name": "a", "family_index": 1, "real_time": 5},
            {"name": "b", "family_index": 2, "error_occurred": true, "error_message": "no memory"}]}"#,
    );
    let names: Vec<&str> = (google.profile.operations.iter())
        .map(|each| each.name.as_str())
        .collect();
    // The name of the second does not depend on whether the first was skipped.
    assert_eq!(names, ["a #2", "b"]);
    assert_eq!(failure(&google, "b"), "no memory");
    let said = |imported: &Imported, text: &str| {
        let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
        assert!(notes.iter().any(|note| note == text), "{notes:?}");
    };
    said(
        &google,
        "1 benchmark(s) left out: their tool skipped them; the first is a: no AVX",
    );
    let summary = r#""summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": 1}]}]"#;
    let nvbench = read_text(format!(
        r#"{{"benchmarks": [{{"name": "k", "states": [{{"axis_values": [{{"name": "n", "value": 1}}], "is_skipped": true, "skip_reason": "too large"}},
            {{"axis_values": [{{"name": "n", "value": 2}}], "is_skipped": true, "skip_reason": "Unexpected error: no memory"}}, {{{summary}}}]}}]}}"#
    ));
    assert_eq!(nvbench.profile.operations.len(), 2);
    assert_eq!(failure(&nvbench, "k n=2"), "Unexpected error: no memory");
    said(
        &nvbench,
        "1 benchmark(s) left out: their tool skipped them; the first is k n=1: too large",
    );
}

#[test]
fn a_package_of_go_that_failed_before_its_first_result_failed() {
    let head = "goos: linux\npkg: p\n";
    for (text, reason) in [
        (
            "panic: oops\n\ngoroutine 1 [running]:\nexit status 2\nFAIL\tp\t0.1s\nFAIL\n",
            "panic: oops",
        ),
        ("FAIL\tp [setup failed]\nFAIL\n", "[setup failed]"),
        ("FAIL\tp [build failed]\nFAIL\n", "[build failed]"),
    ] {
        for head in [head, ""] {
            let imported = read_text(format!("{head}{text}"));
            assert_eq!(failure(&imported, "p"), reason);
            assert_eq!(imported.profile.operations.len(), 1);
        }
    }
    let events = r##"{"ImportPath":"p","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
"##;
    assert_eq!(failure(&read_text(events), "p"), "[build failed]");
}

#[test]
fn a_benchmark_of_go_whose_result_the_file_lacks_failed() {
    for line in [
        "BenchmarkC-8   \t",
        "BenchmarkC",
        "BenchmarkC-8 \tlistening",
    ] {
        let imported = read_text(format!("{HEAD}{line}"));
        assert!(
            failure(&imported, "example.com/p.BenchmarkC-8").starts_with("no result"),
            "{line}"
        );
        assert!(imported.profile.interrupted);
    }
}

#[test]
fn results_of_go_amid_log_lines_are_read_or_named() {
    let glued = read_text(format!("{HEAD}listeningBenchmarkC-8 10 100 ns/op\nPASS\n"));
    let found = operation(&glued, "example.com/p.BenchmarkC-8");
    assert_eq!(found.runs[0].samples_ns, [100.0]);
    let orphan = read_text(format!("{HEAD}     100\t 11234567 ns/op\nPASS\n"));
    let note = orphan.notes[0].to_string();
    assert!(
        note.contains("no name of a benchmark") && note.contains("line 4"),
        "{note}"
    );
}

#[test]
fn a_benchmark_of_go_that_was_skipped_is_named() {
    let imported = read_text(format!(
        "{HEAD}--- SKIP: BenchmarkB\n    x_test.go:1: no db\nPASS\n"
    ));
    assert_eq!(imported.profile.operations.len(), 1);
    let note = imported.notes[0].to_string();
    assert!(
        note.ends_with("the first is example.com/p.BenchmarkB-8: x_test.go:1: no db"),
        "{note}"
    );
}

#[test]
fn what_a_benchmark_of_divan_prints_in_place_of_its_figures_is_a_failure_or_none() {
    let head = "alpha   fastest  │ slowest  │ median  │ mean  │ samples │ iters\n";
    let figures = "2.4 µs  │ 2.6 µs  │ 2.5 µs  │ 2.5 µs  │ 10  │ 200\n";
    let panicked = read_text(format!(
        "{head}├─ fib   {figures}├─ bad   thread main panicked at benches/alpha.rs:5:\noops\n"
    ));
    let reason = "thread main panicked at benches/alpha.rs:5:";
    assert_eq!(failure(&panicked, "alpha::bad"), reason);
    let logged = read_text(format!("{head}├─ fib   log line here\n{figures}╰─ cut"));
    assert_eq!(
        operation(&logged, "alpha::fib").runs[0].samples_ns,
        [2500.0]
    );
    assert!(failure(&logged, "alpha::cut").starts_with("no result"));
}

#[test]
fn a_benchmark_that_criterion_or_libtest_did_not_finish_is_a_failure() {
    let measured = "a                       time:   [1 ns 2 ns 3 ns]\n\n";
    let stopped = read_text(format!(
        "{measured}Benchmarking b: 1\nBenchmarking b: 1: Warming up for 3.0000 s\n"
    ));
    assert!(stopped.profile.interrupted);
    assert!(failure(&stopped, "b: 1").starts_with("no result"));
    let panicked = read_text(format!(
        "{measured}Benchmarking b\nthread 'main' panicked at benches/a.rs:5:3:\nno input\n"
    ));
    assert!(failure(&panicked, "b").contains("panicked at benches/a.rs"));
    // With `--nocapture` what a benchmark prints is in its line and below it.
    let text = "running 2 tests\ntest a ... printed\nmore\nbench:   1,234.5 ns/iter (+/- 3)\n";
    let printed = read_text(format!("{text}test b ... printed\n"));
    assert_eq!(printed.profile.operations[0].runs[0].samples_ns, [1234.5]);
    assert!(printed.profile.interrupted);
    assert!(failure(&printed, "b").starts_with("no result"));
}

#[test]
fn one_name_in_two_programs_is_two_benchmarks_of_libtest() {
    let program = |path: &str, ns: u32| {
        format!(
            "     Running {path} (target/release/deps/x)\n\nrunning 1 test\ntest f ... bench: {ns} ns/iter (+/- 1)\n\ntest result: ok.\n\n"
        )
    };
    let both = [("a.rs", 1), ("b.rs", 2), ("a.rs", 3), ("b.rs", 4)];
    let text: String = both.map(|(path, ns)| program(path, ns)).concat();
    let operations = read_text(text).profile.operations;
    let runs = operations.iter().map(|each| {
        let samples = each.runs.iter().map(|run| run.samples_ns[0]);
        (each.name.as_str(), samples.collect::<Vec<_>>())
    });
    let runs: Vec<_> = runs.collect();
    assert_eq!(runs, [("f", vec![1.0, 3.0]), ("f #2", vec![2.0, 4.0])]);
}
