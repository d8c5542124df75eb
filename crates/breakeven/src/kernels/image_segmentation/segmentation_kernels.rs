//! The GPU form, in six launches, each of which needs the one before it done:
//!
//! 1. `link`: every foreground pixel points to one that it touches and that comes
//!    before it in raster order, else to itself.
//! 2. `join`: where a pixel touches two that nothing else joins, their roots are
//!    united by an atomic minimum (Komura, 2015; Playne and Hawick, 2018). Of all
//!    pairs, only those are looked at that others do not imply.
//! 3. `settle`: every pixel finds its root; roots are counted by blocks.
//! 4. `offsets`: the roots before each block of an image, by a prefix sum.
//! 5. `number`: each root gets its label, which is its place among the roots.
//! 6. `spread`: every other pixel takes its root's.
//!
//! A component's root is its least pixel whatever the order of the atomics was,
//! so the labels are those of the CPU.

use cubecl::features::AtomicUsage;
use cubecl::prelude::*;

use super::{Connectivity, ImageSegmentation, images};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Launch, as_u32, grid, with_client};
use crate::tensor::shape;

const UNITS: u32 = 256;

/// Pixels of a unit where a cube has a block of them.
const EACH: u32 = 4;

/// What a background pixel points to.
const NOTHING: u32 = u32::MAX;

/// Whether there is such a pixel and it is foreground. In a kernel `&&` evaluates
/// both its sides, so a place is looked at under an `if` alone.
#[cube]
fn is_foreground(images: &Array<f32>, threshold: f32, pixel: u32, is_inside: bool) -> bool {
    let mut found = false;
    if is_inside {
        found = images[pixel as usize] > threshold;
    }
    found
}

#[cube(launch_unchecked)]
fn link(
    images: &Array<f32>,
    parents: &mut Array<u32>,
    height: u32,
    width: u32,
    threshold: f32,
    #[comptime] corners: bool,
) {
    let pixel = ABSOLUTE_POS as u32;
    let is_inside = ABSOLUTE_POS < parents.len();
    let mut parent = comptime!(NOTHING).runtime();
    if is_foreground(images, threshold, pixel, is_inside) {
        parent = pixel;
        let x = pixel % width;
        let y = pixel / width % height;
        // The least one that is foreground wins: it is looked at last.
        if is_foreground(images, threshold, pixel - 1u32, x > 0u32) {
            parent = pixel - 1u32;
        }
        if y > 0u32 {
            let above = pixel - width;
            let has_right = corners && x + 1u32 < width;
            if is_foreground(images, threshold, above + 1u32, has_right) {
                parent = above + 1u32;
            }
            if is_foreground(images, threshold, above, true) {
                parent = above;
            }
            let has_left = corners && x > 0u32;
            if is_foreground(images, threshold, above - 1u32, has_left) {
                parent = above - 1u32;
            }
        }
    }
    if is_inside {
        parents[ABSOLUTE_POS] = parent;
    }
}

/// The root of a pixel. Each pixel on the way is sent to its grandparent for those
/// who come after; by minima, so that a way is never made longer by who comes late.
/// A load is an addition of zero on CUDA, so each is made once.
#[cube]
fn root(parents: &Array<Atomic<u32>>, pixel: u32) -> u32 {
    let mut at = pixel;
    let mut parent = parents[at as usize].load();
    while parent != at {
        let grandparent = parents[parent as usize].load();
        if grandparent != parent {
            parents[at as usize].fetch_min(grandparent);
        }
        at = parent;
        parent = grandparent;
    }
    at
}

#[cube]
fn unite(parents: &Array<Atomic<u32>>, first: u32, second: u32) {
    let mut one = root(parents, first);
    let mut other = root(parents, second);
    while one != other {
        let least = u32::min(one, other);
        let before = parents[u32::max(one, other) as usize].fetch_min(least);
        // It may have been a root no longer: then what it pointed to is to be
        // united with the other as well.
        one = root(parents, before);
        other = root(parents, least);
    }
}

