//! `pixel_entropy`: the Shannon entropy of the grey values around each pixel.
//!
//! H = log2 N − (1/N) Σ c·log2 c over the 256 bins of the window's histogram
//! (Shannon, 1948), in bits, 0 to 8. The window is clipped at the border: N is
//! the number of pixels that are really in it. A window of w reaches w/2 back
//! and (w − 1)/2 ahead (rounded down), so an even one is longer by one at the
//! back. A pixel v falls into bin ⌊256·v⌋; values outside [0, 1) clamp to the
//! end bins and NaN counts as 0.
//!
//! scikit-image: `filters.rank.entropy` on the 8-bit image of the bins, with a
//! w×w footprint of ones, is the same function for every w, odd or even. Element
//! (w/2, w/2) of its footprint lies on the pixel, so that an even one also
//! reaches w/2 back and w/2 − 1 ahead, pixels outside the image are left out of
//! N, and `shift_x` and `shift_y` stay 0 (seen in 0.26; −1 gives the opposite,
//! w/2 − 1 back and w/2 ahead). Give it bytes: a float image it converts by
//! rounding 255·v, which moves pixels to other bins than ⌊256·v⌋.
//!
//! Both forms slide the window: per step one line of pixels leaves the histogram and one enters it,
//! and the sum changes by the integer differences of c·log2 c in fixed point, from a table, so that
//! it is exact however long it slides.

use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::{KI, images, inputs};
use crate::error::Error;
use crate::operator::{Operator, Parameter, View};
use crate::tensor::{Tensor, shape};
use crate::tune::HostTunable;

/// The largest window: counts fit 16 bits, which is how the GPU packs them.
const MAX_WINDOW: usize = 255;

/// Output pixels per piece of CPU work.
pub(super) static CHUNK: HostTunable = HostTunable::new(
    "pixel_entropy",
    "chunk",
    4 * KI,
    &[KI, 2 * KI, 8 * KI, 16 * KI, 32 * KI],
);

/// Pixels per piece that are sorted into bins.
const SORTED: usize = 64 * 1024;

static SHARING: Sharing = Sharing::new();
static SORTING: Sharing = Sharing::new();

const BINS: usize = 256;

/// The window's width: batch × height × width in, a value a pixel out.
#[derive(Debug, Clone)]
pub struct PixelEntropy {
    pub(super) window: usize,
    /// What c·log2 c grows by from every count below a window's, in multiples of 1 / `scale`.
    growth: Tensor<'static, u32>,
    scale: f32,
    /// log2 c in floating point, for the window's N.
    log2: Vec<f32>,
}

impl PixelEntropy {
    /// Entropies in windows of that width, 1 to 255.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape) for a window out of range.
    pub fn new(window: usize) -> Result<Self, Error> {
        if !(1..=MAX_WINDOW).contains(&window) {
            return Err(Error::shape(format!(
                "pixel_entropy: a window of {window} is out of range; give 1 to {MAX_WINDOW}"
            )));
        }
        let counts = window * window;
        let weight = |count: usize| match count {
            0 => 0.0,
            _ => (count as f64) * (count as f64).log2(),
        };
        // The sum over bins never exceeds N·log2 N: scaled to stay under 2^31.
        let most = (1u64 << 31) as f64 / weight(counts).max(1.0);
        let scale = most.log2().floor().exp2();
        #[expect(clippy::cast_sign_loss, reason = "c·log2 c is never negative")]
        let fixed = |count| (weight(count) * scale).round() as u32;
        let log2 = |count: usize| (count.max(1) as f32).log2();
        let growth = |count: usize| fixed(count + 1) - fixed(count);
        let growth: Vec<u32> = (0..counts).map(growth).collect();
        Ok(Self {
            window,
            growth: Tensor::new(growth, &[counts])?,
            scale: scale as f32,
            log2: (0..=counts).map(log2).collect(),
        })
    }

