//! How images are cut up, which the kernels and what launches them agree on.

use cubecl::prelude::*;

use crate::error::DeviceError;
use crate::gpu::as_u32;

/// Pixels of a tile: a word across, a unit's row each down.
pub(crate) const COLUMNS: u32 = 32;
pub(crate) const ROWS: u32 = 64;

/// Words of a block, which are counted together.
pub(super) const BLOCK: u32 = 256;

/// How images are cut up into tiles, all in elements.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct Tiles {
    /// Tiles of all images.
    pub(super) count: u32,
    /// Pixels of an image.
    pub(super) height: u32,
    pub(super) width: u32,
    /// Pixels of a tile: fewer than a full one's if images are smaller.
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Tiles of an image.
    pub(super) down: u32,
    pub(super) across: u32,
    /// Blocks of [`BLOCK`] words of an image.
    pub(super) blocks: u32,
}

/// The position of a tile: its image, and its first pixel there.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Place {
    pub(super) image: u32,
    pub(super) top: u32,
    pub(super) left: u32,
}

#[cube]
pub(super) fn place(tiles: &Tiles, tile: u32) -> Place {
    Place {
        image: tile / (tiles.down * tiles.across),
        top: tile / tiles.across % tiles.down * ROWS,
        left: tile % tiles.across * COLUMNS,
    }
}

/// Components that a tile may have at its rim: fewer than half its pixels and one.
#[cube]
pub(super) fn capacity(tiles: &Tiles) -> u32 {
    tiles.rows + tiles.columns
}

/// The place of a row's word in the masks: that of the tile that begins at `left`.
#[cube]
pub(crate) fn word_of(image: u32, y: u32, left: u32, height: u32, width: u32) -> u32 {
    let row_of_tiles = image * height.div_ceil(ROWS) + y / ROWS;
    let tile = row_of_tiles * width.div_ceil(COLUMNS) + left / COLUMNS;
    tile * u32::min(height, comptime!(ROWS)) + y % ROWS
}

/// Turns words of columns into words of rows. Units 0 to 31, and so each 32 after them,
/// give bit y of a word for the pixels of 32 columns, in their order, and get bit x for
/// the pixels of 32 rows. The memory has a word for each unit.
#[cube]
pub(crate) fn transposed(columns: &mut SharedMemory<u32>, word: u32) -> u32 {
    columns[UNIT_POS_X as usize] = word;
    sync_cube();
    let row = UNIT_POS_X % COLUMNS;
    let first = UNIT_POS_X - row;
    let mut bits = 0u32;
    for x in 0..COLUMNS {
        bits |= ((columns[(first + x) as usize] >> row) & 1u32) << x;
    }
    bits
}

impl Tiles {
    /// The tiles of images of that shape.
    pub(super) fn of([batch, height, width]: [usize; 3]) -> Result<Self, DeviceError> {
        let [rows, columns] = [height.min(ROWS as usize), width.min(COLUMNS as usize)];
        let [down, across] = [
            height.div_ceil(ROWS as usize),
            width.div_ceil(COLUMNS as usize),
        ];
        let count = batch * down * across;
        // The kernels number pixels with those that tiles have beyond the images.
        let what = "image_segmentation: the images, in whole tiles";
        as_u32(what, count.saturating_mul(rows * columns))?;
        Ok(Self {
            count: as_u32("tiles", count)?,
            height: as_u32("height", height)?,
            width: as_u32("width", width)?,
            rows: as_u32("rows", rows)?,
            columns: as_u32("columns", columns)?,
            down: as_u32("tiles", down)?,
            across: as_u32("tiles", across)?,
            blocks: as_u32("blocks", (height * across).div_ceil(BLOCK as usize))?,
        })
    }

    pub(super) fn argument<R: Runtime>(self) -> TilesLaunch<R> {
        let Self {
            count,
            height,
            width,
            rows,
            columns,
            down,
            across,
            blocks,
        } = self;
        TilesLaunch::new(count, height, width, rows, columns, down, across, blocks)
    }
}
