//! One bad spot never loses a file: what can be read is read, and a note has the place of
//! what is not.

use std::io::{Cursor, Write as _};

use breakeven_import::{Imported, Options, count_ns, read_from};
use breakeven_profile::file::{self, FileErrorKind};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::refused;

fn read_bytes(text: impl Into<Vec<u8>>) -> Imported {
    let text = text.into();
    let shown = String::from_utf8_lossy(&text).into_owned();
    read_from(Cursor::new(text), "file", &Options::default()).expect(&shown)
}

/// The name, calls and total of each operation, µs.
fn totals(imported: &Imported) -> Vec<(String, u64, f64)> {
    let operations = imported.profile.operations.iter();
    let totals = operations.map(|each| {
        let calls = each.runs.iter().map(|run| run.calls()).sum();
        (each.name.clone(), calls, each.total_ns() / 1e3)
    });
    let mut totals: Vec<_> = totals.collect();
    totals.sort_by(|a, b| a.0.cmp(&b.0));
    totals
}

fn notes(imported: &Imported) -> Vec<String> {
    imported.notes.iter().map(ToString::to_string).collect()
}

fn total(name: &str, calls: u64, us: f64) -> (String, u64, f64) {
    (name.to_owned(), calls, us)
}

#[test]
fn numbers_that_json_does_not_have_are_missing_and_the_rest_is_read() {
    let trace = read_bytes(
        r#"{"traceEvents": [{"ph": "X", "name": "a", "ts": 0, "dur": 10},
           {"ph": "X", "name": "b", "ts": 5, "dur": 1, "args": {"bandwidth": inf, "x": 1e999}},
           {"ph": "X", "name": "c", "ts": nan, "dur": 1}]}"#,
    );
    assert_eq!(totals(&trace), [total("a", 1, 10.0), total("b", 1, 1.0)]);
    assert_eq!(
        notes(&trace),
        [
            "1 event(s) left out: they have no time, or one that is not possible; the first is \
             traceEvents[2]",
            "line 2, column 78: \"inf\" is not JSON and read as missing (3 in all)",
        ]
    );
    let benchmark = read_bytes(
        r#"{"context": {"num_cpus": 8}, "benchmarks": [
           {"name": "a", "real_time": 2, "time_unit": "us", "items_per_second": inf},
           {"name": "b", "real_time": 3, "time_unit": "us", "gflops": -nan}]}"#,
    );
    assert_eq!(totals(&benchmark), [total("a", 1, 2.0), total("b", 1, 3.0)]);
    assert!(
        notes(&benchmark)
            .iter()
            .any(|note| note.contains("line 2, column"))
    );
}

