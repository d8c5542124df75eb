//! Kernels worth profiling: each an [`Operator`](breakeven_gpu::Operator) with a CPU form, a
//! GPU form and its work counted.
//!
//! ```
//! use breakeven_kernels::VectorAdd;
//! use breakeven_gpu::{Operator, Tensor};
//!
//! let a = Tensor::new(vec![1.0, 2.0], &[1, 2])?;
//! let b = Tensor::new(vec![10.0, 20.0], &[1, 2])?;
//! assert_eq!(VectorAdd.on_cpu(&[&a, &b])?.host()?, [11.0, 22.0]);
//! # Ok::<(), breakeven_types::Error>(())
//! ```

use crate::error::Error;
use crate::tensor::shape;

#[cfg(feature = "gpu")]
use breakeven_gpu::gpu;
use breakeven_gpu::{operator, tensor, tune};
use breakeven_types::{error, locked};

mod activation;
mod adaptive;
mod ar_forecast;
mod conv2d;
mod dendritic_integration;
mod dot_product;
mod fused_conv_entropy_segment;
mod image_segmentation;
mod lstm_cell;
mod matrix_multiply;
mod parallel;
mod pixel_entropy;
mod sharing;
mod team;
mod vector_add;

pub use adaptive::{Choice, Product};
pub use ar_forecast::ArForecast;
pub use conv2d::{Conv2d, SOBEL_X};
pub use dendritic_integration::{DendriticIntegration, Nonlinearity};
pub use dot_product::DotProduct;
pub use fused_conv_entropy_segment::FusedConvEntropySegment;
pub use image_segmentation::{Connectivity, ImageSegmentation};
pub use lstm_cell::LstmCell;
pub use matrix_multiply::{MatrixMultiply, TensorCoreMatmul};
pub use pixel_entropy::PixelEntropy;
pub use vector_add::VectorAdd;

/// The names of the kernels, as the command line and profiles spell them.
pub const NAMES: [&str; 11] = [
    "vector_add",
    "vector_add_batch",
    "dot_product",
    "matrix_multiply",
    "tensor_core_matmul",
    "conv2d",
    "pixel_entropy",
    "image_segmentation",
    "ar_forecast",
    "lstm_cell_forward",
    "dendritic_integration",
];

/// Units that a cube may have on a device: powers of two from `least` on.
#[cfg(feature = "gpu")]
fn cube_sizes(gpu: &crate::gpu::Gpu, least: u32) -> impl Iterator<Item = u32> {
    let most = gpu.max_units().min(1024);
    std::iter::successors(Some(least), |units| Some(units * 2))
        .take_while(move |units| *units <= most)
}

/// Devices as they describe themselves, for tests of defaults and counts.
#[cfg(all(test, feature = "gpu"))]
mod described {
    use crate::gpu::Properties;

    /// An NVIDIA H200 by CUDA.
    pub(crate) const H200: Properties = Properties {
        multiprocessors: Some(132),
        shared_memory_bytes: 227 << 10,
        max_units: 1024,
        plane: 32,
        is_software: false,
    };

    /// Mesa's software GPU.
    pub(crate) const MESA: Properties = Properties {
        multiprocessors: None,
        shared_memory_bytes: 32 << 10,
        max_units: 1024,
        plane: 8,
        is_software: true,
    };
}

/// 1024.
const KI: u32 = 1 << 10;

/// Returns the inputs of a kernel that takes exactly N of them.
fn inputs<T: Copy, const N: usize>(kernel: &str, inputs: &[T]) -> Result<[T; N], Error> {
    inputs.try_into().map_err(|_| {
        let found = inputs.len();
        Error::shape(format!("{kernel}: {found} inputs; it takes {N}"))
    })
}

/// The dimensions of a shape that should read as `names` says.
fn dims<const N: usize>(
    what: impl std::fmt::Display,
    found: &[usize],
    names: &str,
) -> Result<[usize; N], Error> {
    found.try_into().map_err(|_| {
        let found = shape::text(found);
        Error::shape(format!("{what}: a shape of {found}; give {names}"))
    })
}

/// The dimensions of the one input of a kernel that takes images.
fn images(kernel: &str, shapes: &[&[usize]]) -> Result<[usize; 3], Error> {
    let [images] = inputs(kernel, shapes)?;
    dims(kernel, images, "batch × height × width")
}
