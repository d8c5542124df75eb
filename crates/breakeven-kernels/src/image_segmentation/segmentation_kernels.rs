//! The GPU form. Images are cut into tiles of 32×64 pixels, whose components are found in shared
//! memory. Components that reach a tile's rim are joined across the tiles in a graph with a node
//! for each; the remaining components are complete. A tile's row of pixels is a word of 32 bits.
//!
//! Seven launches, each of which needs the one before it done, and the bytes that each
//! moves: of every pixel, and of every component of a tile that comes to its rim.
//!
//! | launch | does | a pixel | a component |
//! |---|---|---|---|
//! | `mask` | makes bits of pixels | 4 + 1/8 | |
//! | `label` | finds the components of tiles, sets a bit at the first pixels of the complete ones, records which incomplete one is at each place of the rim, and keeps the runs' roots | 1/8 + 3/16 + 1/8 + 1/8, and up to 1 | 8 |
//! | `join` | unites components of tiles that touch | 3/8 | 8 to 24 |
//! | `settle` | finds each one's root, and sets a bit at the root's first pixel | | 12 to 16 |
//! | `count` | counts those bits, in raster order | 1/8 + 1/8 | |
//! | `offsets` | sums the counts | | |
//! | `spread` | writes the labels of the runs | 3/8 + 1/8 + 4, and up to 1 | 20 |
//!
//! That is 9.8 bytes a pixel, where 8 are compulsory, up to 2 for roots, and up to 68 a component
//! at a rim, counted as if no cache held any. Smooth images have next to none of them, 1.23
//! times what is compulsory; noise makes 1.61 times at the most, and a checkerboard of pixels
//! that touch at corners alone 1.73. The roots are kept because finding them again takes longer
//! than moving them: some 170 of 400 instructions of a run.
//!
//! The root of a component is that of its tiles' components whose first pixel comes
//! first in raster order, whatever the order of the atomics was. So labels are those
//! of the CPU.

use cubecl::features::AtomicUsage;
use cubecl::prelude::*;

use super::{Connectivity, ImageSegmentation, images};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{Buffer, DeviceForm, Gpu, Launch, Properties, grid, with_client};
use crate::operator::Operator;
use crate::tensor::shape;
use crate::tune::Configuration;
use breakeven_profile::profile::DeviceWork;

#[cfg(test)]
mod bytes_tests;
mod graph;
mod sums;
mod tile;
pub(crate) mod tiles;

use sums::UNITS;
use tile::{KEPT, SHARED_BYTES};
use tiles::{COLUMNS, ROWS, Tiles, place, transposed};

/// A unit looks at half a column, and then has a row.
#[cube(launch_unchecked)]
fn mask(images: &Array<f32>, masks: &mut Array<u32>, tiles: Tiles, threshold: f32) {
    let tile = CUBE_POS as u32;
    if tile < tiles.count {
        let place = place(&tiles, tile);
        let x = place.left + UNIT_POS_X % COLUMNS;
        let top = place.top + UNIT_POS_X / COLUMNS * COLUMNS;
        let mut bits = 0u32;
        for row in 0..COLUMNS {
            let y = top + row;
            if x < tiles.width && y < tiles.height {
                let pixel = (place.image * tiles.height + y) * tiles.width + x;
                if images[pixel as usize] > threshold {
                    bits |= 1u32 << row;
                }
            }
        }
        let mut columns = SharedMemory::<u32>::new(comptime!(ROWS as usize));
        let word = transposed(&mut columns, bits);
        if UNIT_POS_X < tiles.rows {
            masks[(tile * tiles.rows + UNIT_POS_X) as usize] = word;
        }
    }
}

/// The buffers of the passes, in the order of [`DeviceForm::scratch`].
pub(crate) struct Passes<'s> {
    /// A word for each row of each tile, the tiles in raster order of their images.
    pub(crate) masks: &'s Buffer,
    /// The components at a tile's rim, plus 1: at the left (in the lower half) and the
    /// right end of each row, then at the upper and the lower end of each column.
    rims: &'s Buffer,
    /// How many components each tile has at its rim.
    sizes: &'s Buffer,
    /// The graph: what each component at the rim of a tile points to.
    parents: &'s Buffer,
    /// The first pixel of each.
    pixels: &'s Buffer,
    /// A bit for each pixel, in raster order, that is the first of a complete component.
    firsts: &'s Buffer,
    /// The bits in the block before each word of `firsts`.
    ranks: &'s Buffer,
    /// The bits in the blocks of the image before each block.
    counts: &'s Buffer,
    /// What `label` found of each row of each tile.
    kept: &'s Buffer,
}

