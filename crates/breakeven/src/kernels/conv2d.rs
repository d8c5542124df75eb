//! `conv2d`: cross-correlation of a batch of one-channel images with one
//! filter, zero padding, any stride.
//!
//! out[y, x] = Σ w[i, j] · in[y·stride + i − padding, x·stride + j − padding], the
//! convention of PyTorch's `conv2d` and SciPy's `correlate` (the filter is not
//! flipped). A NaN or infinity reaches every output whose window holds it;
//! what 0 · ∞ at the padding gives is not promised across devices.

use std::borrow::Cow;

use super::{GreyImage, Kernel, Work, batch, check_len, check_output, parallel, shape};
use crate::error::Error;

/// The horizontal Sobel filter (Sobel and Feldman, 1968): the default workload.
pub const SOBEL_X: [f32; 9] = [-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0];

/// Output elements per piece of CPU work.
const CHUNK: usize = 16 * 1024;

/// A batch of images, one filter, and how it is moved over them.
#[derive(Debug, Clone)]
pub struct Conv2d<'a> {
    images: Cow<'a, [f32]>,
    filter: Cow<'a, [f32]>,
    geometry: Geometry,
}

/// The sizes of a convolution, all in elements.
#[derive(Debug, Clone, Copy)]
struct Geometry {
    batch: usize,
    height: usize,
    width: usize,
    filter_height: usize,
    filter_width: usize,
    stride: usize,
    padding: usize,
    out_height: usize,
    out_width: usize,
}

impl<'a> Conv2d<'a> {
    /// `images` is batch × height × width (`dims`), `filter` is height × width
    /// (`filter_dims`). The output is batch × oh × ow with
    /// oh = (height + 2·padding − filter height) / stride + 1, ow likewise.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a length that is not its
    /// shape's, a stride of zero, an empty filter or one larger than the padded image;
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for sizes past memory.
    pub fn new(
        images: impl Into<Cow<'a, [f32]>>,
        [batch, height, width]: [usize; 3],
        filter: impl Into<Cow<'a, [f32]>>,
        [filter_height, filter_width]: [usize; 2],
        stride: usize,
        padding: usize,
    ) -> Result<Self, Error> {
        let (images, filter) = (images.into(), filter.into());
        let pixels = shape::product("conv2d: the batch of images", &[batch, height, width])?;
        let taps = shape::product("conv2d: the filter", &[filter_height, filter_width])?;
        let dims = shape::text(&[batch, height, width]);
        check_len("conv2d: the batch of images", images.len(), pixels, &dims)?;
        let filter_dims = shape::text(&[filter_height, filter_width]);
        check_len("conv2d: the filter", filter.len(), taps, &filter_dims)?;
        if taps == 0 {
            return Err(Error::shape(
                "conv2d: the filter is empty; give at least 1×1",
            ));
        }
        if stride == 0 {
            return Err(Error::shape("conv2d: the stride is zero; give 1 or more"));
        }
        let out = |size: usize, filter: usize, which: &str| {
            let padded = padding
                .checked_mul(2)
                .and_then(|both| both.checked_add(size))
                .ok_or_else(|| Error::too_large("conv2d: the padding is past memory"))?;
            if padded < filter {
                return Err(Error::shape(format!(
                    "conv2d: the filter's {which} {filter} is larger than the padded image's {padded}"
                )));
            }
            Ok((padded - filter) / stride + 1)
        };
        let (out_height, out_width) = (
            out(height, filter_height, "height")?,
            out(width, filter_width, "width")?,
        );
        shape::product("conv2d: the output", &[batch, out_height, out_width])?;
        Ok(Self {
            images,
            filter,
            geometry: Geometry {
                batch,
                height,
                width,
                filter_height,
                filter_width,
                stride,
                padding,
                out_height,
                out_width,
            },
        })
    }

