//! Checks on the manifests and the lock file.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Tree;

/// Crates that a program can embed or a CI job run without any GPU library.
const LIGHT: [&str; 3] = ["breakeven-profile", "breakeven-stats", "breakeven-judge"];

/// What they must not pull in, not even through others.
const HEAVY: [&str; 6] = [
    "breakeven",
    "cubecl",
    "cubek",
    "cudarc",
    "wgpu",
    "nvml-wrapper",
];

pub(super) fn gpu_libraries(tree: &Tree) -> Vec<String> {
    let lock = parse(tree.text("Cargo.lock").unwrap_or_default());
    let packages = dependencies(&lock);
    let mut findings = Vec::new();
    for light in LIGHT {
        let Some(direct) = packages.get(light) else {
            findings.push(format!(
                "Cargo.lock: no {light}; correct tests/tidy/manifests.rs"
            ));
            continue;
        };
        let mut waiting: Vec<(&str, &str)> = direct.iter().map(|name| (light, *name)).collect();
        let mut seen = BTreeSet::new();
        while let Some((by, name)) = waiting.pop() {
            if HEAVY.contains(&name) {
                findings.push(format!("{light}: pulls in {name}, through {by}"));
            } else if seen.insert(name) {
                let next = packages.get(name).into_iter().flatten();
                waiting.extend(next.map(|next| (name, *next)));
            }
        }
    }
    findings
}

/// What each package depends on, by name; versions of one name are taken together.
fn dependencies(lock: &toml::Table) -> BTreeMap<&str, Vec<&str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in list(lock.get("package")) {
        let Some(name) = package.get("name").and_then(toml::Value::as_str) else {
            continue;
        };
        // An entry is `name`, or `name version` where there are several.
        let names = list(package.get("dependencies"))
            .iter()
            .filter_map(toml::Value::as_str)
            .filter_map(|entry| entry.split(' ').next());
        all.entry(name).or_default().extend(names);
    }
    all
}

fn list(value: Option<&toml::Value>) -> &[toml::Value] {
    value
        .and_then(toml::Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn parse(text: &str) -> toml::Table {
    text.parse().unwrap()
}

pub(super) fn own_lints(tree: &Tree) -> Vec<String> {
    tree.texts
        .iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
        .filter(|file| {
            let manifest = parse(&file.text);
            let inherits = manifest
                .get("lints")
                .and_then(|lints| lints.get("workspace"));
            inherits.and_then(toml::Value::as_bool) != Some(true)
        })
        .map(|file| format!("{}: has no `[lints] workspace = true`", file.path))
        .collect()
}

#[test]
fn a_gpu_library_is_found_through_others() {
    let package = |name: &str, needs: &str| {
        format!("[[package]]\nname = \"{name}\"\ndependencies = [{needs}]\n")
    };
    let tree = |serde: &str| {
        let lock = [
            package("breakeven-judge", "\"breakeven-stats\", \"toml 1.0.0\""),
            package("breakeven-stats", "\"breakeven-profile\""),
            package("breakeven-profile", "\"serde\""),
            package("serde", serde),
            package("wgpu", ""),
        ]
        .concat();
        Tree::of(&[("Cargo.lock", &lock)])
    };
    assert!(gpu_libraries(&tree("\"serde\"")).is_empty());
    assert_eq!(
        gpu_libraries(&tree("\"wgpu 29.0.4\"")),
        [
            "breakeven-profile: pulls in wgpu, through serde",
            "breakeven-stats: pulls in wgpu, through serde",
            "breakeven-judge: pulls in wgpu, through serde"
        ]
    );
    assert_eq!(gpu_libraries(&Tree::default()).len(), LIGHT.len());
}

#[test]
fn a_crate_with_lints_of_its_own_is_found() {
    let tree = |text: &str| Tree::of(&[("crates/a/Cargo.toml", text)]);
    assert!(own_lints(&tree("[lints]\nworkspace = true\n")).is_empty());
    for bad in [
        "",
        "[lints]\nworkspace = false\n",
        "[lints.rust]\nmissing_docs = \"allow\"\n",
    ] {
        assert_eq!(own_lints(&tree(bad)).len(), 1, "{bad}");
    }
}
