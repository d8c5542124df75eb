//! The GPU form: a unit owns one column and slides its window down a segment of
//! rows, with its own histogram in shared memory.

use cubecl::prelude::*;

use super::{BINS, PixelEntropy, images};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Gpu, Launch, as_u32, with_client};
use crate::tensor::shape;
use crate::tune::{Space, Tunable, source_number};

/// 256 bins of 16 bits, two to a word.
const WORDS: usize = BINS / 2;

/// Rows that a unit slides over: filling the first window costs w² updates and
/// each row after it 2w, so that 64 rows keep the filling under a quarter at
/// w = 16.
const SEGMENT: u32 = 64;

/// Rows where there are too few pixels to fill a device with units of [`SEGMENT`]:
/// a third more updates at w = 16, by four times as many units. A grid must hold them.
const SHORT_SEGMENT: u32 = 16;

/// Pixels from which on a unit takes [`SEGMENT`] rows: 64 Ki units.
const FULL: u64 = 1 << 22;

/// A bin's count, which is the upper or the lower half of its word.
#[cube]
fn count_of(word: u32, shift: u32) -> u32 {
    (word >> shift) & 0xffffu32
}

#[cube]
fn bin_of(value: f32) -> u32 {
    // A NaN fails both comparisons' complement: max first sends it to 0 where
    // the device's max ignores NaN; elsewhere the bin is unspecified but in range.
    let scaled = f32::max(value * 256.0f32, 0.0f32);
    u32::min(u32::cast_from(f32::min(scaled, 255.0f32)), 255u32)
}

#[cube(launch_unchecked)]
fn slide(
    images: &Array<f32>,
    table: &Array<u32>,
    out: &mut Array<f32>,
    height: u32,
    width: u32,
    back: u32,
    ahead: u32,
    scale: f32,
    #[comptime] units: u32,
    #[comptime] segment: u32,
) {
    let mut histograms = SharedMemory::<u32>::new(comptime!(units as usize * WORDS));
    let x = CUBE_POS_X * units + UNIT_POS_X;
    let first = CUBE_POS_Y * segment;
    let image = CUBE_POS_Z * height * width;
    // Units beyond the right border have no column; nothing here waits for them.
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
                    let bin = bin_of(images[(image + bottom * width + column) as usize]);
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
                    let bin = bin_of(images[(image + top * width + column) as usize]);
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
            out[(image + y * width + x) as usize] = f32::max(entropy, 0.0f32);
        }
    }
}

impl DeviceForm for PixelEntropy {
    /// Nothing where not even one unit's histogram fits.
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let words = gpu.shared_memory_bytes() / (4 * WORDS);
        let units = [16, 32, 64]
            .into_iter()
            .filter(|units| *units as usize <= words);
        let Some(most) = u32::try_from(words.min(64)).ok().filter(|most| *most > 0) else {
            return Space::default();
        };
        // The second dimension of a grid: of a tall and narrow image's short segments there
        // may be more than it holds.
        let fits = |segment: &u32| {
            let count = (1, inputs[0][1].div_ceil(*segment as usize) as u32, 1);
            gpu.check_grid("pixel_entropy", count).is_ok()
        };
        let is_short = shape::elements(inputs[0]) < FULL && fits(&SHORT_SEGMENT);
        let segment = if is_short { SHORT_SEGMENT } else { SEGMENT };
        let segments = [8, 16, 32, 64, 128].into_iter().filter(fits);
        Space {
            source: const { source_number(include_bytes!("entropy_kernels.rs")) },
            variant: format!("window {}", self.window),
            tunables: vec![
                Tunable::new("units", most, units),
                Tunable::new("segment", segment, segments),
            ],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [batch, height, width] = images("pixel_entropy", launch.shapes)?;
        let pixels = batch * height * width;
        as_u32("pixel_entropy: the images", pixels)?;
        let [height, width] = [as_u32("height", height)?, as_u32("width", width)?];
        let batch = as_u32("batch", batch)?;
        let window = as_u32("window", self.window)?;
        let (back, ahead) = (window / 2, (window - 1) / 2);
        let Ok(units) = launch.tuned("units") else {
            return Err(DeviceError::new(
                DeviceErrorKind::Unsupported,
                "pixel_entropy needs 512 bytes of shared memory per unit, and the device has fewer",
            ));
        };
        let segment = launch.tuned("segment")?;
        // The third dimension holds at most 65 535 images a launch; larger batches
        // are the caller's to split.
        let count = (width.div_ceil(units), height.div_ceil(segment), batch);
        launch.gpu.check_grid("pixel_entropy", count)?;
        let scale = self.scale;
        with_client!(launch.gpu, client => {
            // SAFETY: `images` and `out` hold `pixels` elements and `table` one for
            // every count up to the window's area; columns and rows are clipped to
            // the image, counts never exceed the area, and each unit touches only
            // its own words of shared memory.
            unsafe {
                slide::launch_unchecked(
                    client, CubeCount::Static(count.0, count.1, count.2), CubeDim::new_1d(units),
                    launch.inputs[0].array(), launch.parameters[0].array(), launch.output.array(),
                    height, width, back, ahead, scale, units, segment,
                );
            }
        });
        Ok(())
    }
}