#[test]
fn bytes_that_are_not_utf_8_and_control_characters_lose_no_event() {
    let text = b"[{\"ph\": \"X\", \"name\": \"caf\xe9\x01\", \"ts\": 0, \"dur\": 10},
        {\"ph\": \"X\", \"name\": \"C:\\Users\\udce9\", \"ts\": 1, \"dur\": 2}]";
    let trace = read_bytes(*text);
    assert_eq!(
        totals(&trace),
        [
            total("C:\\Users\u{fffd}", 1, 2.0),
            total("caf\u{fffd}\u{fffd}", 1, 10.0)
        ]
    );
    let notes = notes(&trace);
    assert!(notes[0].starts_with("line 1, column 26: "), "{notes:?}");
    assert!(notes[1].starts_with("line 1, column 27: "), "{notes:?}");
    let half = read_bytes(r#"[{"ph": "X", "name": "a\ud83d", "ts": 0, "dur": 10}]"#);
    assert_eq!(totals(&half), [total("a\u{fffd}", 1, 10.0)]);
    let lines = read_bytes(*b"goos: \xff\nBenchmarkA-8 100 12 ns/op\n");
    assert_eq!(lines.profile.operations.len(), 1);
}

#[test]
fn a_trailing_comma_and_a_cut_end_are_survived() {
    let trace = read_bytes(
        "{\"traceEvents\":[\n{\"name\":\"Map5\",\"ph\":\"X\",\"ts\":0,\"dur\":5,\"tid\":0},\n\n]\n}\n",
    );
    assert_eq!(totals(&trace), [total("Map5", 1, 5.0)]);
    assert!(!trace.profile.interrupted);
    let cut = read_bytes(
        r#"{"traceEvents": [{"ph": "X", "name": "a", "ts": 0, "dur": 10}, {"ph": "X", "name": "b"#,
    );
    assert_eq!(totals(&cut), [total("a", 1, 10.0)]);
    assert!(cut.profile.interrupted);
    assert!(notes(&cut)[0].contains(": only what comes before is read: the file ends early"));
    let broken = read_bytes(
        r#"[{"ph": "X", "name": "a", "ts": 0, "dur": 10} "x": 1}, {"ph": "X", "name": "b"}]"#,
    );
    assert_eq!(totals(&broken), [total("a", 1, 10.0)]);
}

#[test]
fn a_benchmark_file_that_ends_early_has_its_complete_entries() {
    let whole =
        r#"{"results": [{"command": "a", "times": [1, 2]}, {"command": "b", "times": [3, 4]}]}"#;
    let cut = read_bytes(&whole[..whole.len() - 5]);
    assert_eq!(totals(&cut), [total("a", 2, 3e6)]);
    let incomplete = "only what comes before is read: the file ends early";
    assert!(notes(&cut)[0].contains(incomplete), "{:?}", notes(&cut));
    let first = read_bytes(&whole[.."{\"results\": [{\"command\": \"a\", \"times\": [1, 2".len()]);
    assert_eq!(totals(&first), [total("a", 1, 1e6)]);
}

#[test]
fn a_compressed_file_that_ends_early_is_read_as_far_as_it_goes() {
    let events: Vec<String> = (0..20_000_u64)
        .map(|n| {
            let name = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!(r#"{{"ph": "X", "name": "a", "ts": {n}, "dur": 1, "args": {{"x": {name}}}}}"#)
        })
        .collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(format!("[{}]", events.join(",")).as_bytes())
        .expect("memory");
    let packed = packed.finish().expect("memory");
    for length in [packed.len() / 50, packed.len() / 2, packed.len() - 4] {
        let cut = read_bytes(&packed[..length]);
        assert!(cut.profile.operations[0].runs[0].calls() > 200);
        assert!(cut.profile.interrupted);
        assert!(
            notes(&cut)
                .iter()
                .any(|note| note.contains("compressed file ends early"))
        );
    }
}

#[test]
fn a_profile_is_never_cut_and_has_no_value_that_is_none() {
    let text = r#"{"format": "breakeven-profile", "version": 1, "operations": [{"name": "f", "samples_ns": [1, 2]}]}"#;
    assert_eq!(totals(&read_bytes(text)), [total("f", 2, 0.003)]);
    let kind = |text: String| {
        let error = read_from(Cursor::new(text), "file", &Options::default());
        error.expect_err("an error").kind()
    };
    let cut = text[..text.len() - 3].to_owned();
    assert_eq!(kind(cut), FileErrorKind::Truncated);
    assert_eq!(
        kind(text.replace("[1, 2]", "[1, -1]")),
        FileErrorKind::Value
    );
    assert_eq!(
        kind(text.replace("[1, 2]", "[1, null]")),
        FileErrorKind::Value
    );
    assert_eq!(
        kind(text.replace("[1, 2]", "[1, NaN]")),
        FileErrorKind::Syntax
    );
}

#[test]
fn a_file_of_which_nothing_can_be_used_is_refused_with_its_reason() {
    let reported = refused(
        r#"{"traceEvents": [{"ph": "X", "ts": 1"#,
        &Options::default(),
    );
    assert!(reported.contains("the file ends early"), "{reported}");
    let reported = refused(
        r#"{"results": [{"command": "a", "times": ["#,
        &Options::default(),
    );
    assert!(reported.contains("the file ends early"), "{reported}");
}

#[test]
fn an_impossible_duration_or_event_is_left_out_with_its_place() {
    let trace = read_bytes(
        r#"{"deviceProperties": [{"id": "x"}, 5], "otherData": [1], "traceEvents": [
           {"ph": "X", "name": "k", "ts": 0, "dur": 5}, 5, null,
           {"ph": "X", "name": "k", "ts": 60, "dur": 7450000000000000.0},
           {"ph": "X", "name": "k", "ts": [1], "dur": 5}, {"ph": "X", "name": "k", "ts": 70, "dur": "5"}]}"#,
    );
    assert_eq!(totals(&trace), [total("k", 2, 10.0)]);
    let note = "4 event(s) left out: they have no time, or one that is not possible; the first \
                is traceEvents[1]";
    assert_eq!(notes(&trace), [note]);
}

#[test]
fn a_beginning_far_from_all_others_does_not_change_when_it_is_written() {
    let trace = read_bytes(
        r#"[{"ph": "X", "name": "a", "ts": 0.001, "dur": 10}, {"ph": "X", "name": "a", "ts": 452166075029234.308, "dur": 2}]"#,
    );
    let mut written = Vec::new();
    file::write_to(&trace.profile, &mut written).expect("a profile that can be written");
    let again = file::read_from(&written[..], "file").expect("a profile that can be read");
    assert_eq!(again, trace.profile);
    assert_eq!(trace.profile.timeline.expect("events").dropped, 1);
}

#[test]
fn ends_and_beginnings_are_paired_in_any_order() {
    let ends = [
        r#"{"pid": 0, "tid": 0, "ph": "E", "name": "alpha", "ts": 9}"#,
        r#"{"pid": 0, "tid": 0, "ph": "B", "name": "alpha", "ts": 0}"#,
        r#"{"pid": 0, "tid": 0, "ph": "B", "name": "beta", "ts": 1}"#,
        r#"{"pid": 0, "tid": 0, "ph": "E", "name": "beta", "ts": 8}"#,
        r#"{"pid": 0, "tid": 1, "ph": "E", "ts": 3}"#,
        r#"{"pid": 0, "tid": 1, "ph": "B", "name": "gamma", "ts": 2}"#,
        r#"{"pid": 0, "tid": 1, "ph": "e", "name": "delta", "id": 7, "cat": "x", "ts": 6}"#,
        r#"{"pid": 0, "tid": 1, "ph": "b", "name": "delta", "id": 7, "cat": "x", "ts": 2}"#,
    ];
    for turned in 0..ends.len() {
        let mut ends = ends;
        ends.rotate_left(turned);
        let trace = read_bytes(format!("[{}]", ends.join(",")));
        let expected = [
            total("alpha", 1, 9.0),
            total("beta", 1, 7.0),
            total("delta", 1, 4.0),
            total("gamma", 1, 1.0),
        ];
        assert_eq!(totals(&trace), expected);
        assert_eq!(notes(&trace), <[String; 0]>::default());
        let stacks = trace
            .profile
            .stacks
            .iter()
            .map(|stack| stack.frames.join(";"));
        assert!(
            stacks
                .collect::<Vec<_>>()
                .contains(&"alpha;beta".to_owned())
        );
    }
}

#[test]
fn busy_time_is_the_same_whatever_the_order_of_events() {
    let half = 100_000_u64;
    let halves = (half..2 * half).chain(0..half);
    let scrambled = (0..2 * half).map(|n| n * 7_919 % (2 * half));
    let orders: [Vec<u64>; 2] = [halves.collect(), scrambled.collect()];
    for order in orders {
        let events = order.iter().map(|n| {
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "k", "ts": {}, "dur": 1, "args": {{"device": 0, "stream": 7}}}}"#,
                2 * n
            )
        });
        let trace = read_bytes(format!("[{}]", events.collect::<Vec<_>>().join(",")));
        let activity = &trace.profile.activity[0];
        assert_eq!(activity.busy_ns, 2 * half * 1_000);
        assert_eq!(activity.streams[0].busy_ns, 2 * half * 1_000);
        assert_eq!(notes(&trace), <[String; 0]>::default());
    }
}

