//! Sums over cubes, and over the words of images.

use cubecl::prelude::*;

use super::tiles::{BLOCK, Tiles};

/// Units of a cube that counts, with a word each.
pub(super) const UNITS: u32 = BLOCK;

/// Prefix sums over a cube, each unit's own value included, left in `sums`.
#[cube]
pub(super) fn prefix_sums(sums: &mut SharedMemory<u32>, value: u32, #[comptime] units: u32) {
    sums[UNIT_POS_X as usize] = value;
    sync_cube();
    let mut step = 1u32;
    while step < units {
        let mut before = 0u32;
        if UNIT_POS_X >= step {
            before = sums[(UNIT_POS_X - step) as usize];
        }
        sync_cube();
        sums[UNIT_POS_X as usize] += before;
        sync_cube();
        step *= 2u32;
    }
}

/// The bits in each block of words, and those in the block before each word.
#[cube(launch_unchecked)]
pub(super) fn count(
    firsts: &Array<u32>,
    ranks: &mut Array<u32>,
    counts: &mut Array<u32>,
    tiles: Tiles,
) {
    let block = CUBE_POS as u32;
    let words = tiles.height * tiles.across;
    let place = block % tiles.blocks * UNITS + UNIT_POS_X;
    let word = (block / tiles.blocks * words + place) as usize;
    let is_inside = (block as usize) < counts.len() && place < words;
    let mut bits = 0u32;
    if is_inside {
        bits = firsts[word].count_ones();
    }
    let mut sums = SharedMemory::<u32>::new(comptime!(UNITS as usize));
    prefix_sums(&mut sums, bits, UNITS);
    if is_inside {
        ranks[word] = sums[UNIT_POS_X as usize] - bits;
    }
    if UNIT_POS_X == 0 && (block as usize) < counts.len() {
        counts[block as usize] = sums[comptime!(UNITS as usize - 1)];
    }
}

/// A cube per image turns the counts of its blocks into those of all before.
#[cube(launch_unchecked)]
pub(super) fn offsets(counts: &mut Array<u32>, per_image: u32) {
    let first = CUBE_POS as u32 * per_image;
    let mut sums = SharedMemory::<u32>::new(comptime!(UNITS as usize));
    let mut before = 0u32;
    let mut start = 0u32;
    while start < per_image {
        let block = start + UNIT_POS_X;
        let at = (first + block) as usize;
        let is_inside = block < per_image && at < counts.len();
        let mut count = 0u32;
        if is_inside {
            count = counts[at];
        }
        prefix_sums(&mut sums, count, UNITS);
        if is_inside {
            counts[at] = before + sums[UNIT_POS_X as usize] - count;
        }
        before += sums[comptime!(UNITS as usize - 1)];
        // No unit begins the next sums while other units read these.
        sync_cube();
        start += UNITS;
    }
}
