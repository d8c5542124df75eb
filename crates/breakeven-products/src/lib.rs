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

/// What multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cores {
    /// Plain cores, from f32 to f32.
    Plain(Tile),
    /// Tensor cores, from f16 to f32.
    Tensor,
}

/// A product to be started: batch × m × k and batch × k × n to batch × m × n.
#[derive(Debug)]
pub struct Product<R: Runtime> {
    /// Both matrices of each pair.
    pub inputs: [TensorBinding<R>; 2],
    /// Where their products go.
    pub out: TensorBinding<R>,
    /// What multiplies.
    pub cores: Cores,
    /// How the inputs come into shared memory.
    pub buffers: Buffers,
}

/// A runtime on which products can be started.
pub trait Products: Runtime {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// Why the device cannot be given such a product.
    fn start(client: &ComputeClient<Self>, product: Product<Self>) -> Result<(), MatmulSetupError>;
}

// Methods without generics of their own are compiled where they stand.

impl Products for WgpuRuntime {
    fn start(client: &ComputeClient<Self>, product: Product<Self>) -> Result<(), MatmulSetupError> {
        start(client, product)
    }
}

impl Products for CudaRuntime {
    fn start(client: &ComputeClient<Self>, product: Product<Self>) -> Result<(), MatmulSetupError> {
        start(client, product)
    }
}

fn start<R: Runtime>(
    client: &ComputeClient<R>,
    product: Product<R>,
) -> Result<(), MatmulSetupError> {
    let single = f32::as_type_native_unchecked().storage_type();
    let half = f16::as_type_native_unchecked().storage_type();
    let from = match product.cores {
        Cores::Plain(_) => single,
        Cores::Tensor => half,
    };
    let mut elems = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: from,
        rhs: from,
        out: single,
    });
    let [a, b] = product.inputs.map(|input| InputBinding::new(input, from));
    let (out, elems) = (product.out, &mut elems);
    // By the algorithm, not by `Strategy`, which has each of its thirty compiled.
    match (product.cores, product.buffers) {
        (Cores::Plain(tile), Buffers::Single) => {
            let tile_size = tile.into();
            let args = Inferred(SimpleUnitSelectionArgs { tile_size });
            launch_ref::<_, SimpleUnitAlgorithm>(client, a, b, out, &args, elems)
        }
        (Cores::Plain(tile), Buffers::Double) => {
            let tile_size = tile.into();
            let args = Inferred(DoubleUnitSelectionArgs { tile_size });
            launch_ref::<_, DoubleUnitAlgorithm>(client, a, b, out, &args, elems)
        }
        // The arguments that are inferred ask for tensor cores.
        (Cores::Tensor, Buffers::Single) => {
            let args = Inferred(Default::default());
            launch_ref::<_, SimpleAlgorithm>(client, a, b, out, &args, elems)
        }
        (Cores::Tensor, Buffers::Double) => {
            let args = Inferred(Default::default());
            launch_ref::<_, CyclicDoubleBufferingAlgorithm>(client, a, b, out, &args, elems)
        }
    }
}

impl From<Tile> for TileSizeSelection {
    fn from(tile: Tile) -> Self {
        match tile {
            Tile::Square => MaxTileSize,
            Tile::Row => MinTileSize,
        }
    }
}
