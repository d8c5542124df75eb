//! The bytes of the table at the head of the GPU form.

use super::super::{Connectivity, ImageSegmentation};
use super::Passes;
use super::tiles::{COLUMNS, ROWS};
use crate::Tensor;
use crate::operator::Operator;

/// How often each buffer of the scratch memory is written or read as a whole, in its
/// order; that of the graph is not.
const TIMES: [u64; 8] = [3, 3, 2, 0, 0, 2, 1, 4];

/// Bytes that are moved for a component of a tile at the most.
const COMPONENT: u64 = 8 + 24 + 16 + 20;

#[test]
fn at_most_one_and_a_half_times_the_compulsory_bytes_are_moved() {
    let size = 2048;
    let compulsory = 8 * (size * size) as u64;
    let scratch = Passes::scratch([1, size, size]);
    let passes: u64 = scratch
        .iter()
        .zip(TIMES)
        .map(|(bytes, times)| bytes * times)
        .sum();
    let all = compulsory + passes;
    assert!(
        (9.3..9.35).contains(&(8.0 * all as f64 / compulsory as f64)),
        "{all}"
    );
    // Noise at the percolation threshold, tile by tile.
    let tile = (COLUMNS * ROWS) as usize;
    let tiles = size * size / tile;
    let mut state = 1_u32;
    let noise = (0..size * size).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f32::from(u8::from(f64::from(state) < 0.5927 * f64::from(u32::MAX)))
    });
    let shape = [tiles, ROWS as usize, COLUMNS as usize];
    let images = Tensor::new(noise.collect::<Vec<_>>(), &shape).unwrap();
    let segments = ImageSegmentation::new(0.5, Connectivity::Four).unwrap();
    let labels = segments.on_cpu(&images).unwrap().into_vec().unwrap();
    let components: u32 = labels
        .chunks(tile)
        .filter_map(|tile| tile.iter().max())
        .sum();
    let most = all + COMPONENT * u64::from(components);
    assert!(
        2 * most <= 3 * compulsory,
        "{most} of {compulsory}, {components} components"
    );
}