#[test]
fn annotations_of_a_gpu_are_no_kernels_and_have_no_time_of_their_own() {
    let event = |category: &str, name: &str, start: u32, duration: u32| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": {duration}, "args": {{"device": 0, "stream": 7}}}}"#
        )
    };
    let events = [
        event("gpu_user_annotation", "fwd", 0, 60),
        event("kernel", "gemm", 0, 30),
        event("kernel", "relu", 40, 20),
    ];
    let trace = read_bytes(format!("[{}]", events.join(",")));
    let own = trace.profile.operations.iter().map(|each| {
        let own: f64 = each.runs.iter().map(|run| run.own_ns()).sum();
        (each.name.as_str(), own)
    });
    let own: Vec<_> = own.collect();
    assert_eq!(own, [("fwd", 0.0), ("gemm", 30_000.0), ("relu", 20_000.0)]);
    let activity = &trace.profile.activity[0];
    assert_eq!((activity.kernels, activity.busy_ns), (2, 50_000));
}

#[test]
fn a_trace_without_kernels_says_so() {
    let launch = r#"[{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 2, "args": {"correlation": 5}}]"#;
    let trace = read_bytes(launch);
    assert!(notes(&trace)[0].starts_with("there is no kernel: the trace has launches"));
    let copy = r#"[{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 1, "dur": 2, "args": {"device": 0}}]"#;
    assert!(notes(&read_bytes(copy))[0].starts_with("there is no kernel on cuda:0"));
}