impl<'s> Passes<'s> {
    /// The sizes of the buffers, bytes.
    pub(crate) fn scratch([batch, height, width]: [usize; 3]) -> Vec<u64> {
        let [rows, columns] = [height.min(ROWS as usize), width.min(COLUMNS as usize)];
        let across = width.div_ceil(COLUMNS as usize);
        let tiles = [batch, height.div_ceil(ROWS as usize), across];
        let words = height.saturating_mul(across);
        let bytes =
            |of: [usize; 3], each: usize| crate::tensor::shape::bytes(&[&of[..], &[each]].concat());
        vec![
            bytes(tiles, rows),
            bytes(tiles, rows + columns),
            bytes(tiles, 1),
            bytes(tiles, rows + columns),
            bytes(tiles, rows + columns),
            bytes([batch, 1, 1], words),
            bytes([batch, 1, 1], words),
            bytes([batch, 1, 1], words.div_ceil(UNITS as usize)),
            bytes(tiles, rows.saturating_mul(KEPT as usize)),
        ]
    }

    pub(crate) fn of(scratch: &'s [Buffer]) -> Self {
        let [
            masks,
            rims,
            sizes,
            parents,
            pixels,
            firsts,
            ranks,
            counts,
            kept,
        ] = std::array::from_fn(|at| &scratch[at]);
        Self {
            masks,
            rims,
            sizes,
            parents,
            pixels,
            firsts,
            ranks,
            counts,
            kept,
        }
    }

    /// Labels what the masks say.
    pub(crate) fn label(
        &self,
        gpu: &Gpu,
        shape: [usize; 3],
        connectivity: Connectivity,
        out: &Buffer,
    ) -> Result<(), DeviceError> {
        check(gpu)?;
        let tiles = Tiles::of(shape)?;
        let count = tiles.count as usize;
        let rim = (tiles.rows + tiles.columns) as usize;
        let blocks = shape[0] * tiles.blocks as usize;
        let corners = connectivity == Connectivity::Eight;
        let (tile, cube) = (CubeDim::new_1d(ROWS), CubeDim::new_1d(UNITS));
        with_client!(gpu, client => {
            // SAFETY: the buffers have the sizes of `scratch`, and `out` a place for each
            // pixel. Tiles, blocks, rows, columns and pixels past the last are compared
            // away, and a neighbour of a tile is looked at only where the image has it.
            // `label` writes as many nodes of a tile as it counts in `sizes`, no others
            // are in `rims`, and parents are nodes of the same image; no more than that
            // are read. It keeps the root of every run, a node of the tile, and no others
            // are looked up.
            unsafe {
                tile::label::launch_unchecked(
                    client, grid(count, 1), tile,
                    self.masks.array(), self.rims.array(), self.sizes.array(),
                    self.parents.array(), self.pixels.array(), self.firsts.array(),
                    self.kept.array(), tiles.argument(), corners,
                );
                graph::join::launch_unchecked(
                    client, grid(count * rim, UNITS), cube,
                    self.rims.array(), self.parents.array(), self.pixels.array(),
                    tiles.argument(), corners,
                );
                graph::settle::launch_unchecked(
                    client, grid(count, 1), tile,
                    self.sizes.array(), self.parents.array(), self.pixels.array(),
                    self.firsts.array(), tiles.argument(),
                );
                sums::count::launch_unchecked(
                    client, grid(blocks, 1), cube,
                    self.firsts.array(), self.ranks.array(), self.counts.array(), tiles.argument(),
                );
                sums::offsets::launch_unchecked(
                    client, grid(shape[0], 1), cube, self.counts.array(), tiles.blocks,
                );
                tile::spread::launch_unchecked(
                    client, grid(count, 1), tile,
                    self.masks.array(), self.parents.array(), self.pixels.array(),
                    self.firsts.array(), self.ranks.array(), self.counts.array(), self.kept.array(),
                    out.array(), tiles.argument(),
                );
            }
        });
        Ok(())
    }
}

