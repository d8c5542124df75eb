//! What is in several places and must be the same: versions, and the licences of the crates.

use super::tree::Tree;

/// Documents that name the oldest Rust that builds.
const NAME_RUST: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

pub(super) fn findings(tree: &Tree) -> Vec<String> {
    let text = |path| tree.text(path).unwrap_or_default();
    let manifest = text("Cargo.toml");
    let (Some(version), Some(rust)) = (
        quoted(manifest, "\nversion = "),
        quoted(manifest, "\nrust-version = "),
    ) else {
        return vec!["Cargo.toml: no version or no rust-version of the workspace".to_owned()];
    };
    let mut findings = Vec::new();
    for line in manifest
        .lines()
        .filter(|line| line.contains("path = \"crates/"))
    {
        if quoted(line, "version = ") != Some(version) {
            findings.push(format!("Cargo.toml: not of version {version}: {line}"));
        }
    }
    if !text("CITATION.cff").contains(&format!("\nversion: {version}\n")) {
        findings.push(format!("CITATION.cff: not of version {version}"));
    }
    for path in NAME_RUST {
        let wording = format!("{rust} or newer");
        if !text(path).contains(&wording) {
            findings.push(format!("{path}: does not say \"{wording}\""));
        }
    }
    for file in tree.texts.iter().filter(|file| is_crate(&file.path)) {
        for inherited in ["version.workspace = true", "rust-version.workspace = true"] {
            if !file.text.lines().any(|line| line == inherited) {
                findings.push(format!("{}: without {inherited}", file.path));
            }
        }
    }
    findings
}

/// A crate is published with its own folder alone, so the texts of its licences are in it.
pub(super) fn licences(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.texts.iter().filter(|file| is_crate(&file.path)) {
        let folder = file.path.trim_end_matches("Cargo.toml");
        for (name, required) in [
            ("LICENSE-MIT", true),
            ("LICENSE-APACHE", true),
            ("NOTICE", false),
        ] {
            let path = format!("{folder}{name}");
            let text = tree.text(&path);
            if (required || text.is_some()) && text != tree.text(name) {
                findings.push(format!("{path}: is not the text of {name}; copy it"));
            }
        }
    }
    findings
}

fn is_crate(path: &str) -> bool {
    path.strip_prefix("crates/")
        .and_then(|path| path.strip_suffix("/Cargo.toml"))
        .is_some_and(|name| !name.contains('/'))
}

/// What is in quotation marks behind `key`.
fn quoted<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = text.split_once(key)?.1.strip_prefix('"')?;
    rest.split_once('"').map(|(value, _)| value)
}

#[test]
fn a_licence_that_differs_is_found() {
    let tree = Tree::of(&[
        ("LICENSE-APACHE", "Apache"),
        ("LICENSE-MIT", "MIT"),
        ("NOTICE", "notice"),
        ("crates/a/Cargo.toml", ""),
        ("crates/a/LICENSE-APACHE", "Apache"),
        ("crates/a/LICENSE-MIT", "../../LICENSE-MIT"),
        ("crates/b/Cargo.toml", ""),
        ("crates/b/LICENSE-MIT", "MIT"),
        ("crates/b/NOTICE", "another"),
    ]);
    let findings = licences(&tree);
    let of = |path: &str| findings.iter().any(|finding| finding.starts_with(path));
    assert!(of("crates/a/LICENSE-MIT:"), "{findings:?}");
    assert!(of("crates/b/LICENSE-APACHE:"), "{findings:?}");
    assert!(of("crates/b/NOTICE:"), "{findings:?}");
    assert_eq!(findings.len(), 3, "{findings:?}");
}

#[test]
fn a_version_that_differs_is_found() {
    let manifest = "[workspace.package]\nversion = \"0.2.0\"\nrust-version = \"1.95\"\n\
                    [d]\na = { path = \"crates/a\", version = \"0.1.0\" }\n";
    let tree = Tree::of(&[
        ("Cargo.toml", manifest),
        ("CITATION.cff", "a: b\nversion: 0.1.0\n"),
        ("README.md", "1.94 or newer"),
        ("CONTRIBUTING.md", "1.95 or newer"),
        (
            "crates/a/Cargo.toml",
            "version = \"0.2.0\"\nrust-version.workspace = true\n",
        ),
    ]);
    let findings = findings(&tree).join("\n");
    for found in [
        "crates/a\", version",
        "CITATION.cff",
        "README.md",
        "crates/a/Cargo.toml",
    ] {
        assert!(findings.contains(found), "{found}: {findings}");
    }
    assert!(!findings.contains("CONTRIBUTING"), "{findings}");
}
