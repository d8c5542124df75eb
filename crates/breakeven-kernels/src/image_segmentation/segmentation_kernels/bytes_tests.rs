//! The bytes of the table at the head of the GPU form.

use super::super::{Connectivity, ImageSegmentation};
use super::tiles::{COLUMNS, ROWS};
use super::{KEPT_BYTES, Passes, TIMES};
use crate::described::H200;
use crate::gpu::DeviceForm;
use crate::operator::Operator;
use crate::tensor::Tensor;

/// Bytes that are moved for a component at a tile's rim at the most, and for one of those
/// that touch no other.
const COMPONENT: [u64; 2] = [8 + 24 + 16 + 20, 8 + 16 + 20];

/// Pixels of an image a side.
const SIZE: usize = 2048;

const COMPULSORY: f64 = 8.0 * (SIZE * SIZE) as f64;

/// What is moved, as a multiple of what must be.
fn moved(connectivity: Connectivity, joins: bool, is_foreground: impl FnMut(usize) -> bool) -> f64 {
    let scratch = Passes::scratch([1, SIZE, SIZE]);
    let passes: u64 = scratch
        .iter()
        .zip(TIMES)
        .map(|(bytes, times)| bytes * times)
        .sum();
    let [rows, columns] = [ROWS as usize, COLUMNS as usize];
    // An image is as good as its tiles in a row here: what they have is counted.
    let pixels = (0..SIZE * SIZE)
        .map(is_foreground)
        .map(|is| f32::from(u8::from(is)));
    let shape = [SIZE * SIZE / (rows * columns), rows, columns];
    let images = Tensor::new(pixels.collect::<Vec<_>>(), &shape).unwrap();
    let segments = ImageSegmentation::new(0.5, connectivity).unwrap();
    let labels = segments.on_cpu(&images).unwrap().into_vec().unwrap();
    let at_rims: usize = labels
        .chunks(rows * columns)
        .map(|tile| {
            let rim = tile.iter().enumerate().filter(|(at, _)| {
                let [y, x] = [at / columns, at % columns];
                y == 0 || y + 1 == rows || x == 0 || x + 1 == columns
            });
            let mut labels: Vec<u32> = rim.map(|(_, label)| *label).filter(|&l| l > 0).collect();
            labels.sort_unstable();
            labels.dedup();
            labels.len()
        })
        .sum();
    let component = COMPONENT[usize::from(!joins)];
    // A word of roots is for the runs that begin at four pixels.
    let kept: u64 = labels
        .chunks(columns)
        .map(|row| {
            let begins = |at: usize| row[at] > 0 && (at == 0 || row[at - 1] == 0);
            let words = (0..columns).step_by(4);
            let words = words.filter(|first| (*first..first + 4).any(begins));
            KEPT_BYTES * (1 + words.count() as u64)
        })
        .sum();
    1.0 + (passes + kept + component * at_rims as u64) as f64 / COMPULSORY
}

#[test]
fn at_most_one_and_three_quarters_times_the_compulsory_bytes_are_moved() {
    let four = Connectivity::Four;
    let least = moved(four, true, |_| false);
    assert!((1.22..1.24).contains(&least), "{least}");
    for percent in (5..100).step_by(5) {
        for connectivity in [four, Connectivity::Eight] {
            let mut state = 1_u32;
            let noise = moved(connectivity, true, |_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                f64::from(state) < f64::from(percent) / 100.0 * f64::from(u32::MAX)
            });
            assert!(noise <= 1.61, "{noise} at {percent} % of foreground");
        }
    }
    // As many components as there can be, of which none touches another.
    let columns = COLUMNS as usize;
    let checkerboard = moved(four, false, |at| (at / columns + at).is_multiple_of(2));
    assert!(checkerboard <= 1.75, "{checkerboard}");
}

#[test]
fn the_bytes_of_an_image_and_a_run_per_row_are_counted() {
    let segments = ImageSegmentation::new(0.5, Connectivity::Four).unwrap();
    let configuration = Default::default();
    let counts = segments
        .counts(&H200, &[&[3, 64, 64]], &configuration)
        .unwrap();
    // Two tiles of 64 rows an image, with a run in each row.
    let runs = 3 * 2 * 64;
    assert_eq!(counts.atomics, 13 * runs);
    assert_eq!(counts.instructions, 40 * 3 * 4096 + 241 * runs);
    // Of a tile: 64 words of masks, 96 of the rim, its size, 64 of firsts and of ranks; of an
    // image one block. A word for a row's open components and one for its run, both ways.
    let tile = 4 * (3 * 64 + 3 * 96 + 2 + 3 * 64 + 2 * 64);
    let kept = 8 * 64 * (1 + 1);
    assert_eq!(counts.bytes, 3 * (8 * 4096 + 2 * (tile + kept) + 4 * 4));
}