/// Which pixels are foreground is read off the images: that takes no atomic load.
#[cube(launch_unchecked)]
fn join(
    images: &Array<f32>,
    parents: &mut Array<Atomic<u32>>,
    height: u32,
    width: u32,
    threshold: f32,
    #[comptime] corners: bool,
) {
    let pixel = ABSOLUTE_POS as u32;
    if is_foreground(images, threshold, pixel, ABSOLUTE_POS < images.len()) {
        let x = pixel % width;
        let y = pixel / width % height;
        if y > 0u32 {
            let above = pixel - width;
            let has_left = is_foreground(images, threshold, pixel - 1u32, x > 0u32);
            let has_above = is_foreground(images, threshold, above, true);
            let has_corner = is_foreground(images, threshold, above - 1u32, x > 0u32);
            if corners {
                // A pixel above touches all the others, and they are joined there.
                let is_inside = x + 1u32 < width;
                let other = is_foreground(images, threshold, above + 1u32, is_inside);
                if other && !has_above {
                    if has_corner {
                        unite(parents, above - 1u32, above + 1u32);
                    } else if has_left {
                        unite(parents, pixel - 1u32, above + 1u32);
                    }
                }
            } else if has_left && has_above && !has_corner {
                // With the corner, both are joined by way of it.
                unite(parents, pixel - 1u32, above);
            }
        }
    }
}

/// Prefix sums over a cube, each unit's own value included, left in `sums`.
#[cube]
fn prefix_sums(sums: &mut SharedMemory<u32>, value: u32, #[comptime] units: u32) {
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

#[cube(launch_unchecked)]
fn settle(
    images: &Array<f32>,
    parents: &mut Array<Atomic<u32>>,
    counts: &mut Array<u32>,
    threshold: f32,
    pixels: u32,
    per_image: u32,
    #[comptime] units: u32,
    #[comptime] each: u32,
) {
    let block = CUBE_POS as u32;
    let mut roots = 0u32;
    if (block as usize) < counts.len() {
        let first = (block % per_image * units + UNIT_POS_X) * each;
        for step in 0..each {
            let place = first + step;
            if place < pixels {
                let pixel = block / per_image * pixels + place;
                if is_foreground(images, threshold, pixel, true) {
                    let root = root(parents, pixel);
                    parents[pixel as usize].store(root);
                    if root == pixel {
                        roots += 1u32;
                    }
                }
            }
        }
    }
    let mut sums = SharedMemory::<u32>::new(comptime!(units as usize));
    prefix_sums(&mut sums, roots, units);
    if UNIT_POS_X == 0 && (block as usize) < counts.len() {
        counts[block as usize] = sums[comptime!(units as usize - 1)];
    }
}

/// A cube per image turns the counts of its blocks into those of all before.
#[cube(launch_unchecked)]
fn offsets(counts: &mut Array<u32>, per_image: u32, #[comptime] units: u32) {
    let first = CUBE_POS as u32 * per_image;
    let mut sums = SharedMemory::<u32>::new(comptime!(units as usize));
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
        prefix_sums(&mut sums, count, units);
        if is_inside {
            counts[at] = before + sums[UNIT_POS_X as usize] - count;
        }
        before += sums[comptime!(units as usize - 1)];
        // Nobody begins the next sums while others read these.
        sync_cube();
        start += units;
    }
}