    /// The same for images that stand alone, all of one shape.
    ///
    /// # Errors
    ///
    /// As [`new`](Conv2d::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for images that differ in shape.
    pub fn of(
        images: &'a [GreyImage],
        filter: impl Into<Cow<'a, [f32]>>,
        filter_dims: [usize; 2],
        stride: usize,
        padding: usize,
    ) -> Result<Self, Error> {
        let parts = images.iter().map(GreyImage::part);
        let (pixels, [height, width]) = batch::joined("conv2d: image", parts)?;
        let dims = [images.len(), height, width];
        Self::new(pixels, dims, filter, filter_dims, stride, padding)
    }

    /// Height and width of one output image.
    pub fn output_dims(&self) -> [usize; 2] {
        [self.geometry.out_height, self.geometry.out_width]
    }

    /// One output row: each tap of the filter adds its shifted input row.
    fn row(&self, index: usize, out: &mut [f32]) {
        let g = &self.geometry;
        let (image, y) = (index / g.out_height, index % g.out_height);
        let image = &self.images[image * g.height * g.width..][..g.height * g.width];
        out.fill(0.0);
        for i in 0..g.filter_height {
            let Some(source) = (y * g.stride + i)
                .checked_sub(g.padding)
                .filter(|&row| row < g.height)
            else {
                continue;
            };
            let source = &image[source * g.width..][..g.width];
            let taps = &self.filter[i * g.filter_width..][..g.filter_width];
            if let ([a, b, c], 1) = (taps, g.stride) {
                three_taps(out, source, [*a, *b, *c], g.padding);
                continue;
            }
            for (j, &tap) in taps.iter().enumerate() {
                let columns = in_image(j, g.stride, g.padding, g.width, out.len());
                if columns.is_empty() {
                    continue;
                }
                let first = columns.start * g.stride + j - g.padding;
                let inside = source[first..].iter().step_by(g.stride);
                for (o, &value) in out[columns].iter_mut().zip(inside) {
                    *o += tap * value;
                }
            }
        }
    }
}

/// The output columns x for which column x·stride + tap − padding is in the image.
fn in_image(
    tap: usize,
    stride: usize,
    padding: usize,
    width: usize,
    out_width: usize,
) -> std::ops::Range<usize> {
    let first = padding.saturating_sub(tap).div_ceil(stride);
    let end = (width + padding)
        .checked_sub(tap)
        .map_or(0, |reach| reach.div_ceil(stride));
    first.min(out_width)..end.min(out_width).max(first.min(out_width))
}

/// Adds a row of three taps at stride 1: one pass over the middle, where all
/// three are inside the image, and single taps at the borders.
fn three_taps(out: &mut [f32], source: &[f32], taps: [f32; 3], padding: usize) {
    let width = out.len();
    let middle_start = in_image(0, 1, padding, source.len(), width).start;
    let middle_end = in_image(2, 1, padding, source.len(), width).end;
    if middle_start < middle_end {
        let left = &source[middle_start - padding.min(middle_start)..];
        for (o, window) in out[middle_start..middle_end]
            .iter_mut()
            .zip(left.windows(3))
        {
            *o += taps[0] * window[0] + taps[1] * window[1] + taps[2] * window[2];
        }
    }
    let border = |x: &usize| *x < middle_start || *x >= middle_end.max(middle_start);
    let edge = |end: usize| end.min(width);
    let columns = (0..edge(middle_start)).chain(edge(middle_end.max(middle_start))..width);
    for x in columns.filter(border) {
        for (j, tap) in taps.iter().enumerate() {
            if let Some(value) = (x + j).checked_sub(padding).and_then(|c| source.get(c)) {
                out[x] += tap * value;
            }
        }
    }
}

