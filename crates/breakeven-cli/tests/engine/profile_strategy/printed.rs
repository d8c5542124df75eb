//! What is printed of executions: a committed file in every format.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::Value;

use super::executions;
use crate::command::{directory, line, show};

/// Every way for an execution to come about and to end, and one that another
/// program recorded.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/executions.json")
}

#[test]
fn advice_and_winners_do_not_hold_spans_of_other_lengths_against_each_other() {
    let shown = show(&sample(), "--format json").quietly(0).json();
    let winners = shown["winners"].as_array().unwrap();
    let names: Vec<&str> = (winners.iter())
        .map(|winner| winner["operation"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["conv2d"]);
    let advice = line("advise --format json").arg(sample()).run().quietly(0);
    let advice = advice.json();
    let suggestions = advice["suggestions"].as_array().unwrap();
    assert!(
        suggestions.iter().any(|each| each["operation"] == "conv2d"),
        "{advice:#}"
    );
    let of_spans = |each: &&Value| each["operation"] == "pixel_entropy:span";
    let routed = |each: &Value| each["type"] == "ROUTING" && !each["target_device"].is_null();
    assert!(
        !suggestions.iter().filter(of_spans).any(routed),
        "{advice:#}"
    );
}

#[test]
fn printed() {
    let table = show(&sample(), "").quietly(0).stdout;
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
    assert_snapshot!("executions_table", executions(&table));
    let markdown = show(&sample(), "--format markdown").quietly(0).stdout;
    let part = markdown
        .lines()
        .skip_while(|line| !line.starts_with("| executed"));
    let part: Vec<&str> = part.take_while(|line| !line.starts_with("**")).collect();
    assert_snapshot!("executions_markdown", part.join("\n"));
    let csv = show(&sample(), "--format csv").quietly(0).stdout;
    assert_snapshot!("executions_csv", csv);
    let json = show(&sample(), "--format json").quietly(0).json();
    let file: Value = serde_json::from_str(&fs::read_to_string(sample()).unwrap()).unwrap();
    let [shown, written] = [&json, &file].map(|each| each["operations"].as_array().unwrap());
    for (shown, written) in shown.iter().zip(written) {
        assert_eq!(shown["executions"], written["executions"]);
    }
}

#[test]
fn what_a_terminal_would_obey_is_not_printed_of_executions() {
    let directory = directory();
    let file = directory.path().join("odd.json");
    let text = r#"{"format": "breakeven-profile", "version": 1, "operations": [
        {"name": "f", "device": "cpu", "size": 3, "samples_ns": [1, 2], "executions": {
            "strategy": "\u001b[2Jauto", "decided_by": {"\u0007rule": 1}, "why": "a\u001bb",
            "gpu_tasks": 7, "predicted_ns": -1, "device_error": "\u001b]0;x\u0007"}}]}"#;
    fs::write(&file, text).unwrap();
    for format in ["table", "markdown", "csv"] {
        let printed = show(&file, &format!("--format {format}")).quietly(0).stdout;
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!printed.contains(obeyed), "{format}: {printed:?}");
    }
}
