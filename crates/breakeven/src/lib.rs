//! placeholder
mod error;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod hardware;
pub mod kernels;
pub mod peak;
pub mod suite;

pub use error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
