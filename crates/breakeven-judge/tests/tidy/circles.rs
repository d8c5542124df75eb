//! Circles: files of a crate that import from each other, so that none can be read
//! or changed without the others.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{code, words};
use super::tree::Tree;

/// All crates but that of the macro, which is one file.
const CRATES: [&str; 11] = [
    "breakeven",
    "breakeven-cli",
    "breakeven-gpu",
    "breakeven-import",
    "breakeven-judge",
    "breakeven-kernels",
    "breakeven-machine",
    "breakeven-profile",
    "breakeven-schedule",
    "breakeven-stats",
    "breakeven-types",
];

/// A module's path inside its crate, or that of something in it.
type Path = Vec<String>;

pub(super) fn findings(tree: &Tree) -> Vec<String> {
    CRATES
        .into_iter()
        .flat_map(|name| of_crate(tree, name))
        .collect()
}

fn of_crate(tree: &Tree, name: &str) -> Vec<String> {
    let folder = format!("crates/{name}/src/");
    let sources = tree.sources().filter_map(|file| {
        let path = file.path.strip_prefix(&folder)?.strip_suffix(".rs")?;
        let mut module: Path = path.split('/').map(str::to_owned).collect();
        module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        // What tests import is no part of the file's own.
        let text = file.text.split("#[cfg(test)]\nmod tests").next()?;
        Some((module, code(text)))
    });
    let sources: BTreeMap<Path, String> = sources.collect();
    let mut imports: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    let mut re_exports: BTreeMap<Path, Path> = BTreeMap::new();
    for (module, code) in &sources {
        for (is_public, target) in uses(module, code, &sources) {
            match target.last().filter(|_| is_public) {
                Some(name) => {
                    let exported = [&module[..], std::slice::from_ref(name)].concat();
                    re_exports.insert(exported, target);
                }
                None => continue,
            }
        }
    }
    for (module, code) in &sources {
        for (is_public, mut target) in uses(module, code, &sources) {
            while let Some(further) = re_exports
                .get(&target)
                .filter(|further| **further != target)
            {
                target = further.clone();
            }
            let file = (0..=target.len())
                .rev()
                .find_map(|n| sources.get_key_value(&target[..n]));
            if let Some((file, _)) = file.filter(|(file, _)| !is_public && *file != module) {
                imports.entry(module).or_default().insert(file);
            }
        }
    }
    // What imports nothing that is left is in no circle.
    loop {
        let left: BTreeSet<&Path> = imports.keys().copied().collect();
        imports
            .values_mut()
            .for_each(|each| each.retain(|file| left.contains(file)));
        imports.retain(|_, each| !each.is_empty());
        if imports.len() == left.len() {
            break;
        }
    }
    let finding = |(file, of): (&Path, BTreeSet<&Path>)| {
        let of: Vec<String> = of.into_iter().map(|path| path.join("/")).collect();
        format!(
            "{folder}{}: in a circle of imports, or leads to one, through {}; move what both need to \
             a file of its own",
            file.join("/"),
            of.join(", ")
        )
    };
    imports.into_iter().map(finding).collect()
}

/// What a file's `use` statements name of its own crate, each with whether it is
/// re-exported.
fn uses(module: &Path, code: &str, sources: &BTreeMap<Path, String>) -> Vec<(bool, Path)> {
    let mut found = Vec::new();
    for (at, _) in words(code).filter(|(_, word)| *word == "use") {
        let line = code[..at].rsplit(['\n', ';']).next().unwrap_or_default();
        let statement = code[at + 3..].split(';').next().unwrap_or_default();
        for path in leaves(statement) {
            let path = path.split(" as ").next().unwrap_or_default();
            let mut names = path.split("::").map(str::trim).peekable();
            let mut target = match names.peek().copied() {
                Some("crate") => Path::new(),
                Some("self" | "super") => module.clone(),
                Some(name) if sources.contains_key(&[&module[..], &[name.to_owned()]].concat()) => {
                    module.clone()
                }
                _ => continue,
            };
            for name in names {
                match name {
                    "crate" | "self" => {}
                    "super" => drop(target.pop()),
                    name => target.push(name.to_owned()),
                }
            }
            found.push((line.trim_start().starts_with("pub"), target));
        }
    }
    found
}

/// The single paths of `a::{b, c::{d, e}}`.
fn leaves(statement: &str) -> Vec<String> {
    let Some((before, rest)) = statement.split_once('{') else {
        return vec![statement.trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0;
    let parts = inner.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    parts
        .flat_map(leaves)
        .map(|part| format!("{}{part}", before.trim()))
        .collect()
}

#[test]
fn a_circle_is_found_and_re_exports_are_followed() {
    let circle = |a: &str, b: &str| {
        let path = |name: &str| format!("crates/breakeven-cli/src/{name}.rs");
        let (lib, one, two) = (path("lib"), path("a"), path("b"));
        let lib = (lib.as_str(), "mod a;\nmod b;\npub(crate) use b::{B, C};");
        findings(&Tree::of(&[lib, (&one, a), (&two, b)])).len()
    };
    assert_eq!(circle("use crate::b::{B, C};", "use super::a::A;"), 2);
    assert_eq!(circle("use crate::{x, B};", "use super::a::A;"), 2);
    assert_eq!(circle("use crate::B;", "use std::fmt;"), 0);
    assert_eq!(
        circle(
            "use crate::B;",
            "#[cfg(test)]\nmod tests { use crate::a::A; }"
        ),
        0
    );
}
