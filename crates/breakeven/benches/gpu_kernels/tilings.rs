//! The ways to cut up a product, side by side: which one a device should be given.

use breakeven::Operator;
use breakeven::gpu::Gpu;
use breakeven::kernels::{MatrixMultiply, Tiling};
use breakeven_profile::stats::median;

use crate::metric::metric;
use crate::sizes::Room;
use crate::subject::{Outcome, values};

/// Batch and order of square matrices.
const SHAPES: [[usize; 2]; 5] = [[1, 256], [64, 256], [1, 1_024], [1, 2_048], [1, 4_096]];

/// Prints each tiling's time of the kernel alone, in turns; false where one failed.
pub(crate) fn print(gpu: &Gpu, room: &Room, rounds: u32) -> bool {
    let mut well = true;
    for [batch, order] in SHAPES {
        let shape = [batch, order, order];
        let work = MatrixMultiply::default().work(&[&shape, &shape]);
        if work.bytes > room.device {
            continue;
        }
        let times = match compare(gpu, &shape, rounds) {
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
                Ok(ns) => metric(&name, work.flops as f64 / ns, "GFLOP/s"),
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
fn compare(gpu: &Gpu, shape: &[usize], rounds: u32) -> Outcome<Vec<Outcome<f64>>> {
    let [a, b] = [values(shape, 1)?.to(gpu)?, values(shape, 2)?.to(gpu)?];
    let kernels = Tiling::ALL.map(MatrixMultiply::with_tiling);
    let time = |kernel: &MatrixMultiply| -> Outcome<f64> {
        let call = gpu.prepare(kernel, &[&a, &b])?;
        Ok(call.kernel_time()?.as_nanos() as f64)
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
