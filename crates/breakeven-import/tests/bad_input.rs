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
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2}, {"ph": "X", "ts": "soon"}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": [1], "dur": 2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1e300, "dur": 2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 99999999999999999999, "dur": 2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": -2}]}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2}"#,
            r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2}]} []"#,
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
fn what_nothing_recognises_is_told_as_no_profile() {
    assert_snapshot!(refused("some text", &Options::default()));
}
