//! The GPU form: a cube sums a block of one pair, then a cube per pair sums its
//! blocks. Both end in a tree in shared memory, so that no order of arrival and
//! no atomic decides how it rounds.

use cubecl::prelude::*;

use super::DotProduct;
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{DeviceForm, Gpu, Launch, as_u32, grid, with_client};
use crate::tune::{Space, Tunable, source_number};

/// Units per cube, powers of two: the tree halves them.
const UNITS: u32 = 256;
const LEAST_UNITS: u32 = 64;

/// Products that a unit sums by itself.
const EACH: u32 = 16;
const LEAST_EACH: u32 = 4;

/// The sum of every unit's `value`, known to unit 0.
#[cube]
fn cube_sum(value: f32, #[comptime] units: u32) -> f32 {
    let mut sums = SharedMemory::<f32>::new(comptime!(units as usize));
    sums[UNIT_POS_X as usize] = value;
    sync_cube();
    let mut width = comptime!(units / 2).runtime();
    while width > 0u32 {
        if UNIT_POS_X < width {
            let other = sums[(UNIT_POS_X + width) as usize];
            sums[UNIT_POS_X as usize] += other;
        }
        sync_cube();
        width /= 2u32;
    }
    sums[0]
}

/// Each cube's block of products; `len` is that of a pair in vectors of `N`.
#[cube(launch_unchecked)]
fn blocks<N: Size>(
    a: &Array<Vector<f32, N>>,
    b: &Array<Vector<f32, N>>,
    partial: &mut Array<f32>,
    len: u32,
    per_pair: u32,
    #[comptime] units: u32,
    #[comptime] each: u32,
) {
    let cube = CUBE_POS as u32;
    let pair = cube / per_pair;
    let first = cube % per_pair * comptime!(units * each) + UNIT_POS_X;
    let mut sums = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for step in 0..each {
        let at = first + step * units;
        // A cube past the last pair reads nothing and writes nothing.
        if at < len && (cube as usize) < partial.len() {
            let element = (pair * len + at) as usize;
            sums += a[element] * b[element];
        }
    }
    let mut sum = 0.0f32;
    #[unroll]
    for lane in 0..N::value() {
        sum += sums[lane];
    }
    let sum = cube_sum(sum, units);
    if UNIT_POS_X == 0 && (cube as usize) < partial.len() {
        partial[cube as usize] = sum;
    }
}

/// Each pair's blocks.
#[cube(launch_unchecked)]
fn pairs(partial: &Array<f32>, out: &mut Array<f32>, per_pair: u32, #[comptime] units: u32) {
    let pair = CUBE_POS as u32;
    let mut sum = 0.0f32;
    // Kahan (1965): a unit may sum thousands of blocks.
    let mut lost = 0.0f32;
    let mut block = UNIT_POS_X;
    while block < per_pair && (pair as usize) < out.len() {
        let value = partial[(pair * per_pair + block) as usize] - lost;
        let next = sum + value;
        lost = (next - sum) - value;
        sum = next;
        block += units;
    }
    let sum = cube_sum(sum, units);
    if UNIT_POS_X == 0 && (pair as usize) < out.len() {
        out[pair as usize] = sum;
    }
}

/// Blocks of so many products of each pair of vectors that long.
fn blocks_of(len: usize, block: u32) -> usize {
    len.div_ceil(block as usize).max(1)
}

impl DeviceForm for DotProduct {
    /// The sums of all blocks, of the smallest that there may be.
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        let len = inputs[0][1..].iter().product();
        let blocks = blocks_of(len, LEAST_UNITS * LEAST_EACH);
        vec![(4 * blocks as u64).saturating_mul(inputs[0][0] as u64)]
    }

    fn space(&self, gpu: &Gpu, _: &[&[usize]]) -> Space {
        Space {
            source: const { source_number(include_bytes!("dot_kernels.rs")) },
            tunables: vec![
                Tunable::new("units", UNITS, cube_sizes(gpu, LEAST_UNITS)),
                Tunable::new("each", EACH, [LEAST_EACH, 8, 32, 64]),
            ],
            ..Space::default()
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let batch = launch.output_shape[0];
        let len = launch.shapes[0][1..].iter().product::<usize>();
        as_u32("dot_product: the vectors", batch * len)?;
        let length = as_u32("dot_product: a vector", len)?;
        let [units, each] = [launch.tuned("units")?, launch.tuned("each")?];
        let per_pair = blocks_of(len, units * each);
        let partials = batch * per_pair;
        // 128-bit loads if every pair is aligned for them.
        let lanes = if len.is_multiple_of(4) { 4_u32 } else { 1 };
        as_u32("dot_product: the blocks", partials)?;
        let per_pair = as_u32("dot_product: the blocks of a pair", per_pair)?;
        let partial = &launch.scratch[0];
        with_client!(launch.gpu, client => {
            // SAFETY: both inputs have the batch's vectors, the scratch a place for
            // each block. A cube's pair is below the batch where its number is below
            // that of the blocks, an element's place below the length; cubes past them
            // touch only shared memory, which has a place for every unit.
            unsafe {
                blocks::launch_unchecked(
                    client, grid(partials, 1), CubeDim::new_1d(units), lanes as usize,
                    launch.inputs[0].array(), launch.inputs[1].array(), partial.array(),
                    length / lanes, per_pair, units, each / lanes,
                );
                pairs::launch_unchecked(
                    client, grid(batch, 1), CubeDim::new_1d(units),
                    partial.array(), launch.output.array(), per_pair, units,
                );
            }
        });
        Ok(())
    }
}
