//! breakeven runs each batch of work where it pays (CPU, GPU or both), measures
//! it, and judges what was measured.

mod error;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod hardware;
pub mod kernels;

pub use error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
