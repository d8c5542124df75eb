//! The ways to cut up a product, side by side: which one a device should be given.

use std::error::Error;

use breakeven::DeviceError;
use breakeven::gpu::Gpu;
use breakeven::kernels::{Kernel, MatrixMultiply, Tiling};
use breakeven_profile::stats::median;

use crate::metric::metric;
use crate::sizes::Room;

type Outcome<T> = Result<T, Box<dyn Error>>;

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
        let times = match compare(gpu, &product, rounds) {
            Ok(times) => times,
            Err(error) => {
                well = false;
                println!("FAILED tilings of {batch} x {order}: {error}");
                continue;
            }
        };
        for (tiling, time) in Tiling::ALL.iter().zip(times) {
            let name = format!("gpu_tiling/{batch}x{order}/{tiling:?}");
            match time {
                Ok(ns) => metric(&name, product.work().flops as f64 / ns, "GFLOP/s"),
                Err(error) => {
                    well = false;
                    println!("FAILED {name}: {error}");
                }
            }
        }
    }
    well
}

/// Each tiling's median time, ns; one that fails takes no other's figure away.
fn compare(
    gpu: &Gpu,
    product: &MatrixMultiply<'_>,
    rounds: u32,
) -> Result<Vec<Outcome<f64>>, DeviceError> {
    let buffers = gpu.upload(product)?;
    let kernels = Tiling::ALL.map(|tiling| product.clone().with_tiling(tiling));
    let time = |kernel: &MatrixMultiply<'_>| -> Outcome<f64> {
        Ok(gpu.kernel_time(kernel, &buffers)?.as_nanos() as f64)
    };
    // Compiled; what that took is no figure.
    let mut times: Vec<Outcome<Vec<f64>>> = kernels
        .iter()
        .map(|kernel| time(kernel).map(|_| Vec::new()))
        .collect();
    for _ in 0..rounds {
        for (kernel, times) in kernels.iter().zip(&mut times) {
            let Ok(known) = times else { continue };
            match time(kernel) {
                Ok(ns) => known.push(ns),
                Err(error) => *times = Err(error),
            }
        }
    }
    let medians = times.into_iter().map(|times| Ok(median(&times?)?));
    Ok(medians.collect())
}
