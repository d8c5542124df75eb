//! Checks on single files: star re-exports, words that belong elsewhere.

use super::tree::Tree;

/// Texts that stand in no file, and what to do about one. Written in parts, so that
/// this file is not a finding.
const FORBIDDEN: [(&str, &str); 5] = [
    (concat!("TO", "DO"), REMINDER),
    (concat!("FIX", "ME"), REMINDER),
    (concat!("/ro", "ot/"), HOME),
    (concat!("/ho", "me/"), HOME),
    (concat!("/Us", "ers/"), HOME),
];
const REMINDER: &str = "do it, or make it a line of \"Known gaps\" in CHANGELOG.md";
const HOME: &str = "is somebody's machine; use a relative path or another example";

pub(super) fn glob_re_exports(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        // Every `pub use` begins a line: rustfmt has it so.
        let starts = file.text.match_indices("\npub").map(|(at, _)| at + 1);
        for at in starts.chain(file.text.starts_with("pub").then_some(0)) {
            let statement = file.text[at..].split(';').next().unwrap_or_default();
            let visibility = statement.split(" use ").next().unwrap_or_default();
            if visibility.len() < statement.len()
                && !visibility.contains('{')
                && statement.contains('*')
            {
                let path = &file.path;
                findings.push(format!(
                    "{path}: {statement}: name what is re-exported; a star hides it from the reader"
                ));
            }
        }
    }
    findings
}

pub(super) fn forbidden_texts(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in &tree.texts {
        for (line, text) in (1..).zip(file.text.lines()) {
            let found = FORBIDDEN.iter().filter(|(word, _)| text.contains(word));
            findings
                .extend(found.map(|(word, what)| format!("{}:{line}: {word}: {what}", file.path)));
        }
    }
    findings
}

#[test]
fn a_star_re_export_is_found() {
    for (text, findings) in [
        ("pub use a::*;", 1),
        ("use b;\npub(crate) use a::*;", 1),
        ("pub(in super::super) use a::*;", 1),
        ("pub use a::{\n    b,\n    c::*,\n};", 1),
        ("use a::*;", 0),
        ("pub use a::b;", 0),
        ("// pub use a::*;", 0),
        ("pub fn f() { let a = b * c; }", 0),
    ] {
        let found = glob_re_exports(&Tree::of(&[("a.rs", text)]));
        assert_eq!(found.len(), findings, "{text}");
    }
}

#[test]
fn a_text_that_stands_nowhere_is_found() {
    for (word, _) in FORBIDDEN {
        let text = format!("first\nsee {word}me");
        let findings = forbidden_texts(&Tree::of(&[("a.md", &text)]));
        assert!(
            matches!(&findings[..], [one] if one.starts_with("a.md:2: ")),
            "{word}"
        );
    }
}
