//! The GPU form in f32 on plain cores: a cube computes a tile of the output, a unit some rows of it
//! in some vectors of columns, whose sums it keeps in registers. The strips of A and B with the
//! next terms are fetched while those in shared memory are multiplied. If there are few tiles and
//! many terms, the terms are divided into slices, too, and the slices' sums are added.

use cubecl::prelude::*;

use super::{MatrixMultiply, sizes, variant};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Gpu, Launch, Properties, as_u32, grid, with_client};
use crate::operator::Operator;
use crate::tensor::shape;
use crate::tune::{Configuration, Space, Tunable, source_number};
use breakeven_profile::profile::DeviceWork;

/// Terms of the sums that are in shared memory at a time.
const DEPTH: u32 = 16;

/// Units that a device runs in step: they lie in a block of this many rows …
const LANES_DOWN: u32 = 4;

/// … and columns, so that they share most of what they fetch.
const LANES_ACROSS: u32 = 8;

/// Units of a cube that adds up the slices.
const ADDING: u32 = 256;

/// Rows and columns of the smallest tile.
const TILE: usize = 32;

/// Number of tiles times slices that fills any device.
const FULL: usize = 1024;

/// Fewest terms in a slice.
const FEWEST_TERMS: usize = 256;

/// How a product is cut up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Cut {
    /// Units below each other and side by side in a cube.
    units: [u32; 2],
    /// Rows and columns of the output that a unit computes.
    each: [u32; 2],
}

impl Cut {
    /// Two strips of A and of B.
    fn shared_bytes(self) -> usize {
        let [down, across] = [0, 1].map(|way| self.units[way] * self.each[way]);
        (2 * DEPTH * (down + across)) as usize * size_of::<f32>()
    }

    fn tiles(self, [batch, m, _, n]: [usize; 4]) -> usize {
        let [down, across] = [0, 1].map(|way| (self.units[way] * self.each[way]) as usize);
        batch * m.div_ceil(down) * n.div_ceil(across)
    }
}

/// How large a tile of the output a cube computes, the smallest first: of large ones less is
/// fetched, small ones fill a device with a small product.
const TILINGS: [Cut; 3] = [
    Cut {
        units: [8, 8],
        each: [TILE as u32 / 8; 2],
    },
    Cut {
        units: [8, 16],
        each: [8, 4],
    },
    Cut {
        units: [16, 8],
        each: [8, 8],
    },
];

/// How many there are, from the smallest on, for which the device has the shared memory.
fn tilings_on(on: &Properties) -> usize {
    let fits = |cut: &&Cut| cut.shared_bytes() <= on.shared_memory_bytes;
    TILINGS.iter().take_while(fits).count()
}

/// Returns the largest of the first choices of which there are enough to fill the device: three
/// tiles for four multiprocessors, because the next smaller tile has less than half as many
/// products per value that it fetches.
fn usual(on: &Properties, sizes: [usize; 4], count: usize) -> u32 {
    let fills = |cut: &Cut| on.is_filled_by(cut.tiles(sizes).saturating_mul(4) / 3, 1);
    TILINGS[..count].iter().rposition(fills).unwrap_or(0) as u32
}

/// Returns the number of slices into which a GPU divides the terms of products of that size:
/// several if there are few tiles and many terms.
fn parts([batch, m, k, n]: [usize; 4]) -> usize {
    let tiles = (m.div_ceil(TILE) * n.div_ceil(TILE)).saturating_mul(batch);
    let parts = (k / FEWEST_TERMS).min(FULL / tiles.max(1));
    if parts < 4 { 1 } else { parts }
}

