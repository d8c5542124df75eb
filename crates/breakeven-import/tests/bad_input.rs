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
fn what_nothing_recognises_is_told_as_no_profile() {
    assert_snapshot!(refused("some text", &Options::default()));
}
