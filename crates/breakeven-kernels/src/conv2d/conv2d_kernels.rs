//! The GPU form: a unit for each output pixel, or for a few below each other. It goes through the
//! rows that they need once and adds each value to all outputs that it belongs to: eight outputs
//! of a filter of 3×3 take 30 loads instead of 72.

#![expect(
    clippy::explicit_counter_loop,
    reason = "a counter is known when the kernel is compiled, a loop's variable is not"
)]

use cubecl::prelude::*;

use super::Conv2d;
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{Buffer, DeviceForm, Gpu, Launch, Properties, as_u32, grid, with_client};
use crate::operator::Operator;
use crate::pixel_entropy::entropy_kernels::bin_of;
use crate::tensor::shape;
use crate::tune::{Configuration, Space, Tunable, source_number};
use breakeven_profile::profile::DeviceWork;

pub(crate) const UNITS: u32 = 256;

/// Output rows of a unit: as many as leave enough units to fill a device.
const ROWS: [u32; 3] = [8, 4, 1];

/// Values of a filter up to which its loops are unrolled and its values are in registers.
const SMALL: u32 = 32;

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
    padding: u32,
    #[comptime] stride: u32,
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
        let unrolls = comptime!(filter_height * filter_width <= SMALL);
        let mut sums = Array::<f32>::new(comptime!(rows as usize));
        #[unroll]
        for row in 0..rows {
            sums[row as usize] = 0.0f32;
        }
        // Those that rows below each other need.
        let source_rows = comptime!((rows - 1) * stride + filter_height);
        let mut known_source = comptime!(0u32);
        #[unroll(unrolls)]
        for source in 0..source_rows {
            // Unsigned: a row above the image wraps to one far below it.
            let source_y = first * stride + source - padding;
            if source_y < height {
                let line = image + source_y * width;
                #[unroll(unrolls)]
                for j in 0..filter_width {
                    let source_x = x * stride + j - padding;
                    if source_x < width {
                        let value = images[(line + source_x) as usize];
                        let mut row = comptime!(0u32);
                        #[unroll]
                        for _ in 0..rows {
                            if unrolls {
                                let i = comptime!(known_source.wrapping_sub(row * stride));
                                if comptime!(i < filter_height) {
                                    let factor = filter[(i * filter_width + j) as usize];
                                    sums[row as usize] += factor * value;
                                }
                            } else {
                                let i = source - row * stride;
                                if i < filter_height {
                                    let factor = filter[(i * filter_width + j) as usize];
                                    sums[row as usize] += factor * value;
                                }
                            }
                            comptime!(row += 1);
                        }
                    }
                }
            }
            comptime!(known_source += 1);
        }
        let mut bins = 0u32;
        #[unroll]
        for row in 0..rows {
            let sum = sums[row as usize];
            if first + row < out_height {
                if binned {
                    bins |= bin_of(sum) << (row * 8u32);
                } else {
                    let y = item * out_height + first + row;
                    out[(y * out_width + x) as usize] = O::cast_from(sum);
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
                    batch, height, width, out_height, out_width, padding, stride,
                    filter_height, filter_width, rows, binned,
                );
            }
        });
        Ok(())
    }
}

/// The most rows of a unit that leave the device full of units.
fn usual_rows(on: &Properties, outputs: usize) -> u32 {
    let at_once = on.units_at_once(UNITS, 0);
    let fills = |rows: &u32| on.is_filled_by(outputs / *rows as usize, at_once);
    ROWS.into_iter().find(fills).unwrap_or(1)
}

impl DeviceForm for Conv2d {
    /// Of a unit: its place is found by two divisions; each row of the image that it needs has an
    /// address and a comparison, each column a comparison for all rows, each value a load. A
    /// comparison or an integer counts as two multiply-adds.
    fn counts(
        &self,
        _: &Properties,
        inputs: &[&[usize]],
        configuration: &Configuration,
    ) -> Option<DeviceWork> {
        let g = self.geometry(inputs).ok()?;
        let rows = u64::from(configuration.get("rows")?);
        let [height, width] = [g.filter_height, g.filter_width].map(|size| size as u64);
        let filter = height * width;
        let source_rows = (rows - 1) * g.stride as u64 + height;
        let factors = match filter <= u64::from(SMALL) {
            true => filter,
            false => filter * rows,
        };
        let loads = source_rows * width + factors;
        let units = (g.batch * g.out_height.div_ceil(rows as usize) * g.out_width) as u64;
        let place = 40 + 4 * width + 6 * source_rows;
        Some(DeviceWork {
            bytes: self.work(inputs).bytes,
            accesses: units * (loads + rows),
            instructions: units * (place + loads + filter * rows + 3 * rows),
            ..DeviceWork::default()
        })
    }

    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let output = self.output_shape(inputs).unwrap_or_default();
        let outputs = usize::try_from(shape::elements(&output)).unwrap_or(usize::MAX);
        let rows = usual_rows(&gpu.properties(), outputs);
        let [height, width] = [0, 1].map(|dim| self.filter.shape()[dim]);
        let stride = self.stride;
        Space {
            source: const { source_number(include_bytes!("conv2d_kernels.rs")) },
            variant: format!("filter {height} × {width}, stride {stride}"),
            tunables: vec![
                Tunable::new("units", UNITS, cube_sizes(gpu, 32)),
                Tunable::new("rows", rows, [1, 2, 4, 8]),
            ],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [units, rows] = [launch.tuned("units")?, launch.tuned("rows")?];
        let to = To::Values(launch.output);
        self.correlate(launch, &launch.parameters[0], to, units, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SOBEL_X;
    use super::*;
    use crate::described::{H200, MESA};
    use crate::tensor::Tensor;

    #[test]
    fn a_unit_has_as_many_rows_as_leave_the_device_full() {
        // 2 048 units on each multiprocessor.
        let full = 132 * 2048;
        assert_eq!(usual_rows(&H200, full - 1), 1);
        assert_eq!(usual_rows(&H200, 4 * full - 1), 1);
        assert_eq!(usual_rows(&H200, 4 * full), 4);
        assert_eq!(usual_rows(&H200, 8 * full), 8);
        let by_vulkan = Properties {
            multiprocessors: None,
            ..H200
        };
        assert_eq!(usual_rows(&by_vulkan, 8 * 64 * 2048), 8);
        assert_eq!(usual_rows(&MESA, 1), 8);
    }

    #[test]
    fn rows_below_each_other_share_their_loads() {
        let filter = Tensor::new(&SOBEL_X, &[3, 3]).expect("nine");
        let conv = Conv2d::new(filter, 1, 1).expect("a filter");
        let of = |rows: u32| {
            let configuration = Configuration::from([("units", 256), ("rows", rows)]);
            DeviceForm::counts(&conv, &H200, &[&[2, 8, 8]], &configuration).expect("counted")
        };
        // 16 units of 8 rows: 30 values, 9 factors, 8 results.
        assert_eq!(of(8).accesses, 16 * (30 + 9 + 8));
        // 128 units: 9 values, 9 factors, a result; 40 + 12 + 18 for the place.
        let one = of(1);
        assert_eq!(one.accesses, 128 * 19);
        assert_eq!(one.instructions, 128 * (70 + 18 + 9 + 3));
        assert_eq!(one.bytes, 2 * 128 * 4 + 36);
    }
}
