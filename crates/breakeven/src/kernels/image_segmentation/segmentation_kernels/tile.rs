//! The components of a tile, by union-find in shared memory (Komura, 2015; Playne and
//! Hawick, 2018), over runs of foreground in place of pixels. A unit has a row.
//!
//! Runs of a row are two columns apart, so that half a row's columns are nodes enough.
//! Nodes grow in raster order of the runs' first pixels, and a component's root is its
//! least: its first pixel.

use cubecl::prelude::*;

use super::graph::root;
use super::sums::prefix_sums;
use super::tiles::{BLOCK, COLUMNS, ROWS, Tiles, capacity, place};

/// Runs of a row.
const RUNS: u32 = COLUMNS / 2;

/// The nodes, and three words for each row.
pub(super) const SHARED_BYTES: usize = 4 * (RUNS as usize + 3) * ROWS as usize;

/// The components of a tile.
#[derive(CubeType)]
struct Components {
    /// What each run points to: its root, once they are found.
    nodes: SharedMemory<Atomic<u32>>,
    /// The foreground of each row.
    words: SharedMemory<u32>,
    /// A bit wherever a component begins.
    firsts: SharedMemory<u32>,
    /// Components that begin up to the end of each row.
    sums: SharedMemory<u32>,
}

/// The runs' first pixels.
#[cube]
fn starts(word: u32) -> u32 {
    word & !(word << 1u32)
}

/// The node of the run that has that pixel.
#[cube]
fn node(word: u32, y: u32, x: u32) -> u32 {
    let background_before = !word & ((1u32 << x) - 1u32);
    let start = 32u32 - background_before.leading_zeros();
    y * RUNS + start / 2u32
}

#[cube]
fn unite(nodes: &Slice<Atomic<u32>>, first: u32, second: u32) {
    let mut one = root(nodes, first, true);
    let mut other = root(nodes, second, true);
    while one != other {
        let least = u32::min(one, other);
        let before = nodes[u32::max(one, other) as usize].fetch_min(least);
        // It may have been a root no longer: then what it pointed to is to be
        // united with the other as well.
        one = root(nodes, before, true);
        other = root(nodes, least, true);
    }
}

/// Unites the runs of row y that have these pixels with those of the row above that have
/// the pixels `step` − 1 columns further.
#[cube]
fn unite_rows(components: &Components, y: u32, pixels: u32, #[comptime] step: u32) {
    let (word, above) = (
        components.words[y as usize],
        components.words[(y - 1u32) as usize],
    );
    let mut left = pixels;
    while left != 0u32 {
        let x = left.trailing_zeros();
        let one = node(word, y, x);
        let other = node(above, y - 1u32, x + step - 1u32);
        unite(&components.nodes.to_slice(), one, other);
        left &= left - 1u32;
    }
}

/// Finds the components of the tile whose rows are the units' words.
#[cube]
fn find(word: u32, #[comptime] corners: bool) -> Components {
    let y = UNIT_POS_X;
    let mut components = Components {
        nodes: SharedMemory::new(comptime!((RUNS * ROWS) as usize)),
        words: SharedMemory::new(comptime!(ROWS as usize)),
        firsts: SharedMemory::new(comptime!(ROWS as usize)),
        sums: SharedMemory::new(comptime!(ROWS as usize)),
    };
    components.words[y as usize] = word;
    let mut left = starts(word);
    while left != 0u32 {
        let own = node(word, y, left.trailing_zeros());
        components.nodes[own as usize].store(own);
        left &= left - 1u32;
    }
    sync_cube();
    if y > 0u32 {
        let above = components.words[(y - 1u32) as usize];
        unite_rows(&components, y, starts(word & above), 1u32);
        if corners {
            // Where a side does not join them anyway.
            let corner = word & !above;
            unite_rows(
                &components,
                y,
                corner & !(word << 1u32) & (above << 1u32),
                0u32,
            );
            unite_rows(
                &components,
                y,
                corner & !(word >> 1u32) & (above >> 1u32),
                2u32,
            );
        }
    }
    sync_cube();
    let mut firsts = 0u32;
    left = starts(word);
    while left != 0u32 {
        let x = left.trailing_zeros();
        let own = node(word, y, x);
        let root = root(&components.nodes.to_slice(), own, false);
        components.nodes[own as usize].store(root);
        if root == own {
            firsts |= 1u32 << x;
        }
        left &= left - 1u32;
    }
    components.firsts[y as usize] = firsts;
    prefix_sums(&mut components.sums, firsts.count_ones(), ROWS);
    components
}

/// The components that begin before that row.
#[cube]
fn before(components: &Components, y: u32) -> u32 {
    components.sums[y as usize] - components.firsts[y as usize].count_ones()
}

