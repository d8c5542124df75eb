//! The GPU form: a unit owns one column and slides its window down a segment of
//! rows, with its own histogram in shared memory. Shared memory limits how many units a
//! multiprocessor has, and they hide the latency of its accesses: counts have 8 bits if the
//! window's pixels fit, which doubles the units, and else 16.

use cubecl::prelude::*;

use super::{BINS, PixelEntropy, images};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{Buffer, DeviceForm, Gpu, Launch, Properties, as_u32, with_client};
use crate::image_segmentation::segmentation_kernels::tiles::{COLUMNS, ROWS, transposed, word_of};
use crate::operator::Operator;
use crate::tensor::shape;
use crate::tune::{Configuration, Space, Tunable, source_number};
use breakeven_profile::profile::DeviceWork;

/// A number of this text.
pub(crate) const SOURCE: u64 = source_number(include_bytes!("entropy_kernels.rs"));

/// Most units of a cube: cubes are small, so that they fill the shared memory.
const UNITS: usize = 64;

/// Rows that a unit slides over: filling the first window costs w² updates and
/// each row after it 2w, so that 64 rows keep the filling under a quarter at
/// w = 16.
const SEGMENT: u32 = 64;

/// Rows if there are too few pixels to fill a device with units of [`SEGMENT`]: a third more
/// updates at w = 16, by four times as many units. A grid must hold them.
const SHORT_SEGMENT: u32 = 16;

/// Bits of a count. A window of 16 may have 256 pixels of one bin, whose count then is 0 and
/// carries into the next one's: no pixel of any other bin is in the window, so only that bin's
/// counts are looked at, and modulo 256 they are right, until one pixel leaves and takes the
/// carry back.
fn bits_of(window: usize) -> u32 {
    if window * window <= 256 { 8 } else { 16 }
}

/// Bytes of shared memory that a unit has.
fn bytes_of(window: usize) -> usize {
    BINS * bits_of(window) as usize / 8
}

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

/// Adds a row of the window to the unit's histogram, or takes it away; returns by how much the sum
/// of c·log2 c grows or shrinks.
#[cube]
fn move_row<I: Numeric>(
    images: &Array<I>,
    growth: &Array<u32>,
    histograms: &mut SharedMemory<u32>,
    y: u32,
    left: u32,
    right: u32,
    height: u32,
    width: u32,
    #[comptime] units: u32,
    #[comptime] bits: u32,
    #[comptime] binned: bool,
    #[comptime] adds: bool,
) -> u32 {
    let in_word = comptime!(32 / bits);
    let largest = comptime!((1u32 << bits) - 1);
    let mut change = 0u32;
    for column in left..right {
        let bin = bin_at(images, y, column, height, width, binned);
        // Word k of unit u is at k·units + u: neighbours hit different banks.
        let at = ((bin / in_word) * units + UNIT_POS_X) as usize;
        let shift = bin % in_word * bits;
        let word = histograms[at];
        let count = word >> shift;
        if adds {
            histograms[at] = word + (1u32 << shift);
            change += growth[(count & largest) as usize];
        } else {
            histograms[at] = word - (1u32 << shift);
            change += growth[((count - 1u32) & largest) as usize];
        }
    }
    change
}

