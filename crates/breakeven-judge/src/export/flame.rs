//! A profile's call paths as a tree, for programs that draw it.

use breakeven_profile::profile::Profile;

use super::ExportError;
use super::fold::fold;

/// Call paths as a tree. All times are in ns.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Tree {
    /// The source of the paths, in words.
    pub source: String,
    /// Time of all paths.
    pub total_ns: u64,
    /// The nodes; every node comes after its parent, siblings in the order of their names.
    pub nodes: Vec<Node>,
}

/// A frame that was called along one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, at most 200 characters.
    pub name: String,
    /// Index of the node that called it; none at the root.
    pub parent: Option<usize>,
    /// Number of frames around it.
    pub depth: usize,
    /// Its time, including the nodes inside it.
    pub total_ns: u64,
    /// Its time, without the nodes inside it.
    pub own_ns: u64,
}

/// Builds the tree of the paths that [`collapsed`](super::collapsed) writes.
///
/// # Errors
///
/// If the profile has no time, or the sum exceeds 2^64 ns.
pub fn tree(profile: &Profile) -> Result<Tree, ExportError> {
    let folded = fold(profile)?;
    let mut nodes: Vec<Node> = Vec::new();
    // The nodes of the previous path, the outermost first: paths come in the order of their frames.
    let mut open: Vec<usize> = Vec::new();
    for (frames, ns) in folded.paths() {
        let mut depth = 0;
        for name in frames {
            let is_open = open.get(depth).is_some_and(|at| nodes[*at].name == name);
            if !is_open {
                open.truncate(depth);
                let parent = open.last().copied();
                open.push(nodes.len());
                nodes.push(Node {
                    name: name.to_owned(),
                    parent,
                    depth,
                    total_ns: 0,
                    own_ns: 0,
                });
            }
            depth += 1;
        }
        open.truncate(depth);
        if let Some(last) = open.last() {
            nodes[*last].own_ns += ns;
        }
        // The total was checked, so partial sums cannot overflow.
        for at in &open {
            nodes[*at].total_ns += ns;
        }
    }
    Ok(Tree {
        source: folded.source.to_string(),
        total_ns: folded.total_ns,
        nodes,
    })
}

#[cfg(test)]
mod tests {
    use breakeven_profile::profile::Stack;

    use super::*;

    #[test]
    fn paths_that_begin_alike_share_nodes() {
        let stack = |frames: &[&str], self_ns: u64| Stack {
            frames: frames.iter().map(|&name| name.to_owned()).collect(),
            calls: 1,
            total_ns: self_ns,
            self_ns,
        };
        let profile = Profile {
            stacks: vec![
                stack(&["a", "c"], 5),
                stack(&["a"], 3),
                stack(&["a b"], 1),
                stack(&["a", "c", "d"], 2),
                // The same frame again, below another.
                stack(&["e", "c"], 4),
            ],
            ..Profile::default()
        };
        let tree = tree(&profile).expect("there are times");
        let reported: Vec<_> = tree
            .nodes
            .iter()
            .map(|node| {
                let Node {
                    name,
                    parent,
                    depth,
                    total_ns,
                    own_ns,
                } = node;
                (name.as_str(), *parent, *depth, *total_ns, *own_ns)
            })
            .collect();
        assert_eq!(
            reported,
            [
                ("a", None, 0, 10, 3),
                ("c", Some(0), 1, 7, 5),
                ("d", Some(1), 2, 2, 2),
                ("a b", None, 0, 1, 1),
                ("e", None, 0, 4, 0),
                ("c", Some(4), 1, 4, 4),
            ]
        );
        assert_eq!(tree.total_ns, 15);
    }
}
