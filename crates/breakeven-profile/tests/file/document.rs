//! What a file may say, and the documentation of it.

use breakeven_profile::file::{FORMAT, VERSION};
use breakeven_profile::profile::{Operation, Run};

use super::{parse, with_operations};

const FORMAT_PAGE: &str = include_str!("../../../../docs/profile-format.md");

#[test]
fn every_example_of_the_documentation_is_a_profile() {
    let examples: Vec<&str> = FORMAT_PAGE
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(examples.len() >= 5);
    for example in examples {
        let profile = parse(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        assert!(!profile.operations.is_empty(), "{example}");
    }
}

#[test]
fn the_documentation_names_every_key_that_is_written() {
    let page_has = |key: &str| FORMAT_PAGE.contains(&format!("`{key}`"));
    for line in include_str!("full.json").lines() {
        if let Some((key, _)) = line.trim().trim_start_matches('"').split_once("\": ")
            && !["border", "tiles", "pixels"].contains(&key)
            && !key.starts_with('{')
        {
            assert!(page_has(key), "{key}");
        }
    }
    assert!(FORMAT_PAGE.contains(FORMAT));
    assert!(FORMAT_PAGE.contains(&format!("\"version\": {VERSION}")));
}

#[test]
fn five_lines_are_enough() {
    let profile = parse(with_operations(
        r#"{"name": "conv2d", "samples_ns": [812000, 799000.4]}"#,
    ));
    let mut expected = Operation::new("conv2d", "cpu");
    expected.runs.push(Run {
        samples_ns: vec![812_000.0, 799_000.4],
        ..Run::default()
    });
    assert_eq!(profile.unwrap().operations, [expected]);
}

#[test]
fn an_operation_needs_no_samples() {
    let profile = parse(with_operations(r#"{"name": "conv2d", "device": "cuda:0"}"#)).unwrap();
    assert_eq!(profile.operations, [Operation::new("conv2d", "cuda:0")]);
}

#[test]
fn unknown_fields_are_ignored_however_deep() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        r#"{{"x": {deep}, "format": "breakeven-profile", "version": 1, "x": null,
        "operations": [{{"name": "a", "later": {{"k": [1]}}, "runs": [{{"samples_ns": [], "y": 1e9}}]}}]}}"#
    );
    assert_eq!(parse(text).unwrap().operations[0].runs, [Run::default()]);
}

#[test]
fn the_header_may_come_last() {
    let text = r#"{"operations": [{"name": "a"}], "version": 1, "format": "breakeven-profile"}"#;
    assert_eq!(parse(text).unwrap().operations.len(), 1);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = format!("\u{feff}{}", with_operations(""));
    assert_eq!(parse(text).unwrap(), Default::default());
}

#[test]
fn same_name_on_another_device_or_size_is_another_operation() {
    let operations = r#"{"name": "a"}, {"name": "a", "size": 1}, {"name": "a", "device": "gpu"}"#;
    assert_eq!(
        parse(with_operations(operations)).unwrap().operations.len(),
        3
    );
}
