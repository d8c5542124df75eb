//! A library that computes on the GPU and blocks, behind `execute`: a closure, and what is
//! known of its device. Run it with `cargo run --example 11c_own_executor`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::sync::Arc;

use breakeven::execute::{FallbackPolicy, OnDevice, RayonCpu, StrategyManager};
use breakeven::gpu::Gpu;
use breakeven::hardware::{HardwareCapabilities, gpu_spec};
use breakeven::kernels::{Conv2d, SOBEL_X};
use breakeven::{DeviceError, Operator, Tensor};

type Image = Vec<f32>;

/// Stands for an inference library: a call takes a batch, waits for the GPU, and gives a
/// result for each image.
struct Model {
    gpu: Gpu,
    edges: Arc<Conv2d>,
}

impl Model {
    fn infer(&self, images: &[Image]) -> Result<Vec<Image>, DeviceError> {
        let batch = Tensor::new(images.concat(), &[images.len(), 32, 32])?;
        let output = self.gpu.run(&*self.edges, &batch)?.into_vec()?;
        Ok(output.chunks(32 * 32).map(<[f32]>::to_vec).collect())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let edges = Arc::new(Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3])?, 1, 1)?);
    let on_cpu = |image: &Image| -> Result<Image, breakeven::Error> {
        let image = Tensor::new(image, &[1, 32, 32])?;
        Ok(edges.on_cpu(&image)?.into_vec()?)
    };
    let images: Vec<Image> = (0..500).map(|at| vec![at as f32; 32 * 32]).collect();
    for found in HardwareCapabilities::detect().gpus {
        let (gpu, edges) = (Gpu::open(&found.id)?, Arc::clone(&edges));
        let model = Model { gpu, edges };
        let closure = move |images: &[Image]| model.infer(images);
        let executor = OnDevice::new(gpu_spec(&found, None), closure);
        let cpu = Arc::new(RayonCpu::current());
        let manager = StrategyManager::new(cpu, Arc::new(executor))
            .allow_software_gpu()
            .with_fallback(FallbackPolicy::Deny); // what fails on the GPU is an error
        let result = manager.operation("edges").execute(&images, on_cpu)?;
        println!("{}", result.explain());
        assert_eq!(result.outputs[7], on_cpu(&images[7])?);
    }
    Ok(())
}