/// One more than the number of the component at a pixel; 0 for background.
#[cube]
fn component_at(components: &Components, y: u32, x: u32) -> u32 {
    let word = components.words[y as usize];
    let mut component = 0u32;
    if (word >> x) & 1u32 == 1u32 {
        let root = components.nodes[node(word, y, x) as usize].load();
        let row = root / RUNS;
        let left_of_it = (1u32 << (root % RUNS * 2u32)) - 1u32;
        let in_row = components.firsts[row as usize] & left_of_it;
        component = before(components, row) + in_row.count_ones() + 1u32;
    }
    component
}

#[cube(launch_unchecked)]
pub(super) fn label(
    masks: &Array<u32>,
    rims: &mut Array<u32>,
    sizes: &mut Array<u32>,
    parents: &mut Array<u32>,
    pixels: &mut Array<u32>,
    firsts: &mut Array<u32>,
    tiles: Tiles,
    #[comptime] corners: bool,
) {
    let tile = CUBE_POS as u32;
    if tile < tiles.count {
        let y = UNIT_POS_X;
        let row = (tile * tiles.rows + y) as usize;
        let mut word = 0u32;
        if y < tiles.rows {
            word = masks[row];
            // As many words as images have rows, which tiles have no fewer of.
            if row < firsts.len() {
                firsts[row] = 0u32;
            }
        }
        let components = find(word, corners);
        if y == 0 {
            sizes[tile as usize] = components.sums[comptime!(ROWS as usize - 1)];
        }
        // Pixels are numbered by their words in raster order.
        let place = place(&tiles, tile);
        let line = (place.image * tiles.height + place.top + y) * tiles.across;
        let first = (line + place.left / COLUMNS) * tiles.columns;
        let mut own = tile * capacity(&tiles) + before(&components, y);
        let mut left = components.firsts[y as usize];
        while left != 0u32 {
            parents[own as usize] = own;
            pixels[own as usize] = first + left.trailing_zeros();
            own += 1u32;
            left &= left - 1u32;
        }
        let rim = tile * (tiles.rows + tiles.columns);
        if y < tiles.rows {
            let right = component_at(&components, y, tiles.columns - 1u32);
            rims[(rim + y) as usize] = component_at(&components, y, 0u32) | (right << 16u32);
        }
        if y < tiles.columns {
            let bottom = component_at(&components, tiles.rows - 1u32, y);
            rims[(rim + tiles.rows + y) as usize] =
                component_at(&components, 0u32, y) | (bottom << 16u32);
        }
    }
}

#[cube(launch_unchecked)]
pub(super) fn spread(
    masks: &Array<u32>,
    parents: &Array<u32>,
    pixels: &Array<u32>,
    firsts: &Array<u32>,
    ranks: &Array<u32>,
    counts: &Array<u32>,
    out: &mut Array<u32>,
    tiles: Tiles,
    #[comptime] corners: bool,
) {
    let tile = CUBE_POS as u32;
    if tile < tiles.count {
        let y = UNIT_POS_X;
        let mut word = 0u32;
        if y < tiles.rows {
            word = masks[(tile * tiles.rows + y) as usize];
        }
        let components = find(word, corners);
        let place = place(&tiles, tile);
        // Roots get their labels; then the other runs take them from these.
        let image = place.image * tiles.height * tiles.across;
        let mut own = tile * capacity(&tiles) + before(&components, y);
        let mut left = components.firsts[y as usize];
        while left != 0u32 {
            let first = pixels[parents[own as usize] as usize];
            let at = first / tiles.columns;
            let left_of_it = (1u32 << (first % tiles.columns)) - 1u32;
            let in_word = firsts[at as usize] & left_of_it;
            let block = place.image * tiles.blocks + (at - image) / BLOCK;
            let label = counts[block as usize] + ranks[at as usize] + in_word.count_ones() + 1u32;
            components.nodes[node(word, y, left.trailing_zeros()) as usize].store(label);
            own += 1u32;
            left &= left - 1u32;
        }
        sync_cube();
        left = starts(word) & !components.firsts[y as usize];
        while left != 0u32 {
            let run = node(word, y, left.trailing_zeros()) as usize;
            let root = components.nodes[run].load() as usize;
            components.nodes[run].store(components.nodes[root].load());
            left &= left - 1u32;
        }
        sync_cube();
        // Units write a row together, so that its bytes are neighbours.
        let column = UNIT_POS_X % COLUMNS;
        let top = UNIT_POS_X / COLUMNS * COLUMNS;
        let x = place.left + column;
        for step in 0..COLUMNS {
            let row = top + step;
            let line = place.top + row;
            if x < tiles.width && line < tiles.height {
                let word = components.words[row as usize];
                let mut label = 0u32;
                if (word >> column) & 1u32 == 1u32 {
                    label = components.nodes[node(word, row, column) as usize].load();
                }
                out[((place.image * tiles.height + line) * tiles.width + x) as usize] = label;
            }
        }
    }
}
