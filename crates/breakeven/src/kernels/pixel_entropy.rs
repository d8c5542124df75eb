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
//! Both forms slide the window: per step one line of pixels leaves the
//! histogram and one enters it, and the sum moves by whole differences of a
//! fixed-point table of c·log2 c, so that it is exact however long it slides.

use std::borrow::Cow;

use super::{GreyImage, Kernel, Work, batch, check_len, check_output, parallel, shape};
use crate::error::Error;

/// The largest window: counts fit 16 bits, which is how the GPU packs them.
const MAX_WINDOW: usize = 255;

/// Output pixels per piece of CPU work.
const CHUNK: usize = 4 * 1024;

const BINS: usize = 256;

/// A batch of grey images and the window's width.
#[derive(Debug, Clone)]
pub struct PixelEntropy<'a> {
    images: Cow<'a, [f32]>,
    batch: usize,
    height: usize,
    width: usize,
    window: usize,
    table: Table,
}

/// c·log2 c for every count that a window can hold, in fixed point.
#[derive(Debug, Clone)]
struct Table {
    /// Rounded multiples of 1 / `scale`.
    values: Vec<u32>,
    scale: f32,
    /// log2 c in floating point, for the window's N.
    log2: Vec<f32>,
}

impl Table {
    fn new(window: usize) -> Self {
        let counts = window * window;
        let weight = |count: usize| match count {
            0 => 0.0,
            _ => (count as f64) * (count as f64).log2(),
        };
        // The sum over bins never exceeds N·log2 N: scaled to stay under 2^31.
        let scale = ((1u64 << 31) as f64 / weight(counts).max(1.0))
            .log2()
            .floor();
        let scale = scale.exp2();
        Self {
            #[expect(clippy::cast_sign_loss, reason = "c·log2 c is never negative")]
            values: (0..=counts)
                .map(|count| (weight(count) * scale).round() as u32)
                .collect(),
            scale: scale as f32,
            log2: (0..=counts)
                .map(|count| (count.max(1) as f32).log2())
                .collect(),
        }
    }
}

impl<'a> PixelEntropy<'a> {
    /// `images` is batch × height × width; `window` is 1 to 255.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a length that is not its
    /// shape's or a window out of range,
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for sizes past memory.
    pub fn new(
        images: impl Into<Cow<'a, [f32]>>,
        [batch, height, width]: [usize; 3],
        window: usize,
    ) -> Result<Self, Error> {
        let images = images.into();
        let dims = [batch, height, width];
        let pixels = shape::product("pixel_entropy: the batch of images", &dims)?;
        check_len(
            "pixel_entropy: the batch of images",
            images.len(),
            pixels,
            &shape::text(&dims),
        )?;
        if !(1..=MAX_WINDOW).contains(&window) {
            return Err(Error::shape(format!(
                "pixel_entropy: a window of {window} is out of range; give 1 to {MAX_WINDOW}"
            )));
        }
        Ok(Self {
            images,
            batch,
            height,
            width,
            window,
            table: Table::new(window),
        })
    }

    /// The same for images that stand alone, all of one shape.
    ///
    /// # Errors
    ///
    /// As [`new`](PixelEntropy::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for images that differ in shape.
    pub fn of(images: &'a [GreyImage], window: usize) -> Result<Self, Error> {
        let parts = images.iter().map(GreyImage::part);
        let (pixels, [height, width]) = batch::joined("pixel_entropy: image", parts)?;
        Self::new(pixels, [images.len(), height, width], window)
    }

    /// Rows or columns of the window around `center`, clipped to `size`.
    fn reach(&self, center: usize, size: usize) -> std::ops::Range<usize> {
        let back = self.window / 2;
        let ahead = (self.window - 1) / 2;
        center.saturating_sub(back)..(center + ahead + 1).min(size)
    }

    /// One row of one image's bins: the window slides from left to right.
    fn row(&self, bins: &[u8], y: usize, out: &mut [f32]) {
        let rows = self.reach(y, self.height);
        let mut histogram = Histogram::new(&self.table.values);
        let column = |x: usize| {
            rows.clone()
                .map(move |y| usize::from(bins[y * self.width + x]))
        };
        let mut inside = 0..0;
        for (x, out) in out.iter_mut().enumerate() {
            let next = self.reach(x, self.width);
            for x in inside.start..next.start {
                column(x).for_each(|bin| histogram.remove(bin));
            }
            for x in inside.end..next.end {
                column(x).for_each(|bin| histogram.add(bin));
            }
            inside = next;
            let count = rows.len() * inside.len();
            let sum = histogram.sum as f32 / self.table.scale;
            *out = (self.table.log2[count] - sum / count as f32).max(0.0);
        }
    }
}

/// Counts per bin and the running sum of their table values.
struct Histogram<'t> {
    counts: [u16; BINS],
    table: &'t [u32],
    sum: u32,
}

impl<'t> Histogram<'t> {
    fn new(table: &'t [u32]) -> Self {
        Self {
            counts: [0; BINS],
            table,
            sum: 0,
        }
    }

    #[inline(always)]
    fn add(&mut self, bin: usize) {
        let count = usize::from(self.counts[bin]);
        self.counts[bin] += 1;
        self.sum += self.table[count + 1] - self.table[count];
    }

    #[inline(always)]
    fn remove(&mut self, bin: usize) {
        let count = usize::from(self.counts[bin]);
        self.counts[bin] -= 1;
        self.sum -= self.table[count] - self.table[count - 1];
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

impl Kernel for PixelEntropy<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.images.len()
    }

    fn work(&self) -> Work {
        let elements = self.images.len() as u64;
        Work {
            items: self.batch as u64,
            elements,
            // Histogram updates are integer work; the entropy itself is four
            // operations a pixel, too few to be a figure.
            flops: 0,
            bytes: 8 * elements,
        }
    }

    fn memory_bytes(&self) -> u64 {
        9 * self.images.len() as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.output_len());
        let (height, width) = (self.height, self.width);
        if out.is_empty() {
            return;
        }
        let mut bins = vec![0_u8; self.images.len()];
        parallel::for_chunks(&mut bins, 16 * CHUNK, |start, bins| {
            for (bin_of, value) in bins.iter_mut().zip(&self.images[start..]) {
                *bin_of = bin(*value);
            }
        });
        let rows = (CHUNK / width).max(1);
        parallel::for_chunks(out, rows * width, |start, out| {
            for (index, out) in out.chunks_mut(width).enumerate() {
                let row = start / width + index;
                let image = &bins[row / height * height * width..][..height * width];
                self.row(image, row % height, out);
            }
        });
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        vec![
            bytemuck::cast_slice(&self.images),
            bytemuck::cast_slice(&self.table.values),
        ]
    }

    #[cfg(feature = "gpu")]
    fn launch(
        &self,
        gpu: &crate::gpu::Gpu,
        inputs: &[crate::gpu::Buffer],
        output: &crate::gpu::Buffer,
    ) -> Result<(), crate::error::DeviceError> {
        device::launch(self, gpu, &inputs[0], &inputs[1], output)
    }
}

#[cfg(feature = "gpu")]
mod device;
