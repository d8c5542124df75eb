//! A thread's cache: the latest steps on call paths, and the latest operations.

use std::cell::Cell;
use std::ptr;

use super::node::Node;
use super::site::Site;
use super::tree::{Edge, End};

/// Steps; a power of two.
const STEPS: usize = 128;

/// Operations whose name, device or size is set at run time; a power of two.
const OPERATIONS: usize = 64;

/// A step or an operation has only one possible slot, so a look-up is one comparison.
pub(super) struct Cache {
    steps: [Cell<Option<Edge>>; STEPS],
    operations: [Cell<Option<&'static Site>>; OPERATIONS],
}

impl Cache {
    pub(super) const fn new() -> Self {
        Self {
            steps: [const { Cell::new(None) }; STEPS],
            operations: [const { Cell::new(None) }; OPERATIONS],
        }
    }

    /// The target of the step from `parent` along `site`.
    #[inline(always)]
    pub(super) fn step(&self, parent: &'static Node, site: &'static Site) -> Option<End> {
        match self.slot(parent, site).get() {
            Some(edge) if edge.is(parent, site) => Some(edge.end),
            _ => None,
        }
    }

    pub(super) fn add_step(&self, edge: Edge) {
        self.slot(edge.parent, edge.site).set(Some(edge));
    }

    pub(super) fn forget_steps(&self) {
        self.steps.iter().for_each(|step| step.set(None));
    }

    #[inline]
    fn slot(&self, parent: &'static Node, site: &'static Site) -> &Cell<Option<Edge>> {
        let (parent, site) = (ptr::from_ref(parent).addr(), ptr::from_ref(site).addr());
        &self.steps[spread((parent >> 6 ^ site.rotate_left(29)) as u64, STEPS)]
    }

    /// The operation, if it is cached. `place` is a number that goes with its name.
    #[inline]
    pub(super) fn operation(
        &self,
        place: u64,
        device: Option<&str>,
        size: Option<u64>,
    ) -> &Cell<Option<&'static Site>> {
        let hash = place ^ device.map_or(0, hash_of) ^ size.unwrap_or(0).rotate_left(32);
        &self.operations[spread(hash, OPERATIONS)]
    }
}

/// FNV-1a.
pub(super) fn hash_of(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// One of `slots` (a power of two) by Fibonacci hashing.
#[inline]
fn spread(hash: u64, slots: usize) -> usize {
    let hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - slots.trailing_zeros());
    hash as usize
}
