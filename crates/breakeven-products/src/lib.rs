//! Products of matrices on a GPU by `cubek`: what `breakeven` launches.
//!
//! They stand in a crate of their own for the time that they take to compile. All of
//! `cubek`'s generics are instantiated here and none in a crate that calls.

use cubecl::cuda::CudaRuntime;
use cubecl::prelude::*;
use cubecl::wgpu::WgpuRuntime;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems, MatmulSetupError};
use cubek::matmul::launch::launch_tiling::launch_ref;
use cubek::matmul::routines::BlueprintStrategy::Inferred;
use cubek::matmul::routines::TileSizeSelection::{self, MaxTileSize, MinTileSize};
use cubek::matmul::routines::double_buffering::CyclicDoubleBufferingAlgorithm;
use cubek::matmul::routines::double_unit::{DoubleUnitAlgorithm, DoubleUnitSelectionArgs};
use cubek::matmul::routines::simple::SimpleAlgorithm;
use cubek::matmul::routines::simple_unit::{SimpleUnitAlgorithm, SimpleUnitSelectionArgs};
use cubek::std::InputBinding;
use half::f16;

/// What decides how a product runs: whoever tunes one asks whether this has changed.
pub const SOURCE: &[u8] = include_bytes!("lib.rs");

/// Pieces of the inputs that are in shared memory at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// One at a time.
    Single,
    /// The next is loaded while one is worked on.
    Double,
}

/// The tiles of a plain core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tile {
    /// As high as they are wide.
    Square,
    /// Of one row.
    Row,
}

/// A runtime on which products can be launched.
pub trait Products: Runtime {
    /// Starts a·b on plain cores, in f32: batch × m × k and batch × k × n to batch × m × n.
    ///
    /// # Errors
    ///
    /// Why the device cannot be given such a product.
    fn on_plain_cores(
        client: &ComputeClient<Self>,
        inputs: [TensorBinding<Self>; 2],
        out: TensorBinding<Self>,
        buffers: Buffers,
        tile: Tile,
    ) -> Result<(), MatmulSetupError>;

    /// Starts a·b on tensor cores, from f16 to f32.
    ///
    /// # Errors
    ///
    /// Why the device cannot be given such a product.
    fn on_tensor_cores(
        client: &ComputeClient<Self>,
        inputs: [TensorBinding<Self>; 2],
        out: TensorBinding<Self>,
        buffers: Buffers,
    ) -> Result<(), MatmulSetupError>;
}

/// Methods without generics of their own are compiled where they stand.
macro_rules! products_on {
    ($runtime:ty) => {
        impl Products for $runtime {
            fn on_plain_cores(
                client: &ComputeClient<Self>,
                inputs: [TensorBinding<Self>; 2],
                out: TensorBinding<Self>,
                buffers: Buffers,
                tile: Tile,
            ) -> Result<(), MatmulSetupError> {
                plain(client, inputs, out, buffers, tile)
            }

            fn on_tensor_cores(
                client: &ComputeClient<Self>,
                inputs: [TensorBinding<Self>; 2],
                out: TensorBinding<Self>,
                buffers: Buffers,
            ) -> Result<(), MatmulSetupError> {
                tensor(client, inputs, out, buffers)
            }
        }
    };
}

products_on!(WgpuRuntime);
products_on!(CudaRuntime);

/// By the algorithm, here and below, not by `Strategy`, which has each of its thirty
/// compiled.
fn plain<R: Runtime>(
    client: &ComputeClient<R>,
    inputs: [TensorBinding<R>; 2],
    out: TensorBinding<R>,
    buffers: Buffers,
    tile: Tile,
) -> Result<(), MatmulSetupError> {
    let f32_type = f32::as_type_native_unchecked();
    let mut elems = MatmulElems::from_single_dtype(f32_type);
    let [a, b] = inputs.map(|input| InputBinding::new(input, f32_type.storage_type()));
    let tile_size: TileSizeSelection = match tile {
        Tile::Square => MaxTileSize,
        Tile::Row => MinTileSize,
    };
    match buffers {
        Buffers::Single => {
            let args = Inferred(SimpleUnitSelectionArgs { tile_size });
            launch_ref::<_, SimpleUnitAlgorithm>(client, a, b, out, &args, &mut elems)
        }
        Buffers::Double => {
            let args = Inferred(DoubleUnitSelectionArgs { tile_size });
            launch_ref::<_, DoubleUnitAlgorithm>(client, a, b, out, &args, &mut elems)
        }
    }
}

/// The arguments that are inferred ask for tensor cores.
fn tensor<R: Runtime>(
    client: &ComputeClient<R>,
    inputs: [TensorBinding<R>; 2],
    out: TensorBinding<R>,
    buffers: Buffers,
) -> Result<(), MatmulSetupError> {
    let half = f16::as_type_native_unchecked().storage_type();
    let single = f32::as_type_native_unchecked().storage_type();
    let mut elems = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: half,
        rhs: half,
        out: single,
    });
    let [a, b] = inputs.map(|input| InputBinding::new(input, half));
    match buffers {
        Buffers::Single => {
            let args = Inferred(Default::default());
            launch_ref::<_, SimpleAlgorithm>(client, a, b, out, &args, &mut elems)
        }
        Buffers::Double => {
            let args = Inferred(Default::default());
            launch_ref::<_, CyclicDoubleBufferingAlgorithm>(client, a, b, out, &args, &mut elems)
        }
    }
}
