//! The same in a kernel, by the device's own e^x.

use cubecl::prelude::*;

use crate::tune::source_number;

/// A number of this text, for the sources of the kernels that call it.
pub(crate) const SOURCE: u64 = source_number(include_bytes!("activation_kernels.rs"));

/// e^x overflows beyond it; both functions have reached their limits long before.
const LIMIT: f32 = 80.0;

#[cube]
pub(crate) fn logistic(x: f32) -> f32 {
    1.0f32 / (1.0f32 + f32::exp(f32::min(-x, LIMIT)))
}

#[cube]
pub(crate) fn hyperbolic_tangent(x: f32) -> f32 {
    1.0f32 - 2.0f32 / (f32::exp(f32::min(2.0f32 * x, LIMIT)) + 1.0f32)
}