/// Sums `terms` terms of each place of products of m × k and k × n, from the tile's slice on;
/// `vectors` and `columns` are k and n in vectors.
#[cube(launch_unchecked)]
fn multiply_tiles<V: Size, W: Size>(
    a: &Array<Vector<f32, V>>,
    b: &Array<Vector<f32, W>>,
    out: &mut Array<Vector<f32, W>>,
    batch: u32,
    parts: u32,
    terms: u32,
    m: u32,
    k: u32,
    vectors: u32,
    columns: u32,
    #[comptime] cut: Cut,
) {
    let k_lanes = V::value();
    let n_lanes = W::value();
    let [units_down, units_across] = comptime!(cut.units);
    let units = comptime!(units_down * units_across);
    let blocks_across = comptime!(units_across / LANES_ACROSS);
    let rows = comptime!(cut.each[0]);
    let width = comptime!(cut.each[1] / n_lanes as u32);
    let tile_rows = comptime!(units_down * rows);
    let tile_columns = comptime!(units_across * width);
    // A strip of A is as high as the tile, one of B as wide.
    let strip = comptime!(DEPTH / k_lanes as u32);
    let of_a = comptime!(tile_rows * strip);
    let of_b = comptime!(DEPTH * tile_columns);
    let loads_a = comptime!(of_a.div_ceil(units));
    let loads_b = comptime!(of_b.div_ceil(units));
    // Of single elements it would be four times as much to compile.
    let unrolls = comptime!(k_lanes > 1);

    let across = columns.div_ceil(tile_columns);
    let down = m.div_ceil(tile_rows);
    let tile = CUBE_POS as u32;
    let slice = tile / (across * down);
    let item = slice % batch;
    let part = slice / batch;
    if part < parts {
        let first_row = tile / across % down * tile_rows;
        let first_column = tile % across * tile_columns;
        let first_term = part * terms;
        let start_a = item * m * vectors;
        let start_b = item * k * columns;
        let unit = UNIT_POS_X;
        let lane = unit % comptime!(LANES_DOWN * LANES_ACROSS);
        let block = unit / comptime!(LANES_DOWN * LANES_ACROSS);
        let row = block / blocks_across * LANES_DOWN + lane / LANES_ACROSS;
        let column = block % blocks_across * LANES_ACROSS + lane % LANES_ACROSS;

        // Two strips of each: one is filled while the other is used.
        let mut shared_a = SharedMemory::<Vector<f32, V>>::new(comptime!(2 * of_a as usize));
        let mut shared_b = SharedMemory::<Vector<f32, W>>::new(comptime!(2 * of_b as usize));
        let mut next_a = Array::<Vector<f32, V>>::new(comptime!(loads_a as usize));
        let mut next_b = Array::<Vector<f32, W>>::new(comptime!(loads_b as usize));
        let mut sums = Array::<Vector<f32, W>>::new(comptime!((rows * width) as usize));
        #[unroll]
        for at in 0..rows * width {
            sums[at as usize] = Vector::new(0.0f32);
        }

        let steps = u32::min(terms, k - first_term).div_ceil(DEPTH);
        // The first step only fetches, the last only multiplies.
        for step in 0..steps + 1u32 {
            if step < steps {
                let term = first_term + step * DEPTH;
                #[unroll]
                for load in 0..loads_a {
                    let at = unit + load * units;
                    let from_row = first_row + at / strip;
                    let vector = term / k_lanes as u32 + at % strip;
                    let mut value = Vector::new(0.0f32);
                    if at < of_a && from_row < m && vector < vectors {
                        value = a[(start_a + from_row * vectors + vector) as usize];
                    }
                    next_a[load as usize] = value;
                }
                #[unroll]
                for load in 0..loads_b {
                    let at = unit + load * units;
                    let from_term = term + at / tile_columns;
                    let from_column = first_column + at % tile_columns;
                    let mut value = Vector::new(0.0f32);
                    if at < of_b && from_term < k && from_column < columns {
                        value = b[(start_b + from_term * columns + from_column) as usize];
                    }
                    next_b[load as usize] = value;
                }
            }
            if step > 0u32 {
                let half = (step + 1u32) % 2u32;
                let at_a = half * of_a + row * strip;
                let at_b = half * of_b + column;
                #[unroll(unrolls)]
                for vector in 0..strip {
                    let mut of_rows = Array::<Vector<f32, V>>::new(comptime!(rows as usize));
                    #[unroll]
                    for below in 0..rows {
                        let place = at_a + below * units_down * strip + vector;
                        of_rows[below as usize] = shared_a[place as usize];
                    }
                    #[unroll]
                    for lane in 0..k_lanes {
                        let term = vector * k_lanes as u32 + lane as u32;
                        #[unroll]
                        for right in 0..width {
                            let place = at_b + term * tile_columns + right * units_across;
                            let of_columns = shared_b[place as usize];
                            #[unroll]
                            for below in 0..rows {
                                let value = of_rows[below as usize][lane];
                                sums[(below * width + right) as usize] +=
                                    Vector::new(value) * of_columns;
                            }
                        }
                    }
                }
            }
            if step < steps {
                let half = step % 2u32;
                #[unroll]
                for load in 0..loads_a {
                    let at = unit + load * units;
                    if at < of_a {
                        shared_a[(half * of_a + at) as usize] = next_a[load as usize];
                    }
                }
                #[unroll]
                for load in 0..loads_b {
                    let at = unit + load * units;
                    if at < of_b {
                        shared_b[(half * of_b + at) as usize] = next_b[load as usize];
                    }
                }
            }
            sync_cube();
        }

        #[unroll]
        for below in 0..rows {
            let to_row = first_row + row + below * units_down;
            #[unroll]
            for right in 0..width {
                let to_column = first_column + column + right * units_across;
                if to_row < m && to_column < columns {
                    out[((slice * m + to_row) * columns + to_column) as usize] =
                        sums[(below * width + right) as usize];
                }
            }
        }
    }
}

