//! Checks on single files: length, star re-exports, reminders, home directories.

use super::code::{code, words};
use super::tree::Tree;

/// Past this a file is two.
const MOST_LINES: usize = 400;

/// Written in parts, so that this file is not a finding.
const REMINDERS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const HOMES: [&str; 3] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

pub(super) fn too_long(tree: &Tree) -> Vec<String> {
    tree.sources()
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(file, lines)| {
            let path = &file.path;
            format!("{path}: {lines} lines, at most {MOST_LINES}: make it two files")
        })
        .collect()
}

pub(super) fn glob_re_exports(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        let code = code(&file.text);
        let mut before = ("", 0);
        for (at, word) in words(&code) {
            // `pub use`, `pub(crate) use`, `pub(in super::super) use`.
            let visibility = code[before.1..at].trim();
            let public = before.0 == "pub" && visibility.is_empty()
                || code[..at].trim_end().ends_with(')') && after_restricted_pub(&code[..at]);
            if word == "use" && public {
                let import = code[at..].split(';').next().unwrap_or_default();
                if import.contains('*') {
                    let line = line_of(&code, at);
                    findings.push(format!(
                        "{}:{line}: name what is re-exported; a star hides it from the reader",
                        file.path
                    ));
                }
            }
            before = (word, at + word.len());
        }
    }
    findings
}

/// True where the code ends with `pub(…)`.
fn after_restricted_pub(code: &str) -> bool {
    let Some(open) = code.rfind('(') else {
        return false;
    };
    let mut words = words(&code[..open]).collect::<Vec<_>>();
    let last = words.pop();
    last.is_some_and(|(at, word)| word == "pub" && code[at + 3..open].trim().is_empty())
}

pub(super) fn unowned_reminders(tree: &Tree) -> Vec<String> {
    let changelog = tree.text("CHANGELOG.md").unwrap_or_default();
    let gaps = section(changelog, "Known gaps");
    let mut findings = Vec::new();
    for file in tree.texts.iter().filter(|file| is_source(&file.path)) {
        for (index, line) in file.text.lines().enumerate() {
            let found = words(line).find(|(_, word)| REMINDERS.contains(word));
            if let Some((_, word)) = found
                && !gaps.contains(&file.path)
            {
                findings.push(format!(
                    "{}:{}: {word}: do it, or name the file in CHANGELOG.md under \"Known gaps\"",
                    file.path,
                    index + 1
                ));
            }
        }
    }
    findings
}

/// What people run or build, not what they read.
fn is_source(path: &str) -> bool {
    let ends = [".rs", ".py", ".sh", ".toml"];
    path == "check" || path == ".ci/run" || ends.iter().any(|end| path.ends_with(end))
}

/// The text under the first heading that holds `title`, down to the next
/// heading of its level or above.
fn section<'a>(markdown: &'a str, title: &str) -> &'a str {
    let level = |line: &str| line.len() - line.trim_start_matches('#').len();
    let mut start = None;
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        match start {
            None if level(line) > 0 && line.contains(title) => {
                start = Some((at + line.len(), level(line)));
            }
            Some((start, of)) if (1..=of).contains(&level(line)) => return &markdown[start..at],
            _ => {}
        }
        at += line.len();
    }
    start.map_or("", |(start, _)| &markdown[start..])
}

pub(super) fn home_directories(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in &tree.texts {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(home) = HOMES.iter().find(|home| line.contains(**home)) {
                findings.push(format!(
                    "{}:{}: {home} is somebody's machine; use a relative path or another example",
                    file.path,
                    index + 1
                ));
            }
        }
    }
    findings
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[test]
fn a_long_file_is_found() {
    let (fits, long) = ("\n".repeat(MOST_LINES), "\n".repeat(MOST_LINES + 1));
    let tree = Tree::of(&[("a.rs", &fits), ("b.rs", &long), ("c.json", &long)]);
    let findings = too_long(&tree);
    assert!(matches!(&findings[..], [one] if one.starts_with("b.rs: 401 lines")));
}

#[test]
fn a_star_re_export_is_found() {
    for bad in [
        "pub use a::*;",
        "pub(crate) use a::*;",
        "pub(in super::super) use a::*;",
        "pub use a::{\n    b,\n    c::*,\n};",
    ] {
        assert_eq!(
            glob_re_exports(&Tree::of(&[("a.rs", bad)])).len(),
            1,
            "{bad}"
        );
    }
    for good in [
        "use a::*;",
        "pub use a::b;",
        "// pub use a::*;",
        "pub fn f() {} use a::*;",
        "fn f(x: u8) { use a::*; }",
    ] {
        assert!(
            glob_re_exports(&Tree::of(&[("a.rs", good)])).is_empty(),
            "{good}"
        );
    }
}

#[test]
fn a_reminder_needs_a_known_gap() {
    let comment = format!("// {}: later", REMINDERS[0]);
    let source = ("src/a.rs", comment.as_str());
    assert_eq!(unowned_reminders(&Tree::of(&[source])).len(), 1);
    let known = "# Known gaps\n\n- later (src/a.rs)\n";
    assert!(unowned_reminders(&Tree::of(&[source, ("CHANGELOG.md", known)])).is_empty());
    let elsewhere = "# Known gaps\n\n# 0.1\n\n- later (src/a.rs)\n";
    assert_eq!(
        unowned_reminders(&Tree::of(&[source, ("CHANGELOG.md", elsewhere)])).len(),
        1
    );
    assert!(unowned_reminders(&Tree::of(&[("a.md", &comment)])).is_empty());
}

#[test]
fn a_home_directory_is_found() {
    for home in HOMES {
        let text = format!("first\nsee {home}me");
        let findings = home_directories(&Tree::of(&[("a.md", &text)]));
        assert!(
            matches!(&findings[..], [one] if one.starts_with("a.md:2: ")),
            "{home}"
        );
    }
}