#[test]
fn folded_stacks_survive_a_bad_line_and_refuse_two_counts_a_line() {
    let options = Options {
        count_ns: count_ns("us"),
        ..Options::default()
    };
    let text = "main;work;inner 31\nmain;work 6\nTHIS IS A BAD LINE\nmain;other 19\n";
    let imported = read_from(Cursor::new(text), "file", &options).expect(text);
    assert!(totals(&imported).contains(&total("main", 1, 56.0)));
    assert_eq!(
        notes(&imported),
        ["1 line(s) left out: they do not end in a space and a count; the first is line 3"]
    );
    let two = "main;work;inner 31 56\nmain;work 6 2\nmain;idle 27";
    assert!(refused(two, &options).contains("most lines have two counts"));
}

#[test]
fn events_of_speedscope_that_cannot_be_are_left_out() {
    let text = r#"{"shared": {"frames": [{"name": "a"}, {"name": "b"}]}, "profiles": [
        {"type": "evented", "name": "main", "unit": "microseconds", "events": [
        {"type": "O", "at": 0, "frame": 0}, {"type": "O", "at": 1, "frame": 1},
        {"type": "C", "at": "soon", "frame": 1}, 5, {"type": "C", "at": 2, "frame": 3},
        {"type": "C", "at": 9, "frame": 0}, {"type": "O", "at": 9, "frame": 7},
        {"type": "C", "at": 10, "frame": 7}]},
        {"type": "evented", "name": "cut"#;
    let imported = read_bytes(text);
    assert_eq!(
        totals(&imported),
        [total("(frame 7)", 1, 1.0), total("a", 1, 9.0)]
    );
    let notes = notes(&imported);
    assert!(notes[0].starts_with("3 event(s) left out: "), "{notes:?}");
    assert!(
        notes[0].ends_with("the first is events[2] of \"main\""),
        "{notes:?}"
    );
}

#[test]
fn records_of_rocprofv3_that_cannot_be_are_left_out() {
    let text = r#"{"rocprofiler-sdk-tool": [{"agents": [{"id": 5}], "buffer_records": {"kernel_dispatch": [
        {"start_timestamp": 1, "end_timestamp": "x"}, 7,
        {"start_timestamp": 5000, "end_timestamp": 7000, "dispatch_info": {"agent_id": {"handle": 1}, "kernel_id": 4}}]}}]}"#;
    let imported = read_bytes(text);
    assert_eq!(totals(&imported), [total("kernel 4", 1, 2.0)]);
    assert!(notes(&imported)[0].ends_with("the first is buffer_records.kernel_dispatch[0]"));
}

#[test]
fn what_is_not_read_of_a_known_tool_says_what_is() {
    let reported = |name: &str, text: &str| {
        let text = Cursor::new(text.as_bytes().to_vec());
        let error = read_from(text, name, &Options::default()).expect_err(name);
        let kinds = [FileErrorKind::NotAProfile, FileErrorKind::Format];
        assert!(kinds.contains(&error.kind()), "{error}");
        error.message().to_owned()
    };
    for (name, text, expected) in [
        ("report.nsys-rep", "\u{1}x", "nsys export --type sqlite"),
        ("cpu.pb.gz", "\u{1}x", "pprof"),
        ("perf.data", "PERFILE2\u{0}", "inferno-collapse-perf"),
        ("flame.svg", "<?xml version=\"1.0\"?>\n<svg>", "speedscope"),
        (
            "p.cpuprofile",
            r#"{"nodes": [], "timeDeltas": []}"#,
            "speedscope",
        ),
        (
            "k_stats.csv",
            "\"Name\",\"Calls\",\"TotalDurationNs\"\n",
            "rocprofv3",
        ),
        ("some.txt", "some text", "not JSON"),
    ] {
        let reported = reported(name, text);
        assert!(reported.contains(expected), "{name}: {reported}");
        assert!(
            !reported.contains("byte") && !reported.contains('['),
            "{name}: {reported}"
        );
    }
}