impl Kernel for Conv2d<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.geometry.batch * self.geometry.out_height * self.geometry.out_width
    }

    fn work(&self) -> Work {
        let elements = self.output_len() as u64;
        Work {
            items: self.geometry.batch as u64,
            elements,
            flops: elements.saturating_mul(2 * self.filter.len() as u64),
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * (self.images.len() + self.filter.len() + self.output_len()) as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.output_len());
        let width = self.geometry.out_width;
        if width == 0 {
            return;
        }
        let rows = (CHUNK / width).max(1);
        parallel::for_chunks(out, rows * width, |start, out| {
            for (index, out) in out.chunks_mut(width).enumerate() {
                self.row(start / width + index, out);
            }
        });
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        vec![
            bytemuck::cast_slice(&self.images),
            bytemuck::cast_slice(&self.filter),
        ]
    }

    #[cfg(feature = "gpu")]
    fn launch(
        &self,
        gpu: &crate::gpu::Gpu,
        inputs: &[crate::gpu::Buffer],
        output: &crate::gpu::Buffer,
    ) -> Result<(), crate::error::DeviceError> {
        device::launch(gpu, &inputs[0], &inputs[1], output, &self.geometry)
    }
}

#[cfg(feature = "gpu")]
mod device {
    use cubecl::prelude::*;

    use super::Geometry;
    use crate::error::DeviceError;
    use crate::gpu::{Buffer, Gpu, as_u32, grid, with_client};

    const UNITS: u32 = 256;

    #[cube(launch_unchecked)]
    fn correlate(
        images: &Array<f32>,
        filter: &Array<f32>,
        out: &mut Array<f32>,
        height: u32,
        width: u32,
        out_height: u32,
        out_width: u32,
        stride: u32,
        padding: u32,
        #[comptime] filter_height: u32,
        #[comptime] filter_width: u32,
    ) {
        if ABSOLUTE_POS < out.len() {
            let position = ABSOLUTE_POS as u32;
            let x = position % out_width;
            let row = position / out_width;
            let y = row % out_height;
            let image = row / out_height * height * width;
            let mut sum = 0.0f32;
            for i in 0..filter_height {
                // Unsigned: a row above the image wraps to one far below it.
                let source_y = y * stride + i - padding;
                if source_y < height {
                    let line = image + source_y * width;
                    for j in 0..filter_width {
                        let source_x = x * stride + j - padding;
                        if source_x < width {
                            sum += filter[(i * filter_width + j) as usize]
                                * images[(line + source_x) as usize];
                        }
                    }
                }
            }
            out[ABSOLUTE_POS] = sum;
        }
    }

    pub(super) fn launch(
        gpu: &Gpu,
        images: &Buffer,
        filter: &Buffer,
        out: &Buffer,
        g: &Geometry,
    ) -> Result<(), DeviceError> {
        let pixels = g.batch * g.height * g.width;
        let outputs = g.batch * g.out_height * g.out_width;
        let taps = g.filter_height * g.filter_width;
        // The kernel counts positions in 32 bits.
        as_u32("conv2d: the images", pixels)?;
        as_u32("conv2d: the output", outputs)?;
        let [height, width] = [as_u32("height", g.height)?, as_u32("width", g.width)?];
        let [out_height, out_width] = [
            as_u32("output height", g.out_height)?,
            as_u32("output width", g.out_width)?,
        ];
        let [filter_height, filter_width] = [
            as_u32("filter height", g.filter_height)?,
            as_u32("filter width", g.filter_width)?,
        ];
        let stride = as_u32("stride", g.stride)?;
        let padding = as_u32("padding", g.padding)?;
        let count = grid(outputs, UNITS);
        with_client!(gpu, client => {
            // SAFETY: the buffers hold as many elements as are named here (the
            // constructor checked the inputs, `Gpu` sized the output), and the
            // kernel compares every coordinate with the image before it reads.
            unsafe {
                correlate::launch_unchecked(
                    client,
                    count,
                    CubeDim::new_1d(UNITS),
                    images.array(pixels),
                    filter.array(taps),
                    out.array(outputs),
                    height,
                    width,
                    out_height,
                    out_width,
                    stride,
                    padding,
                    filter_height,
                    filter_width,
                );
            }
        });
        Ok(())
    }
}
