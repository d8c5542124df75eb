//! `conv2d`: cross-correlation of a batch of one-channel images with one
//! filter, zero padding, any stride.
//!
//! out[y, x] = Σ w[i, j] · in[y·stride + i − padding, x·stride + j − padding], the
//! convention of PyTorch's `conv2d` and SciPy's `correlate` (the filter is not
//! flipped). A NaN or infinity reaches every output whose window holds it;
//! what 0 · ∞ at the padding gives is not promised across devices.

use pulp::Arch;

use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::{KI, dims, images, inputs};
use crate::error::Error;
use crate::operator::{Operator, Parameter, Stage, Stages, View};
use crate::tensor::{Tensor, shape};
use crate::tune::HostTunable;

#[cfg(feature = "gpu")]
pub(super) mod conv2d_kernels;
mod host;

/// The horizontal Sobel filter (Sobel and Feldman, 1968): the default workload.
pub const SOBEL_X: [f32; 9] = [-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0];

/// Output elements per piece of CPU work.
static CHUNK: HostTunable = HostTunable::new(
    "conv2d",
    "chunk",
    64 * KI,
    &[8 * KI, 16 * KI, 32 * KI, 128 * KI, 256 * KI],
);

static SHARING: Sharing = Sharing::new();

/// One filter, and how it is moved over images: batch × height × width in,
/// batch × oh × ow out with oh = (height + 2·padding − filter height) / stride + 1,
/// ow likewise.
#[derive(Debug, Clone)]
pub struct Conv2d {
    filter: Tensor<'static>,
    stride: usize,
    padding: usize,
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

impl Conv2d {
    /// A filter of height × width.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape) for a stride of zero and for an
    /// empty filter or one that is not of two dimensions. Images that are smaller than
    /// the filter are refused when they come.
    pub fn new(filter: Tensor<'static>, stride: usize, padding: usize) -> Result<Self, Error> {
        let [_, _] = dims("conv2d: the filter", filter.shape(), "height × width")?;
        if filter.is_empty() {
            return Err(Error::shape(
                "conv2d: the filter is empty; give at least 1×1",
            ));
        }
        if stride == 0 {
            return Err(Error::shape("conv2d: the stride is zero; give 1 or more"));
        }
        Ok(Self {
            filter,
            stride,
            padding,
        })
    }

    /// The CPU form of a call, to be done by rows.
    pub(super) fn correlation<'c>(
        &'c self,
        views: &[View<'c, f32>],
    ) -> Result<Correlation<'c>, Error> {
        let [images] = inputs(self.name(), views)?;
        Ok(Correlation {
            images: images.values,
            filter: self.filter.host()?,
            geometry: self.geometry(&[images.shape])?,
        })
    }

    fn geometry(&self, shapes: &[&[usize]]) -> Result<Geometry, Error> {
        let [batch, height, width] = images("conv2d", shapes)?;
        let [filter_height, filter_width] = dims("conv2d", self.filter.shape(), "the filter")?;
        let (stride, padding) = (self.stride, self.padding);
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
        Ok(Geometry {
            batch,
            height,
            width,
            filter_height,
            filter_width,
            stride,
            padding,
            out_height: out(height, filter_height, "height")?,
            out_width: out(width, filter_width, "width")?,
        })
    }
}

/// Images, and the filter that is moved over them.
pub(super) struct Correlation<'c> {
    images: &'c [f32],
    filter: &'c [f32],
    geometry: Geometry,
}

impl Correlation<'_> {
    /// Computes output rows, counted over all images, from `first` on.
    pub(super) fn rows(&self, first: usize, out: &mut [f32]) {
        Arch::new().dispatch(host::Rows {
            images: self.images,
            filter: self.filter,
            geometry: &self.geometry,
            first,
            out,
        });
    }
}

impl Operator for Conv2d {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "conv2d"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let g = self.geometry(shapes)?;
        Ok(vec![g.batch, g.out_height, g.out_width])
    }

    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        let output = self.output_shape(shapes).unwrap_or_default();
        shape::elements(&output).saturating_mul(2 * self.filter.len() as u64)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        vec![&self.filter]
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let correlation = self.correlation(views)?;
        let width = correlation.geometry.out_width;
        let rows = (CHUNK.at(views[0].values.len()) / width).max(1);
        let cut = Cut {
            most: rows * width,
            unit: width,
        };
        parallel::for_pieces(&SHARING, out, cut, |start, out| {
            correlation.rows(start / width, out);
        });
        Ok(())
    }

    /// With pixel_entropy and image_segmentation after it.
    fn fused(&self, next: &[&Stage]) -> Option<(Stages, usize)> {
        super::FusedConvEntropySegment::of(self, next)
    }

    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        vec![&CHUNK]
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}