/// Each file with what is beside its times in another shape, and a part of the note on it.
#[test]
fn what_is_beside_the_times_may_have_any_shape() {
    let files = [
        (
            r#"{"machine_info": 5, "datetime": 17, "version": 5.1, "benchmarks": [
                {"fullname": "f", "stats": {"data": [1e-6]}}]}"#,
            "datetime",
        ),
        (
            r#"[{"benchmark": "f", "jmhVersion": 1.37, "threads": "max", "params": null,
                "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1]]}, "secondaryMetrics": null}]"#,
            "jmhVersion",
        ),
        (
            r#"[{"benchmark": "f", "secondaryMetrics": {"gc": 5, "x": null},
                "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1]]}}]"#,
            "secondaryMetrics.gc",
        ),
        (
            r#"{"Benchmarks": [{"FullName": "f", "DisplayInfo": null, "Metrics": [null, 5],
                "Statistics": {"OriginalValues": [1000]}}]}"#,
            "Metrics[0]",
        ),
        (
            r#"{"results": [{"command": "f", "exit_codes": null, "memory_usage_byte": "much",
                "times": [1e-6]}]}"#,
            "memory_usage_byte",
        ),
        (
            r#"{"context": 5, "benchmarks": [{"name": "f", "real_time": 1000, "label": 5}]}"#,
            "label",
        ),
        (
            r#"{"lastUpdate": 1, "entries": {"s": [{"commit": "abc", "date": "today",
                "benches": [{"name": "f", "value": 1000, "unit": "ns"}]}]}}"#,
            "commit",
        ),
        (
            r#"{"devices": 5, "benchmarks": [{"name": "f", "states": [{"axis_values": 5,
                "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": 1e-6}]}]}]}]}"#,
            "devices",
        ),
    ];
    for (file, place) in files {
        let imported = read_bytes(file);
        let name = &imported.profile.operations[0].name;
        let expected = total(name, 1, 1.0);
        assert_eq!(totals(&imported), [expected], "{file}");
        assert!(name.starts_with(['f', 's']), "{name}");
        let notes = notes(&imported);
        assert!(notes.iter().any(|note| note.contains(place)), "{notes:?}");
    }
    // Null is as good as nothing.
    let null = r#"{"results": [{"command": "f", "exit_codes": null, "times": [1e-6, 2e-6]}]}"#;
    assert_eq!(notes(&read_bytes(null)), [""; 0]);
}

#[test]
fn a_file_may_have_both_another_shape_and_what_json_does_not_have() {
    let text = r#"{"machine_info": {}, "datetime": 17, "benchmarks": [
        {"fullname": "f", "stats": {"data": [1e-6, NaN]}}]}"#;
    let imported = read_bytes(text);
    assert_eq!(totals(&imported), [total("f", 1, 1.0)]);
    let notes = notes(&imported);
    let found = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(found("datetime") && found("\"NaN\""), "{notes:?}");
}

#[test]
fn a_value_that_is_none_costs_no_other_value_of_its_list() {
    let text = r#"{"results": [{"command": "f", "times": [1e-6, "slow", 3e-6], "exit_codes": [0, 0, 1]}]}"#;
    let imported = read_bytes(text);
    assert_eq!(totals(&imported), [total("f", 1, 1.0)]);
    assert!(
        notes(&imported)[0].contains("number 1, f: times[1]: "),
        "{:?}",
        notes(&imported)
    );
}

#[test]
fn json_lines_are_mended_as_documents_are() {
    let lines = "{\"n\": \"f\", \"t\": 1, \"loss\": NaN}\n{\"n\": \"f\", \"t\": 2,}\n\
                 {\"n\": \"f\", \"t\": 3},\n{\"n\": \"f\", \"t\": NaN}\nno JSON\n";
    let options = Options {
        columns: Some("name=n,time=t,unit=us".parse().unwrap()),
        ..Options::default()
    };
    let imported = read_from(lines.as_bytes(), "file", &options).unwrap();
    assert_eq!(totals(&imported), [total("f", 3, 6.0)]);
    let notes = notes(&imported);
    let found = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(
        found("line 1, column 28: \"NaN\" is not JSON and read as missing (2 in all)"),
        "{notes:?}"
    );
    assert!(
        found("line 2, column") && found("2 row(s) left out"),
        "{notes:?}"
    );
    let go =
        "{\"Package\": \"p\", \"Elapsed\": NaN, \"Output\": \"BenchmarkA 10 1000 ns/op\\n\"}\n";
    let start = "{\"Action\": \"start\", \"Package\": \"p\"}\n";
    let imported = read_bytes([start, go].concat());
    assert_eq!(totals(&imported)[0].2, 1.0);
}