    /// Rows or columns of the window around `center`, clipped to `size`.
    fn reach(&self, center: usize, size: usize) -> std::ops::Range<usize> {
        let back = self.window / 2;
        let ahead = (self.window - 1) / 2;
        center.saturating_sub(back)..(center + ahead + 1).min(size)
    }

    /// The table, for [`row`](Self::row).
    pub(super) fn growth(&self) -> Result<&[u32], Error> {
        Ok(self.growth.host()?)
    }

    /// One row of images' bins, counted over all of them: the window slides from left to
    /// right.
    pub(super) fn row(
        &self,
        growth: &[u32],
        bins: &[u8],
        height: usize,
        row: usize,
        out: &mut [f32],
    ) {
        let width = out.len();
        let bins = &bins[row / height * height * width..];
        let rows = self.reach(row % height, height);
        let mut histogram = Histogram {
            counts: [0; BINS],
            growth,
            sum: 0,
        };
        let column = |x: usize| rows.clone().map(move |y| usize::from(bins[y * width + x]));
        let mut inside = 0..0;
        for (x, out) in out.iter_mut().enumerate() {
            let next = self.reach(x, width);
            for x in inside.start..next.start {
                column(x).for_each(|bin| histogram.remove(bin));
            }
            for x in inside.end..next.end {
                column(x).for_each(|bin| histogram.add(bin));
            }
            inside = next;
            let count = rows.len() * inside.len();
            let sum = histogram.sum as f32 / self.scale;
            *out = (self.log2[count] - sum / count as f32).max(0.0);
        }
    }
}

/// Counts per bin and the running sum of their c·log2 c.
struct Histogram<'t> {
    counts: [u16; BINS],
    growth: &'t [u32],
    sum: u32,
}

impl Histogram<'_> {
    #[inline(always)]
    fn add(&mut self, bin: usize) {
        let count = usize::from(self.counts[bin]);
        self.counts[bin] += 1;
        self.sum += self.growth[count];
    }

    #[inline(always)]
    fn remove(&mut self, bin: usize) {
        let count = usize::from(self.counts[bin]);
        self.counts[bin] -= 1;
        self.sum -= self.growth[count - 1];
    }
}

/// The bins of grey values.
#[inline(always)]
pub(super) fn sort(values: &[f32], bins: &mut [u8]) {
    for (bin_of, value) in bins.iter_mut().zip(values) {
        *bin_of = bin(*value);
    }
}

/// The bin of a grey value: saturating, NaN in bin 0.
#[inline(always)]
#[expect(
    clippy::cast_sign_loss,
    reason = "a float cast saturates: negatives go to 0"
)]
fn bin(value: f32) -> u8 {
    (value * BINS as f32) as u8
}

impl Operator for PixelEntropy {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "pixel_entropy"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(images(self.name(), shapes)?.to_vec())
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        vec![&self.growth]
    }

    /// Every pixel's bin.
    fn scratch_bytes(&self, shapes: &[&[usize]]) -> u64 {
        shapes.first().map_or(0, |image| shape::elements(image))
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let [view] = inputs(self.name(), views)?;
        let [_, height, width] = images(self.name(), &[view.shape])?;
        let growth = self.growth()?;
        let mut bins = vec![0_u8; out.len()];
        parallel::for_chunks(&SORTING, &mut bins, Cut::into(SORTED), |start, bins| {
            sort(&view.values[start..], bins);
        });
        let rows = (CHUNK.at(view.values.len()) / width).max(1);
        let cut = Cut {
            most: rows * width,
            unit: width,
        };
        parallel::for_chunks(&SHARING, out, cut, |start, out| {
            for (index, out) in out.chunks_mut(width).enumerate() {
                self.row(growth, &bins, height, start / width + index, out);
            }
        });
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        vec![&CHUNK]
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

#[cfg(feature = "gpu")]
pub(super) mod entropy_kernels;
