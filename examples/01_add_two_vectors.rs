//! Adds two vectors on the CPU and on every GPU that is there, and compares.
//!
//! Run it with `cargo run --example 01_add_two_vectors`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::{Kernel, VectorAdd};

fn main() -> Result<(), breakeven::Error> {
    let a: Vec<f32> = (0..1_000_000).map(|i| i as f32 / 3.0).collect();
    let b: Vec<f32> = (0..1_000_000).map(|i| 1e6 - i as f32).collect();

    // The constructor checks the shapes: one batch of two equally long vectors.
    let sum = VectorAdd::new(&a[..], &b[..], 1)?;
    let work = sum.work();
    println!("{} additions, {} bytes", work.flops, work.bytes);

    let on_cpu = sum.cpu();
    println!("cpu: … {:?}", &on_cpu[on_cpu.len() - 3..]);

    let hardware = HardwareCapabilities::detect();
    for absent in &hardware.absent {
        println!("not here: {absent}");
    }
    for gpu in &hardware.gpus {
        let on_gpu = Gpu::open(&gpu.id)?.solve(&sum)?;
        println!("{}: … {:?}", gpu.id, &on_gpu[on_gpu.len() - 3..]);
        // One rounding per element: the results are the same to the last bit.
        assert_eq!(on_gpu, on_cpu, "{}", gpu.id);
    }

    assert_eq!(on_cpu[3], a[3] + b[3]);
    Ok(())
}