#[test]
fn a_benchmark_file_that_is_cut_behind_its_list_is_read() {
    let google =
        r#"{"context":{"num_cpus":4},"benchmarks":[{"name":"A","real_time":5,"time_unit":"ns"}]"#;
    let pytest = r#"{"machine_info":{},"benchmarks":[{"fullname":"A","stats":{"data":[1.0,2.0]}}],"datetime":"2026-"#;
    let dotnet = r#"{"HostEnvironmentInfo":{},"Benchmarks":[{"FullName":"A","Statistics":{"OriginalValues":[1]}}]"#;
    let pyperf =
        r#"{"benchmarks":[{"metadata":{"name":"A"},"runs":[{"values":[1]}]}],"metadata":{"a"#;
    let hyperfine = r#"{"results":[{"command":"A","times":[1.0,1.1]}]"#;
    let suites =
        r#"{"lastUpdate":1,"entries":{"A":[{"benches":[{"name":"A","value":1,"unit":"ns"}]}],"#;
    for text in [
        google,
        pytest,
        dotnet,
        pyperf,
        hyperfine,
        suites,
        &format!("{suites}\"B\":[{{\"com"),
    ] {
        let imported = read_bytes(text);
        assert_eq!(imported.profile.operations.len(), 1, "{text}");
        assert!(imported.profile.interrupted, "{text}");
        assert!(
            notes(&imported)
                .iter()
                .any(|note| note.contains("ends early")),
            "{text}"
        );
    }
    // A frame may look like the end of a cut document.
    let cut = r#"{"machine_info":{"flags":"a;b"},"benchmarks":[{"fullname":"A","stats":{"data":[1.0, 2.0"#;
    assert_eq!(
        read_bytes(cut).format.map(|format| format.name()),
        Some("pytest-benchmark")
    );
}

#[test]
fn an_event_with_a_quote_too_many_costs_no_other_event() {
    let event = |name: &str| {
        format!(r#"{{"ph": "X", "ts": 1, "dur": 5, "pid": 1, "tid": 1, "name": "{name}"}}"#)
    };
    let events = [
        event("a"),
        event("b\"b"),
        event("c"),
        event("d\" \"d"),
        event("e"),
    ];
    for join in [",", ", \n"] {
        let imported = read_bytes(format!("[{}]", events.join(join)));
        let names: Vec<String> = totals(&imported)
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        assert_eq!(names, ["a", "c", "e"], "{:?}", imported.notes);
        assert!(!imported.profile.interrupted);
        let skipped = |note: &String| note.contains("not valid JSON and skipped");
        assert!(notes(&imported).iter().any(skipped));
    }
}

#[test]
fn an_entry_of_speedscope_that_cannot_be_read_costs_no_other() {
    let text = r#"{"shared": {"frames": [{"name": "a"}]}, "profiles": [null, 5,
        {"type": "sampled", "unit": "bytes", "samples": [[0]], "weights": [3]},
        {"type": "evented", "unit": null, "events": [{"type": "O", "at": 0, "frame": 0}]},
        {"type": "sampled", "unit": "milliseconds", "samples": [[0]]},
        {"type": "sampled", "unit": "milliseconds", "samples": [[0], null, [0], [0], [0]], "weights": [3, 3, 3, "x", [1]]}]}"#;
    let imported = read_bytes(text);
    assert_eq!(totals(&imported), [total("a", 1, 6000.0)]);
    let all = notes(&imported).join("\n");
    for said in [
        "5 profile(s) left out",
        "number 1: ",
        "1 sample(s) left out",
        "2 weight(s) left out",
    ] {
        assert!(all.contains(said), "{said}: {all}");
    }
}

