//! Which module may not name which other: the arrows that must not exist.

use super::code::{code, names};
use super::tree::Tree;

/// A folder, and the words that its code does not use.
struct Layer {
    folder: &'static str,
    forbidden: &'static [&'static str],
    reason: &'static str,
}

const LAYERS: [Layer; 7] = [
    Layer {
        folder: "crates/breakeven-machine/src/",
        forbidden: &["kernels", "operator", "execute", "peak"],
        reason: "a machine knows nothing of work",
    },
    Layer {
        folder: "crates/breakeven-kernels/src/",
        forbidden: &["peak"],
        reason: "a kernel knows nothing of what measures it",
    },
    Layer {
        folder: "crates/breakeven-gpu/src/tensor/",
        forbidden: &["operator", "peak", "plan", "tune"],
        reason: "data knows nothing of what is done to it",
    },
    Layer {
        folder: "crates/breakeven/src/execute/",
        forbidden: &["kernels", "peak", "cubecl", "wgpu"],
        reason: "what runs tasks knows neither kernels nor a GPU library",
    },
    Layer {
        folder: "crates/breakeven-profile/src/stats.rs",
        forbidden: &["profile", "recorder", "Profile", "Operation"],
        reason: "statistics are functions on slices",
    },
    Layer {
        folder: "crates/breakeven-stats/src/",
        forbidden: &["profile", "recorder", "file", "Profile", "Operation"],
        reason: "statistics are functions on slices",
    },
    Layer {
        folder: "crates/breakeven-profile/src/recorder/",
        forbidden: &["breakeven_judge", "breakeven_stats"],
        reason: "a recorder records; judging is another crate's",
    },
];

pub(super) fn findings(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for layer in LAYERS {
        let mut files = tree
            .sources()
            .filter(|file| file.path.starts_with(layer.folder))
            .peekable();
        if files.peek().is_none() {
            findings.push(format!(
                "{}: not there; correct tests/tidy/layers.rs",
                layer.folder
            ));
        }
        for file in files {
            let code = code(&file.text);
            for word in layer.forbidden.iter().filter(|word| names(&code, word)) {
                findings.push(format!("{}: names {word}; {}", file.path, layer.reason));
            }
        }
    }
    findings
}

#[test]
fn a_wrong_arrow_is_found() {
    let files: Vec<_> = LAYERS
        .iter()
        .map(|layer| {
            let bad = format!("use super::{};", layer.forbidden[0]);
            (format!("{}a.rs", layer.folder), bad)
        })
        .collect();
    let bad: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    assert_eq!(findings(&Tree::of(&bad)).len(), LAYERS.len());

    let good: Vec<_> = files
        .iter()
        .map(|(path, _)| (path.as_str(), "//! Not the profile's, not kernels."))
        .collect();
    assert!(findings(&Tree::of(&good)).is_empty());
}

#[test]
fn a_folder_that_moved_is_found() {
    assert_eq!(findings(&Tree::default()).len(), LAYERS.len());
}
