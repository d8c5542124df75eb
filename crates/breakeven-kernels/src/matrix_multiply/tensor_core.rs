//! `tensor_core_matmul`: C = A·B with the inputs rounded to half precision and sums in f32,
//! which is what tensor cores do.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::{MatrixMultiply, multiply, sizes_of};
use crate::error::Error;
use crate::inputs;
use crate::operator::{Operator, View};
use crate::tune::HostTunable;

const NAME: &str = "tensor_core_matmul";

/// The products of a batch of matrix pairs, as [`MatrixMultiply`](super::MatrixMultiply)'s,
/// from values of half precision: within 1e-2 of them where values are of the order of 1.
///
/// Who uses it has chosen to: nothing here takes it in place of the product in f32. Values
/// beyond ±65 504 become infinite. The inputs are f32 and rounded on the device. A device
/// without tensor cores that multiply f16 into f32 is
/// [`Unsupported`](breakeven_types::DeviceErrorKind::Unsupported); the CPU form rounds in the same way
/// and multiplies in f32.
#[derive(Debug, Clone, Copy, Default)]
pub struct TensorCoreMatmul;

impl Operator for TensorCoreMatmul {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        NAME
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let [batch, m, _, n] = sizes_of(NAME, shapes)?;
        Ok(vec![batch, m, n])
    }

    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        MatrixMultiply.flops(shapes)
    }

    /// The rounded inputs.
    fn scratch_bytes(&self, shapes: &[&[usize]]) -> u64 {
        let inputs = shapes.iter().copied().map(crate::tensor::shape::bytes);
        inputs.fold(0, u64::saturating_add)
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let [a, b] = inputs(NAME, views)?;
        let rounded = |values: &[f32]| {
            let mut halves = vec![f16::ZERO; values.len()];
            halves.convert_from_f32_slice(values);
            let mut values = vec![0.0; values.len()];
            halves.convert_to_f32_slice(&mut values);
            values
        };
        let sizes = sizes_of(NAME, &[a.shape, b.shape])?;
        multiply(sizes, &rounded(a.values), &rounded(b.values), out);
        Ok(())
    }

    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        MatrixMultiply.host_tunables()
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

#[cfg(feature = "gpu")]
mod device {
    use breakeven_products::{Buffers, Product, Products, SOURCE};
    use cubecl::prelude::*;
    use half::f16;

    use super::super::variant;
    use super::{NAME, TensorCoreMatmul, sizes_of};
    use crate::error::{DeviceError, DeviceErrorKind};
    use crate::gpu::{DeviceForm, Gpu, Launch, grid, with_client};
    use crate::tensor::shape;
    use crate::tune::{Space, Tunable, source_number};

    const UNITS: u32 = 256;

    #[cube(launch_unchecked)]
    fn to_half(from: &Array<f32>, to: &mut Array<f16>) {
        if ABSOLUTE_POS < from.len() {
            to[ABSOLUTE_POS] = f16::cast_from(from[ABSOLUTE_POS]);
        }
    }

    impl DeviceForm for TensorCoreMatmul {
        /// Both inputs in half precision.
        fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
            let halves = |shape: &&[usize]| (shape::bytes(shape) / 2).next_multiple_of(4);
            inputs.iter().map(halves).collect()
        }

        fn space(&self, _: &Gpu, inputs: &[&[usize]]) -> Space {
            Space {
                source: const { source_number(SOURCE) },
                variant: variant(sizes_of(NAME, inputs).unwrap_or_default()),
                // Pieces of the inputs that are in shared memory at once.
                tunables: vec![Tunable::new("buffers", 1, [2])],
            }
        }

        fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
            if !launch.gpu.has_tensor_cores() {
                let id = launch.gpu.id();
                return Err(DeviceError::new(
                    DeviceErrorKind::Unsupported,
                    format!(
                        "{NAME} needs tensor cores that multiply f16 into f32, and {id} has none; \
                         matrix_multiply runs there, in f32"
                    ),
                ));
            }
            let [batch, m, k, n] = sizes_of(NAME, launch.shapes)?;
            let buffers = match launch.tuned("buffers")? {
                1 => Buffers::Single,
                _ => Buffers::Double,
            };
            let [a, b] = [&launch.scratch[0], &launch.scratch[1]];
            with_client!(launch.gpu, client => {
                for (from, to) in launch.inputs.iter().zip([a, b]) {
                    let count = grid(from.bytes() / 4, UNITS);
                    // SAFETY: `to` has two bytes for each element of `from`, and the kernel
                    // looks at no position past the end of that.
                    unsafe {
                        to_half::launch_unchecked(
                            client, count, CubeDim::new_1d(UNITS), from.array(), to.array(),
                        );
                    }
                }
                Products::start(client, Product {
                    inputs: [a.tensor([batch, m, k]), b.tensor([batch, k, n])],
                    out: launch.output.tensor([batch, m, n]),
                    buffers,
                })
            })
            .map_err(|error| DeviceError::new(DeviceErrorKind::Launch, format!("{error:?}")))
        }
    }
}
