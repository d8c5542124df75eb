//! Kernels worth profiling: each a validated problem with a CPU form, a GPU
//! form and its work counted.
//!
//! A kernel is a value: its constructor checks every shape and holds (or
//! borrows) the inputs, so that running it cannot fail for reasons of shape.
//! Every input has the batch as its first dimension; a batch of none gives an
//! empty output. `new` takes a whole batch in one slice, `of` tasks that stand
//! alone: a slice of images, a slice of pairs.
//!
//! ```
//! use breakeven::kernels::{Kernel, VectorAdd};
//!
//! let sum = VectorAdd::new(&[1.0, 2.0][..], &[10.0, 20.0][..], 1)?;
//! assert_eq!(sum.cpu(), [11.0, 22.0]);
//! # Ok::<(), breakeven::Error>(())
//! ```

use bytemuck::Zeroable;

#[cfg(feature = "gpu")]
use crate::error::DeviceError;
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{Buffer, Gpu};

mod activation;
mod ar_forecast;
mod batch;
mod conv2d;
mod dendritic_integration;
mod dot_product;
mod element;
mod image_segmentation;
mod lstm_cell;
mod matrix_multiply;
mod parallel;
mod pixel_entropy;
mod shape;
mod vector_add;

pub use ar_forecast::ArForecast;
pub use batch::{GreyImage, Matrix};
pub use conv2d::{Conv2d, SOBEL_X};
pub use dendritic_integration::{DendriticIntegration, Nonlinearity};
pub use dot_product::DotProduct;
pub use element::Element;
pub use image_segmentation::{Connectivity, ImageSegmentation};
pub use lstm_cell::{LstmCell, LstmStep, LstmWeights};
pub use matrix_multiply::{MatrixMultiply, Tiling};
pub use pixel_entropy::PixelEntropy;
pub use vector_add::VectorAdd;

/// The work of one call: what a roofline is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Independent items in the batch.
    pub items: u64,
    /// Elements of the output.
    pub elements: u64,
    /// Floating-point operations; a multiply-add is two. Zero for a kernel
    /// whose arithmetic is on integers.
    pub flops: u64,
    /// Compulsory traffic: every input read once, every output written once.
    pub bytes: u64,
}

/// A problem that a CPU or a GPU can be asked to solve.
pub trait Kernel: Send + Sync {
    /// What the output is made of.
    type Element: Element;

    /// Elements in the output.
    fn output_len(&self) -> usize;

    /// What one call does.
    fn work(&self) -> Work;

    /// Bytes that the problem holds in memory: inputs and output.
    fn memory_bytes(&self) -> u64;

    /// Solves it on the current rayon pool.
    ///
    /// # Panics
    ///
    /// If `out` is not [`output_len`](Kernel::output_len) long.
    fn cpu_into(&self, out: &mut [Self::Element]);

    /// Solves it on the current rayon pool, into a new vector.
    fn cpu(&self) -> Vec<Self::Element> {
        let mut out = vec![Self::Element::zeroed(); self.output_len()];
        self.cpu_into(&mut out);
        out
    }

    /// The inputs as they are sent to a device, in order.
    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]>;

    /// Starts the kernel on inputs that are on the device; returns at once.
    ///
    /// # Errors
    ///
    /// What can be known before the device runs: a feature it lacks, a size it
    /// cannot take. Other failures surface when the device is waited for.
    #[cfg(feature = "gpu")]
    fn launch(&self, gpu: &Gpu, inputs: &[Buffer], output: &Buffer) -> Result<(), DeviceError>;
}

/// The names of the kernels, as the command line and profiles spell them.
pub const NAMES: [&str; 10] = [
    "vector_add",
    "vector_add_batch",
    "dot_product",
    "matrix_multiply",
    "conv2d",
    "pixel_entropy",
    "image_segmentation",
    "ar_forecast",
    "lstm_cell_forward",
    "dendritic_integration",
];

fn check_output<E>(out: &[E], expected: usize) {
    assert_eq!(out.len(), expected, "the output slice has the wrong length");
}

/// Fails where `found` elements were given for a shape that holds `expected`.
fn check_len(what: &str, found: usize, expected: usize, shape: &str) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::shape(format!(
        "{what} has {found} elements, but its shape {shape} holds {expected}"
    )))
}
