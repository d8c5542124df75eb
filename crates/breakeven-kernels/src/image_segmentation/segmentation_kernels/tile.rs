//! The components of a tile, by union-find in shared memory (Komura, 2015; Playne and
//! Hawick, 2018), over runs of foreground in place of pixels. A unit has a row.
//!
//! Runs of a row are two columns apart, so that half a row's columns are nodes enough.
//! Nodes grow in raster order of the runs' first pixels, and a component's root is its
//! least: its first pixel.
//!
//! Components that reach a tile's rim may continue in other tiles: they are numbered, for the
//! graph. The remaining ones are complete.

use cubecl::prelude::*;

use super::graph::root;
use super::sums::prefix_sums;
use super::tiles::{BLOCK, COLUMNS, Place, ROWS, Tiles, capacity, place};

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
    /// A bit for each component that comes to the rim, in its first row: that of the even
    /// column at or before its first one.
    open: SharedMemory<Atomic<u32>>,
    /// Bits of `open` up to the end of each row.
    sums: SharedMemory<u32>,
    /// The first pixels of the components that begin in the unit's row.
    firsts: u32,
}

/// Components whose words are still to be written.
#[cube]
fn in_shared_memory() -> Components {
    Components {
        nodes: SharedMemory::new(comptime!((RUNS * ROWS) as usize)),
        words: SharedMemory::new(comptime!(ROWS as usize)),
        open: SharedMemory::new(comptime!(ROWS as usize)),
        sums: SharedMemory::new(comptime!(ROWS as usize)),
        firsts: 0u32,
    }
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
        // If it was no longer a root, the node that it pointed to must be united with the other as
        // well.
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

/// Marks the component at a pixel of the rim, if there is one.
#[cube]
fn mark(components: &Components, y: u32, x: u32) {
    let word = components.words[y as usize];
    if (word >> x) & 1u32 == 1u32 {
        let root = components.nodes[node(word, y, x) as usize].load();
        components.open[(root / RUNS) as usize].fetch_or(1u32 << (root % RUNS * 2u32));
    }
}

/// Finds the components of the tile whose rows are the units' words.
#[cube]
fn find(word: u32, tiles: &Tiles, #[comptime] corners: bool) -> Components {
    let y = UNIT_POS_X;
    let mut components = in_shared_memory();
    components.words[y as usize] = word;
    components.open[y as usize].store(0u32);
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
            // Only corners that no side joins already.
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
    left = starts(word);
    while left != 0u32 {
        let x = left.trailing_zeros();
        let own = node(word, y, x);
        let root = root(&components.nodes.to_slice(), own, false);
        components.nodes[own as usize].store(root);
        if root == own {
            components.firsts |= 1u32 << x;
        }
        left &= left - 1u32;
    }
    sync_cube();
    if y < tiles.rows {
        mark(&components, y, 0u32);
        mark(&components, y, tiles.columns - 1u32);
    }
    if y < tiles.columns {
        mark(&components, 0u32, y);
        mark(&components, tiles.rows - 1u32, y);
    }
    sync_cube();
    let open = components.open[y as usize].load().count_ones();
    prefix_sums(&mut components.sums, open, ROWS);
    components
}

/// Words that keep a row's part of a tile's components for later: a bit for each open one, then
/// the roots of its runs, two to a word.
pub(super) const KEPT: u32 = 1 + RUNS / 2;

/// The place of a row's first kept word; the others are as many words further as the tile has rows.
#[cube]
fn kept_at(tiles: &Tiles, tile: u32, y: u32) -> u32 {
    tile * tiles.rows * KEPT + y
}

/// Whether the row has a run at that place: it begins at one of two pixels.
#[cube]
fn has_run(starts: u32, run: u32) -> bool {
    (starts >> (run * 2u32)) & 3u32 != 0u32
}

/// Keeps the unit's row of the components; only words that say something are written.
#[cube]
fn keep(components: &Components, kept: &mut Array<u32>, tiles: &Tiles, tile: u32, word: u32) {
    let y = UNIT_POS_X;
    let mut at = kept_at(tiles, tile, y);
    kept[at as usize] = components.open[y as usize].load();
    let starts = starts(word);
    let mut run = 0u32;
    while run < RUNS {
        at += tiles.rows;
        let mut roots = 0u32;
        if has_run(starts, run) {
            roots = components.nodes[(y * RUNS + run) as usize].load();
        }
        if has_run(starts, run + 1u32) {
            roots |= components.nodes[(y * RUNS + run + 1u32) as usize].load() << 16u32;
        }
        if (starts >> (run * 2u32)) & 15u32 != 0u32 {
            kept[at as usize] = roots;
        }
        run += 2u32;
    }
}

/// The components that `keep` kept, but for the runs' roots.
#[cube]
fn kept_components(word: u32, kept: &Array<u32>, tiles: &Tiles, tile: u32) -> Components {
    let y = UNIT_POS_X;
    let mut components = in_shared_memory();
    components.words[y as usize] = word;
    let mut open = 0u32;
    if y < tiles.rows {
        open = kept[kept_at(tiles, tile, y) as usize];
    }
    components.open[y as usize].store(open);
    prefix_sums(&mut components.sums, open.count_ones(), ROWS);
    components
}

/// Those of `firsts` whose components come to the rim.
#[cube]
fn open_firsts(components: &Components) -> u32 {
    let open = components.open[UNIT_POS_X as usize].load();
    components.firsts & (open | (open << 1u32))
}

/// The components at the rim that begin before that row.
#[cube]
fn before(components: &Components, y: u32) -> u32 {
    components.sums[y as usize] - components.open[y as usize].load().count_ones()
}

/// One more than the number of the component at a pixel of the rim; 0 for background.
#[cube]
fn component_at(components: &Components, y: u32, x: u32) -> u32 {
    let word = components.words[y as usize];
    let mut component = 0u32;
    if (word >> x) & 1u32 == 1u32 {
        let root = components.nodes[node(word, y, x) as usize].load();
        let row = root / RUNS;
        let left_of_it = (1u32 << (root % RUNS * 2u32)) - 1u32;
        let in_row = components.open[row as usize].load() & left_of_it;
        component = before(components, row) + in_row.count_ones() + 1u32;
    }
    component
}

/// The number of the first pixel of the unit's row: they are numbered by their words, in
/// raster order.
#[cube]
fn first_pixel(tiles: &Tiles, place: &Place) -> u32 {
    let line = (place.image * tiles.height + place.top + UNIT_POS_X) * tiles.across;
    (line + place.left / COLUMNS) * tiles.columns
}

#[cube(launch_unchecked)]
pub(super) fn label(
    masks: &Array<u32>,
    rims: &mut Array<u32>,
    sizes: &mut Array<u32>,
    parents: &mut Array<u32>,
    pixels: &mut Array<u32>,
    firsts: &mut Array<u32>,
    kept: &mut Array<u32>,
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
        let components = find(word, &tiles, corners);
        if y < tiles.rows {
            keep(&components, kept, &tiles, tile, word);
        }
        if y == 0 {
            sizes[tile as usize] = components.sums[comptime!(ROWS as usize - 1)];
        }
        let place = place(&tiles, tile);
        let first = first_pixel(&tiles, &place);
        let open = open_firsts(&components);
        if y < tiles.rows && place.top + y < tiles.height {
            firsts[(first / tiles.columns) as usize] = components.firsts & !open;
        }
        let mut own = tile * capacity(&tiles) + before(&components, y);
        let mut left = open;
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

/// The label of the component that has that first pixel.
#[cube]
fn label_of(
    firsts: &Array<u32>,
    ranks: &Array<u32>,
    counts: &Array<u32>,
    tiles: &Tiles,
    image: u32,
    first: u32,
) -> u32 {
    let word = first / tiles.columns;
    let in_image = word - image * tiles.height * tiles.across;
    let left_of_it = (1u32 << (first % tiles.columns)) - 1u32;
    let in_word = firsts[word as usize] & left_of_it;
    let block = image * tiles.blocks + in_image / BLOCK;
    counts[block as usize] + ranks[word as usize] + in_word.count_ones() + 1u32
}

#[cube(launch_unchecked)]
pub(super) fn spread(
    masks: &Array<u32>,
    parents: &Array<u32>,
    pixels: &Array<u32>,
    firsts: &Array<u32>,
    ranks: &Array<u32>,
    counts: &Array<u32>,
    kept: &Array<u32>,
    out: &mut Array<u32>,
    tiles: Tiles,
) {
    let tile = CUBE_POS as u32;
    if tile < tiles.count {
        let y = UNIT_POS_X;
        let mut word = 0u32;
        if y < tiles.rows {
            word = masks[(tile * tiles.rows + y) as usize];
        }
        let mut components = kept_components(word, kept, &tiles, tile);
        let place = place(&tiles, tile);
        // Roots get their labels; then the other runs take them from these.
        let row = first_pixel(&tiles, &place);
        let open = components.open[y as usize].load();
        let open = open | (open << 1u32);
        let mut own = tile * capacity(&tiles) + before(&components, y);
        let kept_row = kept_at(&tiles, tile, y);
        let mut left = starts(word);
        while left != 0u32 {
            let x = left.trailing_zeros();
            let run = node(word, y, x);
            let place_of = run % RUNS;
            let roots = kept[(kept_row + (place_of / 2u32 + 1u32) * tiles.rows) as usize];
            let mut value = (roots >> (place_of % 2u32 * 16u32)) & 0xffffu32;
            if value == run {
                components.firsts |= 1u32 << x;
                let mut first = row + x;
                if (open >> x) & 1u32 == 1u32 {
                    first = pixels[parents[own as usize] as usize];
                    own += 1u32;
                }
                value = label_of(firsts, ranks, counts, &tiles, place.image, first);
            }
            components.nodes[run as usize].store(value);
            left &= left - 1u32;
        }
        sync_cube();
        left = starts(word) & !components.firsts;
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
