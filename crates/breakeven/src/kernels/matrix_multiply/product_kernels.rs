//! The GPU form: `cubek`'s product on plain cores, in one of its ways to cut it up.

use cubecl::prelude::CubePrimitive;
use cubek::matmul::definition::MatmulElems;
use cubek::matmul::launch::{Strategy, launch_ref};
use cubek::matmul::routines::BlueprintStrategy::Inferred;
use cubek::matmul::routines::TileSizeSelection::{MaxTileSize, MinTileSize};
use cubek::matmul::routines::double_unit::DoubleUnitSelectionArgs;
use cubek::matmul::routines::simple_unit::SimpleUnitSelectionArgs;
use cubek::std::InputBinding;

use super::{MatrixMultiply, Tiling, sizes, variant};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Gpu, Launch, with_client};
use crate::tune::{Space, Tunable, source_number};

impl Tiling {
    fn strategy(self) -> Strategy {
        let tile_size = match self {
            Self::Single | Self::Double => MaxTileSize,
            Self::SingleNarrow | Self::DoubleNarrow => MinTileSize,
        };
        match self {
            Self::Single | Self::SingleNarrow => {
                Strategy::SimpleUnit(Inferred(SimpleUnitSelectionArgs { tile_size }))
            }
            Self::Double | Self::DoubleNarrow => {
                Strategy::DoubleUnit(Inferred(DoubleUnitSelectionArgs { tile_size }))
            }
        }
    }
}

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
        with_client!(launch.gpu, client => {
            launch_ref(
                &tiling.strategy(),
                client,
                InputBinding::new(a.tensor([batch, m, k]), f32_type.storage_type()),
                InputBinding::new(b.tensor([batch, k, n]), f32_type.storage_type()),
                launch.output.tensor([batch, m, n]),
                &mut elems,
            )
        })
        .map_err(|error| DeviceError::new(DeviceErrorKind::Launch, format!("{error:?}")))
    }
}
