//! The GPU form: `cubek`'s product on plain cores, in one of its ways to cut it up.

use cubecl::prelude::CubePrimitive;
use cubek::matmul::definition::MatmulElems;
use cubek::matmul::launch::{Strategy, launch_ref};
use cubek::matmul::routines::BlueprintStrategy::Inferred;
use cubek::matmul::routines::TileSizeSelection::{MaxTileSize, MinTileSize};
use cubek::matmul::routines::double_unit::DoubleUnitSelectionArgs;
use cubek::matmul::routines::simple_unit::SimpleUnitSelectionArgs;
use cubek::std::InputBinding;

use super::{MatrixMultiply, Tiling, sizes};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Launch, with_client};

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
    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [batch, m, k, n] = sizes(launch.shapes)?;
        let f32_type = f32::as_type_native_unchecked();
        let mut elems = MatmulElems::from_single_dtype(f32_type);
        let [a, b] = [&launch.inputs[0], &launch.inputs[1]];
        with_client!(launch.gpu, client => {
            launch_ref(
                &self.tiling.strategy(),
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
