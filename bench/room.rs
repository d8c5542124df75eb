//! Up to which size GPUs are measured, alone and beside other packages.

use breakeven::gpu::Gpu;
use breakeven::hardware::GpuKind;

/// What the largest size comes up to, bytes of inputs and output.
const LARGE: u64 = 1 << 30;

/// On a software GPU, which is there to try the bench.
const SOFTWARE: u64 = 1 << 23;

/// Bytes that a problem's inputs and output may take on the device.
pub(crate) fn on_device(gpu: &Gpu) -> u64 {
    let large = match gpu.info().kind {
        GpuKind::Software => SOFTWARE,
        _ => LARGE,
    };
    let memory = gpu.info().memory_bytes.get().unwrap_or(u64::MAX);
    // A kernel may need as much again, and others use the device too.
    large.min(memory / 8).min(gpu.max_buffer_bytes())
}