#[cube(launch_unchecked)]
fn number(
    parents: &Array<u32>,
    offsets: &Array<u32>,
    out: &mut Array<u32>,
    pixels: u32,
    per_image: u32,
    #[comptime] units: u32,
    #[comptime] each: u32,
) {
    let block = CUBE_POS as u32;
    let is_inside = (block as usize) < offsets.len();
    let place = (block % per_image * units + UNIT_POS_X) * each;
    let first = block / per_image * pixels + place;
    let mut roots = 0u32;
    for step in 0..each {
        if is_inside && place + step < pixels {
            let pixel = first + step;
            if parents[pixel as usize] == pixel {
                roots += 1u32;
            }
        }
    }
    let mut sums = SharedMemory::<u32>::new(comptime!(units as usize));
    prefix_sums(&mut sums, roots, units);
    if is_inside {
        let mut label = offsets[block as usize] + sums[UNIT_POS_X as usize] - roots;
        for step in 0..each {
            if place + step < pixels {
                let pixel = first + step;
                if parents[pixel as usize] == pixel {
                    label += 1u32;
                    out[pixel as usize] = label;
                }
            }
        }
    }
}

#[cube(launch_unchecked)]
fn spread(parents: &Array<u32>, out: &mut Array<u32>) {
    if ABSOLUTE_POS < out.len() {
        let parent = parents[ABSOLUTE_POS];
        if parent == NOTHING {
            out[ABSOLUTE_POS] = 0u32;
        } else if parent != ABSOLUTE_POS as u32 {
            out[ABSOLUTE_POS] = out[parent as usize];
        }
    }
}

const BLOCK: u32 = UNITS * EACH;

impl DeviceForm for ImageSegmentation {
    /// What each pixel points to, and the roots of each block.
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        let per_image = shape::elements(&inputs[0][1..]).div_ceil(BLOCK.into());
        let blocks = per_image.saturating_mul(inputs[0][0] as u64);
        vec![shape::bytes(inputs[0]), blocks.saturating_mul(4)]
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [batch, height, width] = images("image_segmentation", launch.shapes)?;
        let (images, out) = (&launch.inputs[0], launch.output);
        let (parents, counts) = (&launch.scratch[0], &launch.scratch[1]);
        let all = batch * height * width;
        // One more than the last pixel is what background points to.
        as_u32("image_segmentation: the images", all + 1)?;
        let [height, width] = [as_u32("height", height)?, as_u32("width", width)?];
        let pixels = height * width;
        let per_image = pixels.div_ceil(BLOCK);
        let blocks = batch * per_image as usize;
        let corners = self.connectivity == Connectivity::Eight;
        let threshold = self.threshold;
        let cube = CubeDim::new_1d(UNITS);
        with_client!(launch.gpu, client => {
            let element = u32::as_type_native_unchecked().elem_type();
            let atomic = Type::new(StorageType::Atomic(element));
            let usage = client.properties().atomic_type_usage(atomic);
            if !usage.contains(AtomicUsage::LoadStore) {
                return Err(DeviceError::new(
                    DeviceErrorKind::Unsupported,
                    "image_segmentation needs atomics of 32 bits, and the device has none",
                ));
            }
            // SAFETY: `images`, `parents` and `out` have a place for each of `all`
            // pixels, `counts` one for each of `blocks`. Pixels and blocks past those
            // are compared away, a neighbour is looked at only where the image has it,
            // and what a foreground pixel points to is itself or one before it; `NOTHING`,
            // which background has, is followed by nobody.
            unsafe {
                link::launch_unchecked(
                    client, grid(all, UNITS), cube,
                    images.array(), parents.array(), height, width, threshold, corners,
                );
                join::launch_unchecked(
                    client, grid(all, UNITS), cube,
                    images.array(), parents.array(), height, width, threshold, corners,
                );
                settle::launch_unchecked(
                    client, grid(blocks, 1), cube,
                    images.array(), parents.array(), counts.array(),
                    threshold, pixels, per_image, UNITS, EACH,
                );
                offsets::launch_unchecked(
                    client, grid(batch, 1), cube, counts.array(), per_image, UNITS,
                );
                number::launch_unchecked(
                    client, grid(blocks, 1), cube,
                    parents.array(), counts.array(), out.array(),
                    pixels, per_image, UNITS, EACH,
                );
                spread::launch_unchecked(
                    client, grid(all, UNITS), cube, parents.array(), out.array(),
                );
            }
        });
        Ok(())
    }
}
