//! The GPU form: `cubek`'s product on plain cores, in one of its ways to cut it up.

use cubecl::prelude::CubePrimitive;
use cubek::matmul::definition::MatmulElems;
use cubek::matmul::launch::launch_tiling::launch_ref;
use cubek::matmul::routines::BlueprintStrategy::Inferred;
use cubek::matmul::routines::TileSizeSelection::{MaxTileSize, MinTileSize};
use cubek::matmul::routines::double_unit::{DoubleUnitAlgorithm, DoubleUnitSelectionArgs};
use cubek::matmul::routines::simple_unit::{SimpleUnitAlgorithm, SimpleUnitSelectionArgs};
use cubek::std::InputBinding;

use super::{MatrixMultiply, Tiling, sizes, variant};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Gpu, Launch, with_client};
use crate::tune::{Space, Tunable, source_number};

impl DeviceForm for MatrixMultiply {
    /// The number of the tiling in [`Tiling::ALL`], unless the user said which.
    fn space(&self, _: &Gpu, inputs: &[&[usize]]) -> Space {
        if self.tiling.is_some() {
            return Space::default();
        }
        Space {
            source: const { source_number(include_bytes!("product_kernels.rs")) },
            variant: variant(sizes(inputs).unwrap_or_default()),
            tunables: vec![Tunable::new("tiling", 0, 0..Tiling::ALL.len() as u32)],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [batch, m, k, n] = sizes(launch.shapes)?;
        let f32_type = f32::as_type_native_unchecked();
        let mut elems = MatmulElems::from_single_dtype(f32_type);
        let [a, b] = [&launch.inputs[0], &launch.inputs[1]];
        let tiling = match self.tiling {
            Some(tiling) => tiling,
            None => Tiling::ALL[launch.tuned("tiling")? as usize],
        };
        let tile_size = match tiling {
            Tiling::Single | Tiling::Double => MaxTileSize,
            Tiling::SingleNarrow | Tiling::DoubleNarrow => MinTileSize,
        };
        with_client!(launch.gpu, client => {
            let a = InputBinding::new(a.tensor([batch, m, k]), f32_type.storage_type());
            let b = InputBinding::new(b.tensor([batch, k, n]), f32_type.storage_type());
            let out = launch.output.tensor([batch, m, n]);
            // By the algorithm, not by `Strategy`, which has each of its thirty compiled.
            match tiling {
                Tiling::Single | Tiling::SingleNarrow => {
                    let args = Inferred(SimpleUnitSelectionArgs { tile_size });
                    launch_ref::<_, SimpleUnitAlgorithm>(client, a, b, out, &args, &mut elems)
                }
                Tiling::Double | Tiling::DoubleNarrow => {
                    let args = Inferred(DoubleUnitSelectionArgs { tile_size });
                    launch_ref::<_, DoubleUnitAlgorithm>(client, a, b, out, &args, &mut elems)
                }
            }
        })
        .map_err(|error| DeviceError::new(DeviceErrorKind::Launch, format!("{error:?}")))
    }
}
