//! The GPU form: a unit owns one column and slides its window down a segment of
//! rows, with its own histogram in shared memory.

use cubecl::prelude::*;

use super::{BINS, PixelEntropy, images};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{Buffer, DeviceForm, Gpu, Launch, as_u32, with_client};
use crate::image_segmentation::segmentation_kernels::tiles::{COLUMNS, ROWS, transposed, word_of};
use crate::tensor::shape;
use crate::tune::{Space, Tunable, source_number};

/// A number of this text.
pub(crate) const SOURCE: u64 = source_number(include_bytes!("entropy_kernels.rs"));

/// 256 bins of 16 bits, two to a word.
const WORDS: usize = BINS / 2;

/// Rows that a unit slides over: filling the first window costs w² updates and
/// each row after it 2w, so that 64 rows keep the filling under a quarter at
/// w = 16.
const SEGMENT: u32 = 64;

/// Rows if there are too few pixels to fill a device with units of [`SEGMENT`]: a third more
/// updates at w = 16, by four times as many units. A grid must hold them.
const SHORT_SEGMENT: u32 = 16;

/// Pixels from which on a unit takes [`SEGMENT`] rows: 64 Ki units.
const FULL: u64 = 1 << 22;

/// Rows of bins in a word, which has a byte for each of as many pixels of a column.
pub(crate) const BIN_ROWS: u32 = 4;

/// The images, and what is stored of their entropies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Data<'b> {
    /// Values in, and entropies out.
    Values(&'b Buffer, &'b Buffer),
    /// Bins in, [`BIN_ROWS`] rows to a word, and out the masks that image_segmentation
    /// makes of the entropies with that threshold.
    Bins(&'b Buffer, &'b Buffer, f32),
}

/// A bin's count, which is the upper or the lower half of its word.
#[cube]
fn count_of(word: u32, shift: u32) -> u32 {
    (word >> shift) & 0xffffu32
}

#[cube]
pub(crate) fn bin_of(value: f32) -> u32 {
    // A NaN fails both comparisons' complement: max first sends it to 0 if the device's max ignores
    // NaN; elsewhere the bin is unspecified but in range.
    let scaled = f32::max(value * 256.0f32, 0.0f32);
    u32::min(u32::cast_from(f32::min(scaled, 255.0f32)), 255u32)
}

/// The bin of a pixel of the cube's image.
#[cube]
fn bin_at<I: Numeric>(
    images: &Array<I>,
    y: u32,
    x: u32,
    height: u32,
    width: u32,
    #[comptime] binned: bool,
) -> u32 {
    if binned {
        let row = CUBE_POS_Z * height.div_ceil(BIN_ROWS) + y / BIN_ROWS;
        let word = u32::cast_from(images[(row * width + x) as usize]);
        (word >> (y % BIN_ROWS * 8u32)) & 0xffu32
    } else {
        bin_of(f32::cast_from(
            images[((CUBE_POS_Z * height + y) * width + x) as usize],
        ))
    }
}

