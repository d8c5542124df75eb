//! Products of matrices on a GPU's tensor cores by `cubek`: what `breakeven` launches.
//!
//! They stand in a crate of their own for the time that they take to compile. All of
//! `cubek`'s generics are instantiated here and none in a crate that calls.

use cubecl::cuda::CudaRuntime;
use cubecl::prelude::*;
use cubecl::wgpu::WgpuRuntime;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems, MatmulSetupError};
use cubek::matmul::launch::launch_tiling::launch_ref;
use cubek::matmul::routines::BlueprintStrategy::Inferred;
use cubek::matmul::routines::double_buffering::CyclicDoubleBufferingAlgorithm;
use cubek::matmul::routines::simple::SimpleAlgorithm;
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

/// A product to be started: batch × m × k and batch × k × n, in f16, to batch × m × n, in f32.
#[derive(Debug)]
pub struct Product<R: Runtime> {
    /// Both matrices of each pair.
    pub inputs: [TensorBinding<R>; 2],
    /// Where their products go.
    pub out: TensorBinding<R>,
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
    let mut elems = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: half,
        rhs: half,
        out: single,
    });
    let [a, b] = product.inputs.map(|input| InputBinding::new(input, half));
    let (out, elems) = (product.out, &mut elems);
    // By the algorithm, not by `Strategy`, which has each of its thirty compiled. The arguments
    // that are inferred ask for tensor cores.
    match product.buffers {
        Buffers::Single => {
            let args = Inferred(Default::default());
            launch_ref::<_, SimpleAlgorithm>(client, a, b, out, &args, elems)
        }
        Buffers::Double => {
            let args = Inferred(Default::default());
            launch_ref::<_, CyclicDoubleBufferingAlgorithm>(client, a, b, out, &args, elems)
        }
    }
}
