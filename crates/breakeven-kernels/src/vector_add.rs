//! `vector_add` and `vector_add_batch`: c = a + b over a batch of vectors.
//!
//! One rounding per element, so every device gives the exact same result.

use super::parallel::{self, Cut, LINE};
use super::sharing::Sharing;
use super::{KI, inputs};
use crate::error::Error;
use crate::operator::{Operator, View};
use crate::tensor::shape;
use crate::tune::HostTunable;

/// Elements per piece of CPU work.
static CHUNK: HostTunable = HostTunable::new(
    "vector_add",
    "chunk",
    32 * KI,
    &[4 * KI, 8 * KI, 16 * KI, 64 * KI, 128 * KI, 256 * KI],
);

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
        let cut = Cut {
            most: CHUNK.at(a.len() + b.len()),
            unit: LINE / size_of::<f32>(),
        };
        parallel::for_pieces(&SHARING, out, cut, |start, out| {
            let a = &a[start..start + out.len()];
            let b = &b[start..start + out.len()];
            // A store that lies across two lines takes as long as two.
            let head = out.as_ptr().align_offset(LINE).min(out.len());
            parallel::in_narrow_vectors(|| {
                for range in [0..head, head..out.len()] {
                    let inputs = a[range.clone()].iter().zip(&b[range.clone()]);
                    for (c, (a, b)) in out[range].iter_mut().zip(inputs) {
                        *c = a + b;
                    }
                }
            });
        });
        Ok(())
    }

    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        vec![&CHUNK]
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

/// Fails if two inputs that are combined element by element differ in shape.
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
    use crate::cube_sizes;
    use crate::error::DeviceError;
    use crate::gpu::{DeviceForm, Gpu, Launch, grid, with_client};
    use crate::tensor::shape;
    use crate::tune::{Space, Tunable, source_number};

    #[cube(launch_unchecked)]
    fn add<N: Size>(
        a: &Array<Vector<f32, N>>,
        b: &Array<Vector<f32, N>>,
        out: &mut Array<Vector<f32, N>>,
        #[comptime] units: u32,
        #[comptime] each: u32,
    ) {
        let first = CUBE_POS * comptime!((units * each) as usize) + UNIT_POS_X as usize;
        #[unroll]
        for step in 0..each {
            let at = first + (step * units) as usize;
            if at < out.len() {
                out[at] = a[at] + b[at];
            }
        }
    }

    impl DeviceForm for VectorAdd {
        fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
            // 128-bit loads if the length allows.
            let lanes = [1, 2, 4].into_iter();
            let lanes =
                lanes.filter(|lanes| shape::elements(inputs[0]).is_multiple_of((*lanes).into()));
            let lanes: Vec<u32> = lanes.collect();
            let most = lanes.last().copied().unwrap_or(1);
            Space {
                source: const { source_number(include_bytes!("vector_add.rs")) },
                tunables: vec![
                    Tunable::new("units", 256, cube_sizes(gpu, 64)),
                    Tunable::new("each", 1, [2, 4]),
                    // Of one element to three there is only one way to load them.
                    Tunable::new("lanes", if most == 4 { 4 } else { 1 }, lanes),
                ],
                ..Space::default()
            }
        }

        fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
            let [units, each] = [launch.tuned("units")?, launch.tuned("each")?];
            let lanes = launch.tuned("lanes")? as usize;
            let len = launch.output.bytes() / 4;
            let count = grid(len / lanes, units * each);
            with_client!(launch.gpu, client => {
                // SAFETY: the inputs have the output's shape, and the kernel looks at
                // no position past its output's length.
                unsafe {
                    add::launch_unchecked(
                        client, count, CubeDim::new_1d(units), lanes,
                        launch.inputs[0].array(), launch.inputs[1].array(), launch.output.array(),
                        units, each,
                    );
                }
            });
            Ok(())
        }
    }
}
