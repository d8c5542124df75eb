//! Data that stays on the GPU: one upload, a hundred operators, one download.
//!
//! Run it with `cargo run --release --example 15_resident`. On a software GPU the gain is small:
//! its memory is the host's.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use breakeven::gpu::{Gpu, Output};
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::Conv2d;
use breakeven::{Chain, Operator, Tensor};

const STEPS: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(gpu) = HardwareCapabilities::detect().gpus.into_iter().next() else {
        println!("there is no GPU here: `breakeven devices` says why");
        return Ok(());
    };
    let gpu = Gpu::open(&gpu.id)?;
    let side = 256;
    let pixels = (0..side * side).map(|at| ((at * 7919) % 256) as f32 / 256.0);
    let image = Tensor::new(pixels.collect::<Vec<_>>(), &[1, side, side])?;
    let filter = Tensor::new(vec![1.0 / 9.0; 9], &[3, 3])?;
    let blur = Arc::new(Conv2d::new(filter, 1, 1)?);

    let blurs = (1..STEPS).fold(Chain::one(Arc::clone(&blur)), |all, _| {
        all.and(Arc::clone(&blur))
    });

    // A first call compiles and sends the filter.
    gpu.run(&*blur, &image)?;

    // As one chain: one upload, all launches, one wait, one download.
    let before = gpu.transfers();
    let (resident, as_chain) = timed(|| Ok(gpu.run(&blurs, &image)?.into_vec()?))?;
    let after = gpu.transfers();
    let bytes = 4 * image.len() as u64;
    assert_eq!(after.uploaded_bytes - before.uploaded_bytes, bytes);
    assert_eq!(after.downloaded_bytes - before.downloaded_bytes, bytes);

    // As a loop that may look in between: an output on the device is the next call's input.
    let (_, as_loop) = timed(|| {
        let mut current = image.clone();
        for _ in 0..STEPS {
            current = gpu.start(&*blur, &current, Output::OnDevice)?.wait()?;
        }
        Ok(current.into_vec()?)
    })?;

    // The same, with each output brought to the host.
    let (_, back_and_forth) = timed(|| {
        let mut current = image.clone();
        for _ in 0..STEPS {
            let pixels = gpu.run(&*blur, &current)?.into_vec()?;
            current = Tensor::new(pixels, image.shape())?;
        }
        Ok(current.into_vec()?)
    })?;

    let (expected, on_cpu) = timed(|| {
        let mut current = image.clone();
        for _ in 0..STEPS {
            current = blur.on_cpu(&[&current])?;
        }
        Ok(current.into_vec()?)
    })?;
    let pairs = resident.iter().zip(&expected);
    assert!(pairs.map(|(a, b)| (a - b).abs()).all(|error| error < 1e-5));

    println!("{STEPS} times conv2d, {side}×{side}, on {}:", gpu.id());
    println!("  {as_chain:9.2?}  as a chain whose data stays on the GPU");
    println!("  {as_loop:9.2?}  as a loop whose data stays on the GPU");
    println!("  {back_and_forth:9.2?}  there and back each time");
    println!("  {on_cpu:9.2?}  CPU");
    Ok(())
}

type Timed = Result<(Vec<f32>, Duration), Box<dyn std::error::Error>>;

fn timed(run: impl FnOnce() -> Result<Vec<f32>, Box<dyn std::error::Error>>) -> Timed {
    let start = Instant::now();
    let found = run()?;
    Ok((found, start.elapsed()))
}
