//! Which device the benches of GPUs measure.

use breakeven::hardware::{GpuInfo, GpuKind, HardwareCapabilities};

/// The best GPU; with `--software` a software one where there is no other.
///
/// # Errors
///
/// That there is none, and for each backend why and what to do about it.
pub(crate) fn device(hardware: &HardwareCapabilities) -> Result<&GpuInfo, String> {
    let software = std::env::args().any(|argument| argument == "--software");
    let of_software = |gpu: &&GpuInfo| software && gpu.kind == GpuKind::Software;
    hardware
        .best_gpu()
        .or_else(|| hardware.gpus.iter().find(of_software))
        .ok_or_else(|| none(hardware, software))
}

fn none(hardware: &HardwareCapabilities, software: bool) -> String {
    let mut text = if software {
        "no GPU here, not even a software one".to_owned()
    } else {
        "no GPU here; `--software` tries the bench on a software one, which measures nothing"
            .to_owned()
    };
    for absent in &hardware.absent {
        text.push_str(&format!("\n  {absent}"));
    }
    text
}