/// From bins, if `binned`, to masks; else from values to entropies.
#[cube(launch_unchecked)]
fn slide<I: Numeric, O: Numeric>(
    images: &Array<I>,
    table: &Array<u32>,
    out: &mut Array<O>,
    height: u32,
    width: u32,
    back: u32,
    ahead: u32,
    scale: f32,
    threshold: f32,
    #[comptime] units: u32,
    #[comptime] segment: u32,
    #[comptime] binned: bool,
) {
    let mut histograms = SharedMemory::<u32>::new(comptime!(units as usize * WORDS));
    let x = CUBE_POS_X * units + UNIT_POS_X;
    let first = CUBE_POS_Y * segment;
    // A bit for each row that is above the threshold, of 32 rows each.
    let mut upper = 0u32;
    let mut lower = 0u32;
    // Units beyond the right border have no column.
    if x < width {
        // Word k of unit u is at k·units + u: neighbours hit different banks.
        for word in 0..comptime!(WORDS as u32) {
            histograms[(word * units + UNIT_POS_X) as usize] = 0u32;
        }
        let left = x - u32::min(x, back);
        let right = u32::min(x + ahead + 1u32, width);
        let mut top = first - u32::min(first, back);
        let mut bottom = top;
        let mut sum = 0u32;
        let last = u32::min(first + segment, height);
        for y in first..last {
            let next_top = y - u32::min(y, back);
            let next_bottom = u32::min(y + ahead + 1u32, height);
            while bottom < next_bottom {
                for column in left..right {
                    let bin = bin_at(images, bottom, column, height, width, binned);
                    let at = ((bin / 2u32) * units + UNIT_POS_X) as usize;
                    let shift = (bin % 2u32) * 16u32;
                    let word = histograms[at];
                    let count = count_of(word, shift);
                    histograms[at] = word + (1u32 << shift);
                    sum += table[(count + 1u32) as usize] - table[count as usize];
                }
                bottom += 1u32;
            }
            while top < next_top {
                for column in left..right {
                    let bin = bin_at(images, top, column, height, width, binned);
                    let at = ((bin / 2u32) * units + UNIT_POS_X) as usize;
                    let shift = (bin % 2u32) * 16u32;
                    let word = histograms[at];
                    let count = count_of(word, shift);
                    histograms[at] = word - (1u32 << shift);
                    sum -= table[count as usize] - table[(count - 1u32) as usize];
                }
                top += 1u32;
            }
            let count = f32::cast_from((right - left) * (next_bottom - next_top));
            let entropy = f32::ln(count) * comptime!(std::f32::consts::LOG2_E)
                - f32::cast_from(sum) / scale / count;
            let entropy = f32::max(entropy, 0.0f32);
            if binned {
                let row = y - first;
                let bit = u32::cast_from(entropy > threshold) << (row % COLUMNS);
                if row < COLUMNS {
                    upper |= bit;
                } else {
                    lower |= bit;
                }
            } else {
                out[((CUBE_POS_Z * height + y) * width + x) as usize] = O::cast_from(entropy);
            }
        }
    }
    if binned {
        // The histograms' memory is free when all have come here.
        sync_cube();
        let column = (CUBE_POS_X * units + UNIT_POS_X) / COLUMNS * COLUMNS;
        for part in 0..comptime!(segment.div_ceil(COLUMNS)) {
            let mut bits = upper;
            if part > 0u32 {
                bits = lower;
            }
            let word = transposed(&mut histograms, bits);
            let row = part * COLUMNS + UNIT_POS_X % COLUMNS;
            let y = first + row;
            // The tile's last rows may be beyond the image, and have a word even so.
            let end = height.div_ceil(ROWS) * u32::min(height, comptime!(ROWS));
            if row < segment && y < end && column < width {
                let at = word_of(CUBE_POS_Z, y, column, height, width);
                out[at as usize] = O::cast_from(word);
            }
            sync_cube();
        }
    }
}

/// Rows that are worked on: masks have all rows of the lowest tiles.
fn masked_rows(height: usize, binned: bool) -> usize {
    let tile = ROWS as usize;
    match binned {
        true => height.div_ceil(tile) * height.min(tile),
        false => height,
    }
}