/// From bins, if `binned`, to masks; else from values to entropies.
#[cube(launch_unchecked)]
fn slide<I: Numeric, O: Numeric>(
    images: &Array<I>,
    growth: &Array<u32>,
    out: &mut Array<O>,
    height: u32,
    width: u32,
    back: u32,
    ahead: u32,
    scale: f32,
    threshold: f32,
    #[comptime] units: u32,
    #[comptime] segment: u32,
    #[comptime] bits: u32,
    #[comptime] binned: bool,
) {
    let words = comptime!(BINS as u32 * bits / 32);
    let mut histograms = SharedMemory::<u32>::new(comptime!((units * words) as usize));
    let x = CUBE_POS_X * units + UNIT_POS_X;
    let first = CUBE_POS_Y * segment;
    // A bit for each row that is above the threshold, of 32 rows each.
    let mut upper = 0u32;
    let mut lower = 0u32;
    // Units beyond the right border have no column.
    if x < width {
        for word in 0..words {
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
            // Rows leave before others come: no count exceeds the window's pixels.
            while top < next_top {
                sum -= move_row(
                    images,
                    growth,
                    &mut histograms,
                    top,
                    left,
                    right,
                    height,
                    width,
                    units,
                    bits,
                    binned,
                    false,
                );
                top += 1u32;
            }
            while bottom < next_bottom {
                sum += move_row(
                    images,
                    growth,
                    &mut histograms,
                    bottom,
                    left,
                    right,
                    height,
                    width,
                    units,
                    bits,
                    binned,
                    true,
                );
                bottom += 1u32;
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
    pub(crate) fn tunables(&self, gpu: &Gpu, shape: [usize; 3], binned: bool) -> Vec<Tunable> {
        // The second dimension of a grid: of a tall and narrow image's short segments there
        // may be more than it holds.
        let rows = u32::try_from(masked_rows(shape[1], binned)).unwrap_or(u32::MAX);
        self.tunables_on(&gpu.properties(), shape, binned, |segment| {
            let count = (1, rows.div_ceil(segment), 1);
            gpu.check_grid("pixel_entropy", count).is_ok()
        })
    }

    fn tunables_on(
        &self,
        on: &Properties,
        [batch, height, width]: [usize; 3],
        binned: bool,
        fits: impl Fn(u32) -> bool,
    ) -> Vec<Tunable> {
        let each = bytes_of(self.window);
        let most = (on.shared_memory_bytes / each).min(UNITS) as u32;
        // Consists of complete words of masks.
        let most = if binned { most - most % COLUMNS } else { most };
        if most == 0 {
            return Vec::new();
        }
        let units = [16, 32, 64].into_iter();
        let units = units.filter(|units| *units <= most && (!binned || units % COLUMNS == 0));
        let pixels = batch.saturating_mul(height).saturating_mul(width);
        let at_once = on.units_at_once(most, most as usize * each);
        let is_full = on.is_filled_by(pixels / SEGMENT as usize, at_once);
        let segment = match is_full || !fits(SHORT_SEGMENT) {
            true => SEGMENT,
            false => SHORT_SEGMENT,
        };
        // A unit has a bit of its masks for each of its rows.
        let has_bits = |segment: &u32| !binned || *segment <= 2 * COLUMNS;
        let segments = [8, 16, 32, 64, 128].into_iter();
        let segments = segments.filter(|segment| fits(*segment) && has_bits(segment));
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
        growth: &Buffer,
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
                 makes masks; half of that for a window up to 16), and the device has fewer",
            ));
        };
        let segment = launch.tuned("segment")?;
        let rows = as_u32("rows", masked_rows(height as usize, binned))?;
        // The third dimension holds at most 65 535 images a launch; larger batches
        // are the caller's to split.
        let count = (width.div_ceil(units), rows.div_ceil(segment), batch);
        launch.gpu.check_grid("pixel_entropy", count)?;
        let (scale, bits) = (self.scale, bits_of(self.window));
        with_client!(launch.gpu, client => {
            // SAFETY: `images` and `out` hold `pixels` elements, or the words of as many
            // bins and masks, and `growth` one for every count below the window's area;
            // columns and rows are clipped to the image, or for masks to its tiles,
            // counts never exceed the area, those that are read are below it, and each unit touches only its own words of
            // shared memory until all are done with theirs.
            unsafe {
                let slide = match binned {
                    true => slide::launch_unchecked::<u32, u32, _>,
                    false => slide::launch_unchecked::<f32, f32, _>,
                };
                slide(
                    client, CubeCount::Static(count.0, count.1, count.2), CubeDim::new_1d(units),
                    images.array(), growth.array(), out.array(),
                    height, width, back, ahead, scale, threshold, units, segment, bits, binned,
                );
            }
        });
        Ok(())
    }
}

/// Instructions of an update, in multiply-adds: those of integers and comparisons are two. Finding
/// the bin 9, its pixel 3, its word and shift 8, load, extract, change and store the count 10, its
/// growth 3 and the sum 2, the loop 1.
const UPDATE_INSTRUCTIONS: u64 = 36;

/// Of an update: the pixel, the word of the histogram twice, the growth.
const UPDATE_ACCESSES: u64 = 4;

