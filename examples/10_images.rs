//! The entropy of every image in a folder, on the GPU, the CPU or both: images of
//! any sizes are one batch.
//!
//! Run it with `cargo run --release --example 10_images -- FOLDER`. Without a
//! folder of PNG and JPEG files it makes a few.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::gpu::{Gpu, OperatorExecutor};
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::PixelEntropy;
use breakeven::{Operator, Tensor, WorkloadProfile};

/// Pixels that the entropy looks at around each one: a square of 16 × 16.
const WINDOW: usize = 16;

/// A batch of one image, grey values in [0, 1).
type Image = Tensor<'static>;

fn main() -> Result<(), Box<dyn Error>> {
    let made = tempfile::tempdir()?;
    let folder = match std::env::args_os().nth(1) {
        Some(folder) => PathBuf::from(folder),
        None => make_images(made.path())?,
    };
    let (paths, images) = read_images(&folder)?;

    // The GPU to use, or the software one where there is no other.
    let hardware = HardwareCapabilities::detect();
    let cpu = Arc::new(RayonCpu::current());
    let operator = Arc::new(PixelEntropy::new(WINDOW)?);
    let entropies = match hardware.best_gpu().or(hardware.gpus.first()) {
        Some(gpu) => {
            let gpu = Gpu::open(&gpu.id)?;
            let executor = OperatorExecutor::new(&gpu, Arc::clone(&operator));
            // Auto leaves a software GPU alone unless asked: it is the CPU again.
            let manager = StrategyManager::new(cpu, Arc::new(executor)).allow_software_gpu();
            run(&manager, &operator, &images)?
        }
        None => run(&StrategyManager::cpu_only(cpu), &operator, &images)?,
    };
    for (path, entropy) in paths.iter().zip(&entropies) {
        let entropy = entropy.host()?;
        let mean = entropy.iter().fold(0.0, |sum, bits| sum + bits) / entropy.len() as f32;
        println!("{mean:5.2} bits  {}", path.display());
    }
    Ok(())
}

/// The work itself, whatever the devices.
fn run<G: GpuExecutor<Image, Image>>(
    manager: &StrategyManager<RayonCpu, G>,
    operator: &PixelEntropy,
    images: &[Image],
) -> Result<Vec<Image>, Box<dyn Error>> {
    // What is known of the work before anything was measured: inputs and outputs.
    let pixels: usize = images.iter().map(Tensor::len).sum();
    let workload = WorkloadProfile::from_task_count(images.len())
        .with_memory_per_task(8 * pixels / images.len().max(1));
    let batch = manager.operation("pixel_entropy").workload(workload);
    let result = batch.execute(images, |image| operator.on_cpu(image))?;
    println!("{}", result.explain());
    Ok(result.outputs)
}

/// The PNG and JPEG files of a folder, by name.
fn read_images(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Image>), Box<dyn Error>> {
    let is_image = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| {
            ["png", "jpg", "jpeg"].contains(&extension.to_ascii_lowercase().as_str())
        })
    };
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> = entries
        .iter()
        .map(|entry| entry.path())
        .filter(is_image)
        .collect();
    paths.sort();
    let images = paths.iter().map(|path| {
        let grey = image::open(path)?.to_luma8();
        let shape = [1, grey.height() as usize, grey.width() as usize];
        let pixels = grey.into_raw().into_iter().map(|v| f32::from(v) / 256.0);
        Ok(Tensor::new(pixels.collect::<Vec<f32>>(), &shape)?)
    });
    let images = images.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    Ok((paths, images))
}

/// Gradients with ever finer stripes on them, in two sizes.
fn make_images(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    for number in 0..12_u32 {
        let (width, height) = if number < 8 { (160, 120) } else { (96, 128) };
        let grey = image::GrayImage::from_fn(width, height, |x, y| {
            let value = (x + y / 2 + (x * y * number) % 97) % 256;
            image::Luma([u8::try_from(value).unwrap_or(u8::MAX)])
        });
        grey.save(folder.join(format!("{number:02}.png")))?;
    }
    Ok(folder.to_owned())
}
