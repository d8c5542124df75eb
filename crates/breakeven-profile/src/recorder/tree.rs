//! The call paths of one thread: a tree of operations.

use std::collections::HashMap;
use std::ptr;

use super::node::{Node, ROOT};
use super::site::{self, OVERFLOW, Site};

/// Most call paths per thread.
pub(super) const MAX_NODES: usize = 2_048;

/// A step on a call path, from a node along a site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) parent: &'static Node,
    pub(super) site: &'static Site,
    pub(super) end: End,
}

/// The target of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) node: &'static Node,
    /// The node that records whether a call of this name is open on this path, shared by all
    /// devices and sizes.
    pub(super) family: &'static Node,
}

impl Edge {
    #[inline(always)]
    pub(super) fn is(&self, parent: &'static Node, site: &'static Site) -> bool {
        ptr::eq(self.parent, parent) && ptr::eq(self.site, site)
    }
}

/// A node's operation, and its parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) node: &'static Node,
    pub(super) operation: &'static Site,
    pub(super) parent: &'static Node,
    /// The first node of that name on that path of names.
    pub(super) family: &'static Node,
}

/// The call paths of one thread. Nodes are never freed: their number bounds the memory, and
/// references to them stay valid.
#[derive(Debug, Default)]
pub(super) struct Tree {
    places: Vec<Place>,
    /// Nodes that were in use before the last reset.
    spare: Vec<&'static Node>,
    by_id: HashMap<u32, usize>,
    by_operation: HashMap<(u32, usize), &'static Node>,
    /// By the family of the parent node, and the name.
    families: HashMap<(u32, &'static str), &'static Node>,
    made: u32,
}

impl Tree {
    /// The operations and paths, callers before callees.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Forgets all paths and what was recorded on them.
    pub(super) fn clear(&mut self) {
        self.by_id.clear();
        self.by_operation.clear();
        self.families.clear();
        for place in self.places.drain(..) {
            place.node.clear();
            self.spare.push(place.node);
        }
    }

    /// The node and its ancestors, the innermost first.
    pub(super) fn path(&self, from: &'static Node) -> impl Iterator<Item = &Place> {
        std::iter::successors(self.place(from), |below| self.place(below.parent))
    }

    fn place(&self, node: &'static Node) -> Option<&Place> {
        self.by_id.get(&node.id).map(|index| &self.places[*index])
    }

    /// The step from `parent` along `site`; creates its node if there is none.
    ///
    /// A name that is on the path already leads back to its node: recursion does not lengthen
    /// paths.
    pub(super) fn step(&mut self, parent: &'static Node, site: &'static Site) -> Edge {
        let mut operation = site::intern(site.name, Some(site.device), site.size);
        let same = self
            .path(parent)
            .find(|place| place.operation.name == operation.name);
        let mut around = same.map_or(parent, |place| place.parent);
        // One node is reserved for calls beyond the limit.
        let is_full = self.places.len() >= MAX_NODES - 1;
        if is_full && !self.by_operation.contains_key(&key(around, operation)) {
            (operation, around) = (&OVERFLOW, &ROOT);
        }
        let node = match self.by_operation.get(&key(around, operation)) {
            Some(node) => node,
            None => self.make(around, operation),
        };
        let family = self.place(node).map_or(node, |place| place.family);
        let end = End { node, family };
        Edge { parent, site, end }
    }

    fn make(&mut self, parent: &'static Node, operation: &'static Site) -> &'static Node {
        let node = self.spare.pop().unwrap_or_else(|| {
            self.made += 1;
            Box::leak(Box::new(Node::new(self.made)))
        });
        let around = self.place(parent).map_or(parent, |place| place.family);
        let name = (around.id, operation.name);
        let family = *self.families.entry(name).or_insert(node);
        self.by_id.insert(node.id, self.places.len());
        self.places.push(Place {
            node,
            operation,
            parent,
            family,
        });
        self.by_operation.insert(key(parent, operation), node);
        node
    }
}

fn key(parent: &'static Node, operation: &'static Site) -> (u32, usize) {
    (parent.id, ptr::from_ref(operation).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &'static str) -> &'static Site {
        site::intern(name, None, None)
    }

    #[test]
    fn recursion_leads_back() {
        let mut tree = Tree::default();
        let f = tree.step(&ROOT, named("f")).end.node;
        let g = tree.step(f, named("g")).end.node;
        assert!(ptr::eq(tree.step(g, named("f")).end.node, f));
        assert!(ptr::eq(tree.step(f, named("f")).end.node, f));
        assert!(ptr::eq(tree.step(g, named("g")).end.node, g));
        assert_eq!(tree.places().len(), 2);

        // Another size is another node, next to the first and of its family.
        let smaller = tree.step(g, site::intern("f", None, Some(3)));
        assert!(!ptr::eq(smaller.end.node, f));
        assert!(ptr::eq(smaller.end.family, f));
        assert!(ptr::eq(tree.places()[2].parent, &ROOT));
    }

    #[test]
    fn past_the_limit_calls_share_a_node() {
        let mut tree = Tree::default();
        let site = |size| site::intern("many sizes", None, Some(size));
        for size in 0..2 * MAX_NODES as u64 {
            tree.step(&ROOT, site(size));
        }
        assert_eq!(tree.places().len(), MAX_NODES);
        let last = tree.places()[MAX_NODES - 1];
        assert!(ptr::eq(last.operation, &OVERFLOW));
        let first = tree.step(&ROOT, site(1)).end.node;
        assert!(ptr::eq(first, tree.places()[1].node));

        tree.clear();
        tree.step(&ROOT, named("after"));
        assert_eq!((tree.places().len(), tree.made), (1, MAX_NODES as u32));
    }
}