impl PixelEntropy {
    /// Returns the tunables on a device, for images of that shape; none if the histograms do not
    /// fit.
    pub(crate) fn tunables(
        gpu: &Gpu,
        [batch, height, width]: [usize; 3],
        binned: bool,
    ) -> Vec<Tunable> {
        let words = gpu.shared_memory_bytes() / (4 * WORDS);
        let most = u32::try_from(words.min(64)).unwrap_or(0);
        // Consists of complete words of masks.
        let most = if binned { most - most % COLUMNS } else { most };
        if most == 0 {
            return Vec::new();
        }
        let units = [16, 32, 64].into_iter();
        let units = units.filter(|units| *units <= most && (!binned || units % COLUMNS == 0));
        // The second dimension of a grid: of a tall and narrow image's short segments there
        // may be more than it holds.
        let fits = |segment: &u32| {
            let rows = u32::try_from(masked_rows(height, binned)).unwrap_or(u32::MAX);
            let count = (1, rows.div_ceil(*segment), 1);
            gpu.check_grid("pixel_entropy", count).is_ok()
        };
        let pixels = shape::elements(&[batch, height, width]);
        let is_short = pixels < FULL && fits(&SHORT_SEGMENT);
        let segment = if is_short { SHORT_SEGMENT } else { SEGMENT };
        // A unit has a bit of its masks for each of its rows.
        let has_bits = |segment: &u32| !binned || *segment <= 2 * COLUMNS;
        let segments = [8, 16, 32, 64, 128].into_iter();
        let segments = segments.filter(|segment| fits(segment) && has_bits(segment));
        vec![
            Tunable::new("units", most, units),
            Tunable::new("segment", segment, segments),
        ]
    }

    /// Computes the entropies of images of that shape.
    pub(crate) fn slide(
        &self,
        launch: &Launch<'_>,
        [batch, height, width]: [usize; 3],
        table: &Buffer,
        data: Data<'_>,
    ) -> Result<(), DeviceError> {
        let pixels = batch * height * width;
        as_u32("pixel_entropy: the images", pixels)?;
        let [height, width] = [as_u32("height", height)?, as_u32("width", width)?];
        let batch = as_u32("batch", batch)?;
        let window = as_u32("window", self.window)?;
        let (back, ahead) = (window / 2, (window - 1) / 2);
        let (images, out, threshold, binned) = match data {
            Data::Values(images, out) => (images, out, 0.0, false),
            Data::Bins(images, out, threshold) => (images, out, threshold, true),
        };
        let Ok(units) = launch.tuned("units") else {
            return Err(DeviceError::new(
                DeviceErrorKind::Unsupported,
                "pixel_entropy needs 512 bytes of shared memory per unit (of 32 units where it \
                 makes masks), and the device has fewer",
            ));
        };
        let segment = launch.tuned("segment")?;
        let rows = as_u32("rows", masked_rows(height as usize, binned))?;
        // The third dimension holds at most 65 535 images a launch; larger batches
        // are the caller's to split.
        let count = (width.div_ceil(units), rows.div_ceil(segment), batch);
        launch.gpu.check_grid("pixel_entropy", count)?;
        let scale = self.scale;
        with_client!(launch.gpu, client => {
            // SAFETY: `images` and `out` hold `pixels` elements, or the words of as many
            // bins and masks, and `table` one for every count up to the window's area;
            // columns and rows are clipped to the image, or for masks to its tiles,
            // counts never exceed the area, and each unit touches only its own words of
            // shared memory until all are done with theirs.
            unsafe {
                let slide = match binned {
                    true => slide::launch_unchecked::<u32, u32, _>,
                    false => slide::launch_unchecked::<f32, f32, _>,
                };
                slide(
                    client, CubeCount::Static(count.0, count.1, count.2), CubeDim::new_1d(units),
                    images.array(), table.array(), out.array(),
                    height, width, back, ahead, scale, threshold, units, segment, binned,
                );
            }
        });
        Ok(())
    }
}

impl DeviceForm for PixelEntropy {
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let shape = images("pixel_entropy", inputs).unwrap_or_default();
        Space {
            source: SOURCE,
            variant: format!("window {}", self.window),
            tunables: Self::tunables(gpu, shape, false),
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let shape = images("pixel_entropy", launch.shapes)?;
        let data = Data::Values(&launch.inputs[0], launch.output);
        self.slide(launch, shape, &launch.parameters[0], data)
    }
}
