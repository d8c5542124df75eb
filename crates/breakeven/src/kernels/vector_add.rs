//! `vector_add` and `vector_add_batch`: c = a + b over a batch of vectors.
//!
//! One rounding per element, so every device gives the exact same result.

use super::sharing::Sharing;
use super::{inputs, parallel};
use crate::error::Error;
use crate::operator::{Operator, View};
use crate::tensor::shape;

/// Elements per piece of CPU work.
const CHUNK: usize = 32 * 1024;

static SHARING: Sharing = Sharing::new();

/// The sum of two batches of vectors: two inputs of one shape, which is the output's.
#[derive(Debug, Clone, Copy, Default)]
pub struct VectorAdd;

impl Operator for VectorAdd {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "vector_add"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let [a, b] = inputs(self.name(), shapes)?;
        same_shape(self.name(), a, b)?;
        Ok(a.to_vec())
    }

    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        shape::elements(shapes[0])
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let [a, b] = inputs(self.name(), views)?.map(|view| view.values);
        parallel::for_chunks(&SHARING, out, CHUNK, |start, out| {
            let a = &a[start..start + out.len()];
            let b = &b[start..start + out.len()];
            for ((c, a), b) in out.iter_mut().zip(a).zip(b) {
                *c = a + b;
            }
        });
        Ok(())
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

/// Fails where two inputs that go together element by element differ in shape.
pub(super) fn same_shape(kernel: &str, a: &[usize], b: &[usize]) -> Result<(), Error> {
    if a == b {
        return Ok(());
    }
    Err(Error::shape(format!(
        "{kernel}: a is {} and b {}; give both one shape",
        shape::text(a),
        shape::text(b)
    )))
}

#[cfg(feature = "gpu")]
mod device {
    use cubecl::prelude::*;

    use super::VectorAdd;
    use crate::error::DeviceError;
    use crate::gpu::{DeviceForm, Launch, grid, with_client};

    const UNITS: u32 = 256;

    #[cube(launch_unchecked)]
    fn add<N: Size>(
        a: &Array<Vector<f32, N>>,
        b: &Array<Vector<f32, N>>,
        out: &mut Array<Vector<f32, N>>,
    ) {
        if ABSOLUTE_POS < out.len() {
            out[ABSOLUTE_POS] = a[ABSOLUTE_POS] + b[ABSOLUTE_POS];
        }
    }

    impl DeviceForm for VectorAdd {
        fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
            let len = launch.output.bytes() / 4;
            // 128-bit loads where the length allows.
            let lanes = if len.is_multiple_of(4) { 4 } else { 1 };
            let count = grid(len / lanes, UNITS);
            with_client!(launch.gpu, client => {
                // SAFETY: the inputs have the output's shape, and the kernel looks at
                // no position past its output's length.
                unsafe {
                    add::launch_unchecked(
                        client, count, CubeDim::new_1d(UNITS), lanes,
                        launch.inputs[0].array(), launch.inputs[1].array(), launch.output.array(),
                    );
                }
            });
            Ok(())
        }
    }
}
