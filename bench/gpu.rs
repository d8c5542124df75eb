//! What the benches of GPUs share: which device and which kernels are measured.

use breakeven::hardware::{GpuInfo, GpuKind, HardwareCapabilities};

/// The best GPU; with `--software` a software one where there is no other.
pub(crate) fn device(hardware: &HardwareCapabilities) -> Option<&GpuInfo> {
    let software = std::env::args().any(|argument| argument == "--software");
    let of_software = |gpu: &&GpuInfo| software && gpu.kind == GpuKind::Software;
    hardware
        .best_gpu()
        .or_else(|| hardware.gpus.iter().find(of_software))
}

/// What is said where there is none.
pub(crate) const NO_DEVICE: &str =
    "no GPU here; `--software` tries the bench on a software one, which measures nothing";
