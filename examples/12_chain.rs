//! Three kernels as one operator, each placed where the chain is fastest.
//!
//! Run it with `cargo run --release --example 12_chain`. A software GPU counts too, so that
//! there is something to place.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::{Connectivity, Conv2d, ImageSegmentation, PixelEntropy, SOBEL_X};
use breakeven::{Costs, Operator, Tensor};

/// After so many runs every stage was measured on every device.
const RUNS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let edges = Conv2d::new(Tensor::new(SOBEL_X.to_vec(), &[3, 3])?, 1, 1)?;
    let chain = edges
        .then(PixelEntropy::new(16)?)
        .then(ImageSegmentation::new(1.0, Connectivity::Four)?);

    let side = 256;
    let pixels = (0..side * side).map(|at| ((at * 7919) % 256) as f32 / 256.0);
    let image = Tensor::new(pixels.collect::<Vec<_>>(), &[1, side, side])?;

    let Some(gpu) = HardwareCapabilities::detect().gpus.into_iter().next() else {
        println!("there is no GPU here: `breakeven devices` says why");
        return Ok(());
    };
    let gpu = Arc::new(Gpu::open(&gpu.id)?);
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::clone(&gpu))
        .allow_software_gpu()
        .with_costs(Arc::new(Costs::new()));
    let mut result = manager.run(&chain, &image)?;
    for _ in 1..RUNS {
        result = manager.run(&chain, &image)?;
    }
    println!("{}", result.explain());

    // The whole chain on the GPU moves the data twice: the image there, the labels back.
    // (Parameters are sent once: a first run does that.)
    gpu.run(&chain, &image)?;
    let before = gpu.transfers();
    let labels = gpu.run(&chain, &image)?;
    let after = gpu.transfers();
    let moved = [
        after.uploaded_bytes - before.uploaded_bytes,
        after.downloaded_bytes - before.downloaded_bytes,
    ];
    assert_eq!(moved, [4 * image.len() as u64; 2]);
    assert_eq!(labels.host()?, result.into_output().host()?);
    println!("on {} alone: {moved:?} bytes up and down", gpu.id());
    Ok(())
}
