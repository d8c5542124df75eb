//! The device under the GPU tests: the first GPU found, software or not.

use breakeven::gpu::Gpu;

/// Opens the first GPU, or says loudly that GPU forms went untested.
pub fn first_gpu() -> Option<Gpu> {
    Gpu::open(&breakeven::hardware::DeviceId("x".into())).ok()
}