/// Fails if the device lacks what the kernels need.
fn check(gpu: &Gpu) -> Result<(), DeviceError> {
    let lacks = |what: &str| {
        let message = format!("image_segmentation needs {what}, and the device has not");
        DeviceError::new(DeviceErrorKind::Unsupported, message)
    };
    let element = u32::as_type_native_unchecked().elem_type();
    let atomic = Type::new(StorageType::Atomic(element));
    let usage = with_client!(gpu, client => client.properties().atomic_type_usage(atomic));
    if !usage.contains(AtomicUsage::LoadStore) {
        return Err(lacks("atomics of 32 bits"));
    }
    if gpu.shared_memory_bytes() < SHARED_BYTES {
        return Err(lacks(&format!("{SHARED_BYTES} bytes of shared memory")));
    }
    Ok(())
}

/// How often each buffer of the scratch memory is written or read completely, in its order; those of
/// the graph and what is kept of a tile are not.
const TIMES: [u64; 9] = [3, 3, 2, 0, 0, 3, 2, 4, 0];

/// Bytes that are moved of a row of a tile's open components, and of a pair of runs' roots.
const KEPT_BYTES: u64 = 8;

/// Instructions of a pixel, in multiply-adds: a load, comparisons and a bit in `mask` 12, its
/// fraction of a row's work 8, its label 20.
const PIXEL_INSTRUCTIONS: u64 = 40;

/// Instructions of a run of pixels, in multiply-adds (integers are two, the position of a bit is
/// eight): a node of its own 43, three unions for four runs 73, its root 57 and keeping it 8; its
/// label 60.
const RUN_INSTRUCTIONS: u64 = 241;

/// Atomic operations of a run: a node 1, three unions of five for four runs, its root 3, its
/// label 3, and two pixels that look it up.
const RUN_ATOMICS: u64 = 13;

/// Runs in a row of a tile. What an image has is not known before: a smooth one about one; noise
/// of which half is foreground eight, for which instructions are the bound.
const RUNS: u64 = 1;

impl DeviceForm for ImageSegmentation {
    /// Of a smooth image; others have more runs, and their kernels more to do. Components at the
    /// rims of tiles are not counted.
    fn counts(&self, _: &Properties, inputs: &[&[usize]], _: &Configuration) -> Option<DeviceWork> {
        let [batch, height, width] = images("image_segmentation", inputs).ok()?;
        let scratch = Passes::scratch([batch, height, width]).into_iter();
        let passes: u64 = scratch.zip(TIMES).map(|(bytes, times)| bytes * times).sum();
        let pixels = shape::elements(inputs[0]);
        let rows = (batch * height * width.div_ceil(COLUMNS as usize)) as u64;
        let runs = rows * RUNS;
        let kept = KEPT_BYTES * (rows + runs);
        Some(DeviceWork {
            bytes: self.work(inputs).bytes + passes + kept,
            atomics: RUN_ATOMICS * runs,
            instructions: PIXEL_INSTRUCTIONS * pixels + RUN_INSTRUCTIONS * runs,
            ..DeviceWork::default()
        })
    }

    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        Passes::scratch([0, 1, 2].map(|dim| inputs[0][dim]))
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let shape = images("image_segmentation", launch.shapes)?;
        let passes = Passes::of(launch.scratch);
        let tiles = Tiles::of(shape)?;
        let threshold = self.threshold;
        with_client!(launch.gpu, client => {
            // SAFETY: `images` has a place for each pixel, the masks for each row of each
            // tile; rows, columns and tiles past the last are compared away.
            unsafe {
                mask::launch_unchecked(
                    client, grid(tiles.count as usize, 1), CubeDim::new_1d(ROWS),
                    launch.inputs[0].array(), passes.masks.array(), tiles.argument(), threshold,
                );
            }
        });
        passes.label(launch.gpu, shape, self.connectivity, launch.output)
    }
}