#[test]
fn a_time_without_a_zone_is_utc() {
    let pytest = |time: &str| {
        let text = format!(
            r#"{{"machine_info": {{}}, "datetime": "{time}", "benchmarks": [{{"fullname": "a", "stats": {{"data": [1]}}}}]}}"#
        );
        read_bytes(text).profile.created
    };
    let expected = Some("2026-01-01T10:00:00.123456Z".to_owned());
    assert_eq!(pytest("2026-01-01T10:00:00.123456"), expected);
    assert_eq!(pytest("2026-01-01T12:00:00.123456+02:00"), expected);
    assert_eq!(pytest("soon"), None);
    let google = r#"{"context": {"num_cpus": 1, "date": "2026-01-01 10:00:00"}, "benchmarks": [{"name": "a", "real_time": 1}]}"#;
    assert_eq!(
        read_bytes(google).profile.created.as_deref(),
        Some("2026-01-01T10:00:00Z")
    );
    // The first of the processes.
    let run =
        |time: &str| format!(r#"{{"values": [1], "metadata": {{"date": "2026-01-01 {time}"}}}}"#);
    let pyperf = format!(
        r#"{{"benchmarks": [{{"runs": [{}, {}]}}]}}"#,
        run("10:00:02"),
        run("10:00:01.5")
    );
    assert_eq!(
        read_bytes(pyperf).profile.created.as_deref(),
        Some("2026-01-01T10:00:01.5Z")
    );
}

#[test]
fn a_byte_order_mark_before_a_script_is_skipped() {
    let text = "\u{feff}window.BENCHMARK_DATA = {\"entries\": {\"s\": [{\"benches\": [{\"name\": \"a\", \"value\": 1, \"unit\": \"ns\"}]}]}}";
    assert_eq!(read_bytes(text).profile.operations.len(), 1);
}

#[test]
fn a_trace_of_annotations_alone_says_what_it_has() {
    let event = |kind: &str| {
        format!(
            r#"{{"ph": "X", "cat": "{kind}", "name": "{kind}", "ts": 1, "dur": 5, "pid": 0, "tid": 7, "args": {{"device": 0, "stream": 7}}}}"#
        )
    };
    let all = [
        event("cpu_op"),
        event("gpu_user_annotation"),
        event("cuda_sync"),
    ];
    let said = "there is no kernel: of the GPU the trace has cuda_sync, gpu_user_annotation alone; trace its kernels too";
    assert_eq!(notes(&read_bytes(format!("[{}]", all.join(",")))), [said]);
    assert!(notes(&read_bytes(format!("[{}]", all[0]))).is_empty());
}

#[test]
fn ends_far_from_their_beginnings_are_paired() {
    let event = |phase: &str, us: u32| {
        format!(r#"{{"ph": "{phase}", "name": "a", "ts": {us}, "pid": 1, "tid": 1}}"#)
    };
    let calls = 150_000;
    let begins = (0..calls).map(|call| event("B", 2 * call));
    let ends = (0..calls).map(|call| event("E", 2 * call + 1));
    let ends_first: Vec<String> = ends.chain(begins).collect();
    let imported = read_bytes(format!("[{}]", ends_first.join(",")));
    assert_eq!(
        totals(&imported),
        [total("a", u64::from(calls), f64::from(calls))]
    );
    assert!(notes(&imported).is_empty(), "{:?}", imported.notes);
}

#[test]
fn stacks_are_recognised_behind_a_bad_line() {
    for text in ["a;b\na;c 4\n", "a;b -10\na;c 4\n"] {
        assert!(
            refused(text, &Options::default()).contains("give the unit"),
            "{text}"
        );
    }
}

/// In the first entry a fault lost the file, in a later one all that followed.
#[test]
fn an_entry_of_a_benchmark_file_that_is_no_json_costs_no_other() {
    let entry = |name: &str| format!(r#"{{"command": "{name}", "times": [1.0, 1.1]}}"#);
    let wrong = [
        r#"{"command": "x" "times": [1.0]}"#,
        r#"{"command": "x", "times": [1.0 2.0]}"#,
        r#"{"command": x, "times": [1.0]}"#,
        r#"{"command": "x", "times": [1.0}"#,
    ];
    for wrong in wrong {
        for place in 0..3 {
            let mut entries = vec![entry("a"), entry("b")];
            entries.insert(place, wrong.to_owned());
            let imported = read_bytes(format!("{{\"results\": [{}]}}", entries.join(", ")));
            let operations = imported.profile.operations.iter();
            let names: Vec<&str> = operations.map(|each| each.name.as_str()).collect();
            assert_eq!(
                names,
                ["a", "b"],
                "{wrong} at {place}: {:?}",
                imported.notes
            );
            assert!(!imported.notes.is_empty() && !imported.profile.interrupted);
        }
    }
}