/// Adds up the slices' sums of a place.
#[cube(launch_unchecked)]
fn add_parts(partial: &Array<f32>, out: &mut Array<f32>, parts: u32) {
    if ABSOLUTE_POS < out.len() {
        let mut sum = 0.0f32;
        for part in 0..parts {
            sum += partial[part as usize * out.len() + ABSOLUTE_POS];
        }
        out[ABSOLUTE_POS] = sum;
    }
}

impl DeviceForm for MatrixMultiply {
    /// The output of each slice, if there are several.
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        let sizes = sizes(inputs).unwrap_or_default();
        let [batch, m, _, n] = sizes;
        match parts(sizes) {
            1 => Vec::new(),
            parts => vec![shape::bytes(&[parts, batch, m, n])],
        }
    }

    /// Of a unit and a strip: a multiply-add for each of its sums and terms; a load from shared
    /// memory for each vector of its rows and columns, whose words are the same for the units of
    /// a plane and are served in one cycle; for each vector that it fetches a load, a store, its
    /// place and its comparisons, 12; the loop 10.
    fn counts(
        &self,
        _: &Properties,
        inputs: &[&[usize]],
        configuration: &Configuration,
    ) -> Option<DeviceWork> {
        let sizes = sizes(inputs).ok()?;
        let [batch, m, k, n] = sizes;
        let cut = TILINGS.get(configuration.get("tiling")? as usize)?;
        let lanes = |len: usize| if len.is_multiple_of(4) { 4_u64 } else { 1 };
        let [k_lanes, n_lanes] = [k, n].map(lanes);
        let [down, across] = cut.units.map(u64::from);
        let [rows, columns] = cut.each.map(u64::from);
        let (units, depth) = (down * across, u64::from(DEPTH));
        let parts = parts(sizes);
        let terms = k.div_ceil(parts).next_multiple_of(DEPTH as usize);
        let strips = k.div_ceil(terms) as u64 * (terms / DEPTH as usize) as u64;
        let sums = rows * columns;
        let used = rows * (depth / k_lanes) + depth * (columns / n_lanes);
        let of_a = (down * rows * (depth / k_lanes)).div_ceil(units);
        let of_b = (depth * across * (columns / n_lanes)).div_ceil(units);
        let each = sums * depth + used + 12 * (of_a + of_b) + 10;
        let accesses = used + 2 * (of_a * k_lanes + of_b * n_lanes);
        let all = cut.tiles(sizes) as u64 * units;
        let output = shape::bytes(&[batch, m, n]);
        let of_slices = if parts > 1 {
            2 * output * parts as u64
        } else {
            0
        };
        Some(DeviceWork {
            bytes: self.work(inputs).bytes + of_slices,
            accesses: all * (strips * accesses + sums),
            instructions: all * (strips * each + 3 * sums),
            ..DeviceWork::default()
        })
    }

    /// The number of the tiling.
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let sizes = sizes(inputs).unwrap_or_default();
        let on = gpu.properties();
        let count = tilings_on(&on);
        let usual = usual(&on, sizes, count);
        Space {
            source: const { source_number(include_bytes!("product_kernels.rs")) },
            variant: variant(sizes),
            tunables: vec![Tunable::new("tiling", usual, 0..count as u32)],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let sizes = sizes(launch.shapes)?;
        let [batch, m, k, n] = sizes;
        let cut = TILINGS[launch.tuned("tiling")? as usize];
        let parts = parts(sizes);
        let (needed, most) = (cut.shared_bytes(), launch.gpu.shared_memory_bytes());
        if needed > most {
            let id = launch.gpu.id();
            return Err(DeviceError::new(
                DeviceErrorKind::Unsupported,
                format!(
                    "matrix_multiply: the smallest tile needs {needed} bytes of shared memory, \
                     and {id} has {most}"
                ),
            ));
        }
        // The kernel counts positions in 32 bits.
        as_u32("matrix_multiply: a", batch * m * k)?;
        as_u32("matrix_multiply: b", batch * k * n)?;
        as_u32("matrix_multiply: the output", batch * m * n)?;
        let terms = k.div_ceil(parts).next_multiple_of(DEPTH as usize);
        let terms = as_u32("k", terms)?;
        // 128-bit loads if every row is aligned for them.
        let lanes = |len: usize| if len.is_multiple_of(4) { 4 } else { 1 };
        let (k_lanes, n_lanes) = (lanes(k), lanes(n));
        let [vectors, columns] = [as_u32("k", k / k_lanes)?, as_u32("n", n / n_lanes)?];
        let units = cut.units[0] * cut.units[1];
        let count = grid(cut.tiles(sizes) * parts, 1);
        let [batch, m, k] = [as_u32("batch", batch)?, as_u32("m", m)?, as_u32("k", k)?];
        // Rounding up to full strips may need fewer slices.
        let parts = k.div_ceil(terms);
        let sums = launch.scratch.first().unwrap_or(launch.output);
        with_client!(launch.gpu, client => {
            // SAFETY: the buffers hold the elements of their shapes, the scratch an output for
            // each part; rows, terms and columns past the end of a matrix, and tiles past the
            // last part, are neither read nor written.
            unsafe {
                multiply_tiles::launch_unchecked(
                    client, count, CubeDim::new_1d(units), k_lanes, n_lanes,
                    launch.inputs[0].array(), launch.inputs[1].array(), sums.array(),
                    batch, parts, terms, m, k, vectors, columns, cut,
                );
            }
            if !launch.scratch.is_empty() {
                let count = grid(launch.output.bytes() / 4, ADDING);
                // SAFETY: the scratch has so many parts, each as long as the output.
                unsafe {
                    add_parts::launch_unchecked(
                        client, count, CubeDim::new_1d(ADDING), sums.array(),
                        launch.output.array(), parts,
                    );
                }
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::{H200, MESA};

    #[test]
    fn tiles_are_as_large_as_leave_one_for_most_multiprocessors() {
        let usual = |on: &Properties, order: usize| usual(on, [1, order, order, order], 3);
        assert_eq!([256, 512, 1024].map(|order| usual(&H200, order)), [0, 0, 2]);
        // 48 multiprocessors of 64.
        let by_vulkan = Properties {
            multiprocessors: None,
            ..H200
        };
        assert_eq!(usual(&by_vulkan, 512), 1);
        assert_eq!(usual(&MESA, 32), 2);
        let small = Properties {
            shared_memory_bytes: 16 << 10,
            ..H200
        };
        assert_eq!(tilings_on(&small), 2);
    }

    #[test]
    fn a_strip_is_counted_for_every_unit_of_a_tile() {
        let of = |shapes: [&[usize]; 2], tiling: u32| {
            let configuration = Configuration::from([("tiling", tiling)]);
            MatrixMultiply
                .counts(&H200, &shapes, &configuration)
                .expect("counted")
        };
        // One tile of 128 × 64 in 128 units of 8 × 8; two strips of 16 terms. A unit fetches 4
        // vectors of A and 2 of B, and reads 32 of its rows and 32 of its columns.
        let work = of([&[1, 128, 32], &[1, 32, 64]], 2);
        let strip = 8 * 8 * 16 + 64 + 12 * 6 + 10;
        assert_eq!(work.instructions, 128 * (2 * strip + 3 * 64));
        assert_eq!(work.accesses, 128 * (2 * (64 + 2 * 24) + 64));
        assert_eq!(work.bytes, 4 * (128 * 32 + 32 * 64 + 128 * 64));
        // Eight slices are written and read again.
        let sliced = of([&[1, 32, 2048], &[1, 2048, 32]], 0);
        assert_eq!(
            sliced.bytes,
            4 * (2 * 32 * 2048 + 32 * 32 + 2 * 8 * 32 * 32)
        );
    }
}
