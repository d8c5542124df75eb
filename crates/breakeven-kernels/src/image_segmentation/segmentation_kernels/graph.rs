//! The graph of all tiles' components: a forest, in which each points to one of its
//! image whose first pixel comes earlier, or to itself.

use cubecl::prelude::*;

use super::tiles::{Tiles, capacity};

/// The root of a node. If `shortens`, each on the way is sent to its grandparent for those
/// who come after: by way of any older pointer it would still come to the same root.
/// A load is an addition of zero on CUDA, so each is made once.
#[cube]
pub(super) fn root(parents: &Slice<Atomic<u32>>, node: u32, #[comptime] shortens: bool) -> u32 {
    let mut at = node;
    let mut parent = parents[at as usize].load();
    while parent != at {
        let grandparent = parents[parent as usize].load();
        if shortens && grandparent != parent {
            parents[at as usize].store(grandparent);
        }
        at = parent;
        parent = grandparent;
    }
    at
}

/// Only roots are sent elsewhere, and only to what comes earlier: there are no circles.
#[cube]
fn unite(parents: &Slice<Atomic<u32>>, pixels: &Array<u32>, first: u32, second: u32) {
    let mut one = root(parents, first, true);
    let mut other = root(parents, second, true);
    while one != other {
        let mut earlier = one;
        let mut later = other;
        if pixels[other as usize] < pixels[one as usize] {
            earlier = other;
            later = one;
        }
        // It may be a root no longer, and an exchange may fail for no reason: the
        // roots are looked up again.
        parents[later as usize].compare_exchange_weak(later, earlier);
        one = root(parents, earlier, true);
        other = root(parents, later, true);
    }
}

/// Unites a component with the one at the far end of another tile's row or column, if there is such
/// a tile; returns true if there was a component.
#[cube]
fn meet(
    rims: &Array<u32>,
    parents: &Slice<Atomic<u32>>,
    pixels: &Array<u32>,
    tiles: &Tiles,
    own: u32,
    tile: u32,
    place: u32,
    is_there: bool,
) -> bool {
    let mut met = false;
    if is_there {
        let rim = tile * (tiles.rows + tiles.columns);
        let component = rims[(rim + place) as usize] >> 16u32;
        if component != 0u32 {
            unite(
                parents,
                pixels,
                own,
                tile * capacity(tiles) + component - 1u32,
            );
            met = true;
        }
    }
    met
}

/// A unit has a place at the left or the upper side of a tile.
#[cube(launch_unchecked)]
pub(super) fn join(
    rims: &Array<u32>,
    parents: &mut Array<Atomic<u32>>,
    pixels: &Array<u32>,
    tiles: Tiles,
    #[comptime] corners: bool,
) {
    if ABSOLUTE_POS < rims.len() {
        let component = rims[ABSOLUTE_POS] & 0xffffu32;
        if component != 0u32 {
            let parents = parents.to_slice();
            let rim = tiles.rows + tiles.columns;
            let tile = ABSOLUTE_POS as u32 / rim;
            let place = ABSOLUTE_POS as u32 % rim;
            let own = tile * capacity(&tiles) + component - 1u32;
            let column = tile % tiles.across;
            let row = tile / tiles.across % tiles.down;
            let is_first = column == 0u32;
            let is_last = column + 1u32 == tiles.across;
            if place < tiles.rows {
                let left = tile - 1u32;
                let met = meet(rims, &parents, pixels, &tiles, own, left, place, !is_first);
                if corners && !met && !is_first {
                    let has_above = place > 0u32;
                    let has_below = place + 1u32 < tiles.rows;
                    meet(
                        rims,
                        &parents,
                        pixels,
                        &tiles,
                        own,
                        left,
                        place - 1u32,
                        has_above,
                    );
                    meet(
                        rims,
                        &parents,
                        pixels,
                        &tiles,
                        own,
                        left,
                        place + 1u32,
                        has_below,
                    );
                }
            } else if row > 0u32 {
                let above = tile - tiles.across;
                let met = meet(rims, &parents, pixels, &tiles, own, above, place, true);
                if corners && !met {
                    let mut left = above;
                    let mut left_place = place - 1u32;
                    let mut has_left = true;
                    if place == tiles.rows {
                        left = above - 1u32;
                        left_place = rim - 1u32;
                        has_left = !is_first;
                    }
                    meet(
                        rims, &parents, pixels, &tiles, own, left, left_place, has_left,
                    );
                    let mut right = above;
                    let mut right_place = place + 1u32;
                    let mut has_right = true;
                    if right_place == rim {
                        right = above + 1u32;
                        right_place = tiles.rows;
                        has_right = !is_last;
                    }
                    meet(
                        rims,
                        &parents,
                        pixels,
                        &tiles,
                        own,
                        right,
                        right_place,
                        has_right,
                    );
                }
            }
        }
    }
}

#[cube(launch_unchecked)]
pub(super) fn settle(
    sizes: &Array<u32>,
    parents: &mut Array<Atomic<u32>>,
    pixels: &Array<u32>,
    firsts: &mut Array<Atomic<u32>>,
    tiles: Tiles,
) {
    let tile = CUBE_POS as u32;
    if tile < tiles.count {
        let first = tile * capacity(&tiles);
        let end = first + sizes[tile as usize];
        let mut node = first + UNIT_POS_X;
        while node < end {
            let root = root(&parents.to_slice(), node, false);
            parents[node as usize].store(root);
            if root == node {
                let pixel = pixels[node as usize];
                let bit = 1u32 << (pixel % tiles.columns);
                firsts[(pixel / tiles.columns) as usize].fetch_or(bit);
            }
            node += CUBE_DIM_X;
        }
    }
}
