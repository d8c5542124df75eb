//! The GPU form: a unit for each output pixel, or for a few below each other, which
//! share the finding of their place and most of the rows that they read.

use cubecl::prelude::*;

use super::Conv2d;
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{Buffer, DeviceForm, Gpu, Launch, as_u32, grid, with_client};
use crate::operator::Operator;
use crate::pixel_entropy::entropy_kernels::bin_of;
use crate::tensor::shape;
use crate::tune::{Space, Tunable, source_number};

pub(crate) const UNITS: u32 = 256;

/// Output rows of a unit, if there are enough pixels to fill a device even so.
const ROWS: u32 = 4;

/// Output pixels from which on a unit takes [`ROWS`].
const FULL: u64 = 1 << 20;

/// What a convolution is stored as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum To<'b> {
    Values(&'b Buffer),
    /// The bins that pixel_entropy would sort the values into, [`BIN_ROWS`] rows to a word.
    Bins(&'b Buffer),
}

/// If `binned`, a unit's rows are those of a word.
#[cube(launch_unchecked)]
fn correlate<O: Numeric>(
    images: &Array<f32>,
    filter: &Array<f32>,
    out: &mut Array<O>,
    batch: u32,
    height: u32,
    width: u32,
    out_height: u32,
    out_width: u32,
    stride: u32,
    padding: u32,
    #[comptime] filter_height: u32,
    #[comptime] filter_width: u32,
    #[comptime] rows: u32,
    #[comptime] binned: bool,
) {
    let position = ABSOLUTE_POS as u32;
    let x = position % out_width;
    let band = position / out_width;
    let bands = out_height.div_ceil(rows);
    let first = band % bands * rows;
    let item = band / bands;
    if item < batch {
        let image = item * height * width;
        let mut bins = 0u32;
        #[unroll]
        for row in 0..rows {
            let y = first + row;
            if y < out_height {
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
                if binned {
                    bins |= bin_of(sum) << (row * 8u32);
                } else {
                    out[((item * out_height + y) * out_width + x) as usize] = O::cast_from(sum);
                }
            }
        }
        if binned {
            out[position as usize] = O::cast_from(bins);
        }
    }
}

impl Conv2d {
    /// Correlates the first input of a call, in cubes of `units` units with `rows` rows each.
    pub(crate) fn correlate(
        &self,
        launch: &Launch<'_>,
        filter: &Buffer,
        to: To<'_>,
        units: u32,
        rows: u32,
    ) -> Result<(), DeviceError> {
        let g = self.geometry(launch.shapes)?;
        let pixels = g.batch * g.height * g.width;
        let outputs = g.batch * g.out_height * g.out_width;
        // The kernel counts positions in 32 bits.
        as_u32("conv2d: the images", pixels)?;
        as_u32("conv2d: the output", outputs)?;
        let [height, width] = [as_u32("height", g.height)?, as_u32("width", g.width)?];
        let out_height = as_u32("output height", g.out_height)?;
        let out_width = as_u32("output width", g.out_width)?;
        let filter_height = as_u32("filter height", g.filter_height)?;
        let filter_width = as_u32("filter width", g.filter_width)?;
        let stride = as_u32("stride", g.stride)?;
        let padding = as_u32("padding", g.padding)?;
        let batch = as_u32("batch", g.batch)?;
        let (out, binned) = match to {
            To::Values(out) => (out, false),
            To::Bins(out) => (out, true),
        };
        let columns = g.batch * g.out_height.div_ceil(rows as usize) * g.out_width;
        let count = grid(columns, units);
        with_client!(launch.gpu, client => {
            // SAFETY: the buffers are of the geometry's sizes, and the kernel compares
            // every coordinate with the image before it reads, and the item and the row
            // with the output's before it writes. Of bins there is a word for each unit
            // with an item.
            unsafe {
                let correlate = match binned {
                    true => correlate::launch_unchecked::<u32, _>,
                    false => correlate::launch_unchecked::<f32, _>,
                };
                correlate(
                    client, count, CubeDim::new_1d(units),
                    launch.inputs[0].array(), filter.array(), out.array(),
                    batch, height, width, out_height, out_width, stride, padding,
                    filter_height, filter_width, rows, binned,
                );
            }
        });
        Ok(())
    }
}

impl DeviceForm for Conv2d {
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let output = self.output_shape(inputs).unwrap_or_default();
        let is_full = shape::elements(&output) >= FULL;
        let [height, width] = [0, 1].map(|dim| self.filter.shape()[dim]);
        let stride = self.stride;
        Space {
            source: const { source_number(include_bytes!("conv2d_kernels.rs")) },
            variant: format!("filter {height} × {width}, stride {stride}"),
            tunables: vec![
                Tunable::new("units", UNITS, cube_sizes(gpu, 32)),
                Tunable::new("rows", if is_full { ROWS } else { 1 }, [2, 4, 8]),
            ],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [units, rows] = [launch.tuned("units")?, launch.tuned("rows")?];
        let to = To::Values(launch.output);
        self.correlate(launch, &launch.parameters[0], to, units, rows)
    }
}
