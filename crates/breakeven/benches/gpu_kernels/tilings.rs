//! The ways to cut up a product, side by side: which one a device should be given.

use std::error::Error;

use breakeven::gpu::Gpu;
use breakeven::kernels::{Kernel, MatrixMultiply, Tiling};
use breakeven_profile::stats::median;

use crate::metric::metric;
use crate::sizes::Room;

/// Batch and order of square matrices.
const SHAPES: [[usize; 2]; 5] = [[1, 256], [64, 256], [1, 1_024], [1, 2_048], [1, 4_096]];

/// Prints each tiling's time of the kernel alone, in turns; false where one failed.
pub(crate) fn print(gpu: &Gpu, room: &Room, rounds: u32) -> bool {
    let mut well = true;
    for [batch, order] in SHAPES {
        let values = |seed: usize| -> Vec<f32> {
            let value = |at: usize| ((at * 37 + seed) % 255) as f32 / 127.0 - 1.0;
            (0..batch * order * order).map(value).collect()
        };
        let dims = [batch, order, order, order];
        let product = MatrixMultiply::new(values(1), values(2), dims);
        let product = product.expect("both inputs have the shape's length");
        if product.memory_bytes() > room.device {
            continue;
        }
        match compare(gpu, &product, rounds) {
            Ok(times) => {
                for (tiling, ns) in Tiling::ALL.iter().zip(times) {
                    let name = format!("gpu_tiling/{batch}x{order}/{tiling:?}");
                    metric(&name, product.work().flops as f64 / ns, "GFLOP/s");
                }
            }
            Err(error) => {
                well = false;
                println!("FAILED tilings of {batch} x {order}: {error}");
            }
        }
    }
    well
}

/// Each tiling's median time, ns.
fn compare(
    gpu: &Gpu,
    product: &MatrixMultiply<'_>,
    rounds: u32,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let buffers = gpu.upload(product)?;
    let kernels = Tiling::ALL.map(|tiling| product.clone().with_tiling(tiling));
    for kernel in &kernels {
        // Compiled.
        gpu.kernel_time(kernel, &buffers)?;
    }
    let mut times = vec![Vec::new(); kernels.len()];
    for _ in 0..rounds {
        for (kernel, times) in kernels.iter().zip(&mut times) {
            times.push(gpu.kernel_time(kernel, &buffers)?.as_nanos() as f64);
        }
    }
    let medians = times.iter().map(|times| Ok(median(times)?));
    medians.collect()
}
