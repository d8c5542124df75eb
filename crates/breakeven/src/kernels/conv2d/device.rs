//! The GPU form: a unit for each output pixel.

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