/// Of an output: a logarithm, a division, the rest of the entropy, its place, and the loop.
const OUTPUT_INSTRUCTIONS: u64 = 40;

/// Pixels of all windows of a line of `size`, and those that enter or leave windows that slide
/// down it in segments.
fn line(entropy: &PixelEntropy, size: usize, segment: usize) -> [u64; 2] {
    let mut found = [0, 0];
    for first in (0..size).step_by(segment) {
        let mut start = entropy.reach(first, size).start;
        let mut end = start;
        for at in first..size.min(first + segment) {
            let reach = entropy.reach(at, size);
            found[0] += reach.len() as u64;
            found[1] += (reach.end - end + reach.start - start) as u64;
            (start, end) = (reach.start, reach.end);
        }
    }
    found
}

impl DeviceForm for PixelEntropy {
    /// Updates of histograms: the window's width times the rows that enter and leave. They depend
    /// on each other by the histogram alone, whose accesses are done in order anyway, so that no
    /// chain of them is counted.
    fn counts(
        &self,
        _: &Properties,
        inputs: &[&[usize]],
        configuration: &Configuration,
    ) -> Option<DeviceWork> {
        let [batch, height, width] = images("pixel_entropy", inputs).ok()?;
        let segment = configuration.get("segment")? as usize;
        let [across, _] = line(self, width, width.max(1));
        let [_, moved] = line(self, height, segment);
        let updates = batch as u64 * across * moved;
        let pixels = shape::elements(inputs[0]);
        Some(DeviceWork {
            bytes: self.work(inputs).bytes,
            accesses: UPDATE_ACCESSES * updates + pixels,
            instructions: UPDATE_INSTRUCTIONS * updates + OUTPUT_INSTRUCTIONS * pixels,
            ..DeviceWork::default()
        })
    }

    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let shape = images("pixel_entropy", inputs).unwrap_or_default();
        Space {
            source: SOURCE,
            variant: format!("window {}", self.window),
            tunables: self.tunables(gpu, shape, false),
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let shape = images("pixel_entropy", launch.shapes)?;
        let data = Data::Values(&launch.inputs[0], launch.output);
        self.slide(launch, shape, &launch.parameters[0], data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::{H200, MESA};

    fn defaults(window: usize, on: &Properties, shape: [usize; 3]) -> Vec<u32> {
        let entropy = PixelEntropy::new(window).expect("a window");
        let tunables = entropy.tunables_on(on, shape, false, |_| true);
        tunables.iter().map(|tunable| tunable.default).collect()
    }

    #[test]
    fn a_device_that_is_not_full_has_short_segments() {
        // 896 units of 256 bytes are on a multiprocessor, 118 272 on the device.
        assert_eq!(defaults(16, &H200, [28, 512, 512]), [64, 16]);
        assert_eq!(defaults(16, &H200, [29, 512, 512]), [64, 64]);
        // Of a larger window half as many.
        assert_eq!(defaults(17, &H200, [15, 512, 512]), [64, 64]);
        assert_eq!(defaults(16, &MESA, [1, 64, 64]), [64, 64]);
        let least = Properties {
            shared_memory_bytes: 255,
            ..H200
        };
        assert!(defaults(16, &least, [1, 64, 64]).is_empty());
    }

    #[test]
    fn updates_are_counted_by_rows_that_enter_and_leave() {
        let entropy = PixelEntropy::new(3).expect("a window");
        let of = |height, width, segment: u32| {
            let shape = [2, height, width];
            let configuration = Configuration::from([("units", 64), ("segment", segment)]);
            DeviceForm::counts(&entropy, &H200, &[&shape], &configuration).expect("counted")
        };
        // Windows 2 + 3 + 2 pixels wide; rows 2, +1, +0 − 1: four are moved.
        let work = of(3, 3, 64);
        let updates = 2 * 7 * 4;
        assert_eq!(work.accesses, 4 * updates + 18);
        assert_eq!(work.instructions, 36 * updates + 40 * 18);
        assert_eq!(work.bytes, 2 * 18 * 4 + 9 * 4);
        // A segment of one row fills each window anew: 2 + 3 + 2 rows.
        assert_eq!(of(3, 3, 1).accesses, 4 * 2 * 7 * 7 + 18);
        assert_eq!((work.atomics, work.steps), (0, 0));
    }
}
