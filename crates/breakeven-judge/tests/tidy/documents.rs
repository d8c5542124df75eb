//! Checks on the documents: examples and pages that nobody would find, links
//! that lead nowhere.

use super::tree::Tree;

/// Where a reader begins.
const ENTRANCES: [&str; 2] = ["README.md", "ARCHITECTURE.md"];

/// The list of all pages. An entrance has to link to it, as to any other page.
const INDEX: &str = "docs/index.md";

pub(super) fn examples(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    let names = tree
        .texts
        .iter()
        .filter_map(|file| file.path.strip_prefix("examples/"))
        // Python's are quoted in docs/python.md, which its own tests hold.
        .filter(|name| !name.contains('/'));
    let mut last = String::from("00");
    for name in names {
        let number = name.split('_').next().unwrap_or_default();
        let next = format!("{:02}", last.parse::<usize>().unwrap_or(0) + 1);
        // Variants of one example have letters: 11a, 11b.
        let digits = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let is_variant = digits == last && digits != number;
        if !(digits == next || is_variant) || !name.ends_with(".rs") {
            findings.push(format!("examples/{name}: its name should be {next}_….rs"));
        }
        last = digits.to_owned();
        let named = tree
            .texts
            .iter()
            .filter(|file| file.path == "README.md" || is_page(&file.path))
            .any(|file| file.text.contains(name.trim_end_matches(".rs")));
        if !named {
            findings.push(format!(
                "examples/{name}: neither README.md nor a page of docs/ names it"
            ));
        }
    }
    findings
}

fn is_page(path: &str) -> bool {
    path.strip_prefix("docs/")
        .is_some_and(|name| name.ends_with(".md") && !name.contains('/'))
}

pub(super) fn unlinked_pages(tree: &Tree) -> Vec<String> {
    let mut linked: Vec<String> = ENTRANCES
        .iter()
        .flat_map(|path| linked_from(tree, path))
        .collect();
    if linked.iter().any(|path| path == INDEX) {
        linked.extend(linked_from(tree, INDEX));
    }
    tree.texts
        .iter()
        .filter(|file| is_page(&file.path) && !linked.contains(&file.path))
        .map(|file| {
            format!(
                "{}: linked from none of README.md, {INDEX}, ARCHITECTURE.md",
                file.path
            )
        })
        .collect()
}

/// The paths, from the root, of what a document links to.
fn linked_from(tree: &Tree, path: &str) -> Vec<String> {
    let folder = folder(path);
    links(tree.text(path).unwrap_or_default())
        .into_iter()
        .map(|(_, target)| resolve(folder, target))
        .collect()
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn broken_links(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.texts.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = folder(&file.path);
        for (line, target) in links(&file.text) {
            let path = match resolve(folder, target) {
                // A heading of the page itself.
                path if target.starts_with('#') || path == folder => file.path.clone(),
                path => path,
            };
            let heading = target.split_once('#').map(|(_, heading)| heading);
            let text = tree.text(&path);
            let missing = match (text, heading) {
                (Some(text), Some(heading)) if path.ends_with(".md") => {
                    !headings(text).any(|found| found == heading)
                }
                _ => !path.is_empty() && !tree.has(&path),
            };
            if missing {
                findings.push(format!("{}:{line}: {target} leads nowhere", file.path));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` that are in the project, each with its line.
/// What stands in code is no link.
fn links(markdown: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(markdown) {
        // Every other part of a line is between backquotes.
        for part in line.split('`').step_by(2) {
            let targets = part.split("](").skip(1);
            let targets = targets.filter_map(|rest| rest.split([')', ' ']).next());
            found.extend(
                targets
                    .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
                    .map(|target| (number, target)),
            );
        }
    }
    found
}

/// The lines outside fenced code, numbered from 1.
fn prose(markdown: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    markdown
        .lines()
        .enumerate()
        .filter_map(move |(index, line)| {
            let fence = line.trim_start().starts_with("```");
            in_code ^= fence;
            (!in_code && !fence).then_some((index + 1, line))
        })
}

/// The headings as hosts make anchors of them: lower case, hyphens for spaces,
/// no punctuation.
fn headings(markdown: &str) -> impl Iterator<Item = String> {
    prose(markdown)
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| {
            line.trim_start_matches('#')
                .trim()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .flat_map(char::to_lowercase)
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
}

/// The path, from the root, of a target seen from a folder; its heading is dropped.
fn resolve(folder: &str, target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            // Above the root there is nothing of ours.
            ".." if parts.pop().is_none() => parts.push(".."),
            ".." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn an_example_needs_a_number_and_a_name_in_a_document() {
    let tree = |name: &str, page: &str| Tree::of(&[("README.md", page), (name, "")]);
    assert!(examples(&tree("examples/01_add.rs", "see 01_add")).is_empty());
    assert_eq!(examples(&tree("examples/02_add.rs", "see 02_add")).len(), 1);
    assert_eq!(examples(&tree("examples/01_add.rs", "see others")).len(), 1);
    assert_eq!(examples(&tree("examples/add.rs", "")).len(), 2);
}

#[test]
fn a_page_nobody_links_to_is_found() {
    let tree = |readme: &str| Tree::of(&[("README.md", readme), ("docs/a.md", "")]);
    assert!(unlinked_pages(&tree("[a](docs/a.md#top)")).is_empty());
    assert!(unlinked_pages(&tree("[a](./docs/a.md)")).is_empty());
    for bad in ["docs/a.md", "`[a](docs/a.md)`", "```\n[a](docs/a.md)\n```"] {
        assert_eq!(unlinked_pages(&tree(bad)).len(), 1, "{bad}");
    }
}

#[test]
fn a_page_that_the_index_links_to_counts_if_something_links_to_the_index() {
    let tree = |readme: &str| {
        Tree::of(&[
            ("README.md", readme),
            ("docs/index.md", "[a](a.md) [top](../README.md)"),
            ("docs/a.md", ""),
        ])
    };
    assert!(unlinked_pages(&tree("[all](docs/index.md)")).is_empty());
    assert_eq!(unlinked_pages(&tree("")).len(), 2);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let tree = |link: &str| {
        let page = format!("# Its `top`, here\n\n[b]({link})\n");
        Tree::of(&[("docs/a.md", &page), ("src/b.rs", "")])
    };
    for good in [
        "../src/b.rs",
        "../src",
        "a.md",
        "a.md#its-top-here",
        "#its-top-here",
        "..",
        "https://example.org/x",
        "../src/b.rs \"title\"",
    ] {
        assert_eq!(broken_links(&tree(good)), [""; 0], "{good}");
    }
    for bad in [
        "b.rs",
        "../src/c.rs",
        "#middle",
        "a.md#middle",
        "../../other/b.rs",
    ] {
        let findings = broken_links(&tree(bad));
        assert!(
            matches!(&findings[..], [one] if one.starts_with("docs/a.md:3: ")),
            "{bad}"
        );
    }
}
