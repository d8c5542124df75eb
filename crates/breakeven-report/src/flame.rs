//! Which call paths use the time, as an icicle: the outermost calls on top.

use std::collections::HashMap;

use breakeven_judge::export::tree;
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::shown;
use breakeven_profile::profile::Profile;
use breakeven_profile::unit;
use serde_json::json;

use crate::part::{MOST_NAME, Part, largest};
use crate::sections;

/// Most frames; those with the least time are omitted.
const MOST_NODES: usize = 5_000;

/// Deepest frame that is drawn.
const MOST_DEPTH: usize = 128;

/// None without times.
pub(crate) fn part(profile: &Profile) -> Option<Part> {
    let mut part = Part::new(sections::FLAME);
    let tree = tree(profile).ok()?;
    let nodes = &tree.nodes;
    // A node never has more time than its parent, and its parent stands before it, so the parent of
    // every drawn node is drawn too.
    let mut kept = largest(nodes.len(), MOST_NODES, |at| nodes[at].total_ns as f64);
    kept.retain(|&at| nodes[at].depth < MOST_DEPTH);
    let (mut names, mut places) = (Vec::new(), HashMap::new());
    let mut new: HashMap<usize, i64> = HashMap::new();
    let mut drawn = Vec::new();
    for &at in &kept {
        let node = &nodes[at];
        let name = *places.entry(node.name.as_str()).or_insert_with(|| {
            names.push(shown(&node.name, MOST_NAME));
            names.len() - 1
        });
        let parent = node.parent.and_then(|parent| new.get(&parent).copied());
        new.insert(at, i64::try_from(drawn.len()).unwrap_or(-1));
        drawn.push((name, parent.unwrap_or(-1), node.total_ns, node.own_ns));
    }
    let mut finding = format!(
        "{} over {}: {}",
        plural(tree.nodes.len() as u64, "frame"),
        unit::time(tree.total_ns as f64),
        tree.source
    );
    if kept.len() < tree.nodes.len() {
        let left_out = unit::count((tree.nodes.len() - kept.len()) as f64);
        finding += &format!("; {left_out} frames, the deepest or of least time, are not drawn");
    }
    part.chart("flame", 0, &finding);
    let total = tree.total_ns;
    part.data(&json!({"total": total, "names": names, "nodes": drawn, "finding": finding}));
    Some(part)
}
