//! Inputs from a seed: never zeros, the same on every machine.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::table::Shape;

const SEED: u64 = 0x6272_6561_6b65_7665;

/// Uniform values in [-1, 1); each input of a kernel has its own `stream`.
pub(super) fn uniform(len: usize, stream: u64) -> Vec<f32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ stream);
    (0..len).map(|_| random.random_range(-1.0..1.0)).collect()
}

/// A batch of images: smooth waves with noise, in 256 grey values, so that entropy and edges vary
/// over the image as in a photograph.
pub(super) fn images(shape: Shape) -> Vec<f32> {
    let [batch, height, width] = shape.dims();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut pixels = Vec::with_capacity(batch * height * width);
    for image in 0..batch {
        let turn = image as f32;
        for y in 0..height {
            let down = (y as f32 / 37.0 + turn).cos();
            for x in 0..width {
                let across = (x as f32 / 23.0 + turn).sin();
                // The noise grows from left to right.
                let noise = random.random_range(-0.2_f32..0.2) * x as f32 / width as f32;
                let value = 0.5 + 0.2 * across + 0.2 * down + noise;
                pixels.push((value.clamp(0.0, 0.999) * 256.0).floor() / 256.0);
            }
        }
    }
    pixels
}

/// A batch of series: each point is computed from the two before it and from noise, around a
/// nonzero level.
pub(super) fn series(shape: Shape) -> Vec<f32> {
    let mut points = uniform(shape.batch * shape.columns, 17);
    for series in points.chunks_mut(shape.columns.max(1)) {
        let (mut last, mut before) = (0.0, 0.0);
        for point in series {
            let next = 0.6 * last - 0.3 * before + *point;
            (before, last) = (last, next);
            *point = 10.0 + next;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: Shape = Shape::new([1, 64, 64]);

    #[test]
    fn inputs_come_from_the_seed_alone_and_are_not_zeros() {
        let values = uniform(1_000, 1);
        assert_eq!(values, uniform(1_000, 1));
        assert_ne!(values, uniform(1_000, 2));
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().filter(|value| **value == 0.0).count() < 2);
    }

    #[test]
    fn images_hold_many_grey_values_in_range() {
        let pixels = images(IMAGE);
        let mut bins: Vec<u32> = pixels.iter().map(|v| (v * 256.0).to_bits()).collect();
        bins.sort_unstable();
        bins.dedup();
        assert!(bins.len() > 50, "{} grey values", bins.len());
        assert!(pixels.iter().all(|v| (0.0..1.0).contains(v)));
    }

    #[test]
    fn items_are_not_all_the_same() {
        let two = IMAGE.with_batch(2);
        let (images, series) = (images(two), series(two));
        assert_ne!(series[..64], series[64..]);
        assert_ne!(images[..4096], images[4096..]);
    }
}
