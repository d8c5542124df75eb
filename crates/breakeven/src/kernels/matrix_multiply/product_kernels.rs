//! The GPU form: `cubek`'s product on plain cores, in one of its ways to cut it up.

use breakeven_products::{Buffers, Cores, Product, Products, SOURCE, Tile};

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
            source: const { source_number(SOURCE) },
            variant: variant(sizes(inputs).unwrap_or_default()),
            tunables: vec![Tunable::new("tiling", 0, 0..Tiling::ALL.len() as u32)],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [batch, m, k, n] = sizes(launch.shapes)?;
        let tiling = match self.tiling {
            Some(tiling) => tiling,
            None => Tiling::ALL[launch.tuned("tiling")? as usize],
        };
        let (buffers, tile) = match tiling {
            Tiling::Single => (Buffers::Single, Tile::Square),
            Tiling::SingleNarrow => (Buffers::Single, Tile::Row),
            Tiling::Double => (Buffers::Double, Tile::Square),
            Tiling::DoubleNarrow => (Buffers::Double, Tile::Row),
        };
        let [a, b] = [&launch.inputs[0], &launch.inputs[1]];
        with_client!(launch.gpu, client => {
            Products::start(client, Product {
                inputs: [a.tensor([batch, m, k]), b.tensor([batch, k, n])],
                out: launch.output.tensor([batch, m, n]),
                cores: Cores::Plain(tile),
                buffers,
            })
        })
        .map_err(|error| DeviceError::new(DeviceErrorKind::Launch, format!("{error:?}")))
    }
}
