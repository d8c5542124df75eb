//! `conv2d`: cross-correlation of a batch of one-channel images with one
//! filter, zero padding, any stride.
//!
//! out[y, x] = Σ w[i, j] · in[y·stride + i − padding, x·stride + j − padding], the
//! convention of PyTorch's `conv2d` and SciPy's `correlate` (the filter is not
//! flipped). A NaN or infinity reaches every output whose window holds it;
//! what 0 · ∞ at the padding gives is not promised across devices.

use std::borrow::Cow;

use pulp::Arch;

use super::{GreyImage, Kernel, Work, batch, check_len, check_output, parallel, shape};
use crate::error::Error;

#[cfg(feature = "gpu")]
mod device;
mod host;

/// The horizontal Sobel filter (Sobel and Feldman, 1968): the default workload.
pub const SOBEL_X: [f32; 9] = [-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0];

/// Output elements per piece of CPU work.
const CHUNK: usize = 64 * 1024;

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
        let arch = Arch::new();
        parallel::for_pieces(out, rows * width, |start, out| {
            let first = start / width;
            arch.dispatch(host::Rows {
                conv: self,
                first,
                out,
            });
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
