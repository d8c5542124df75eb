//! Adds two vectors on the CPU and on every GPU that is there, and compares.
//!
//! Run it with `cargo run --example 01_add_two_vectors`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::VectorAdd;
use breakeven::{Operator, Tensor};

fn main() -> Result<(), breakeven::Error> {
    // A batch of one vector each; nothing is copied.
    let a: Vec<f32> = (0..1_000_000).map(|i| i as f32 / 3.0).collect();
    let b: Vec<f32> = (0..1_000_000).map(|i| 1e6 - i as f32).collect();
    let (a, b) = (
        Tensor::new(&a, &[1, 1_000_000])?,
        Tensor::new(&b, &[1, 1_000_000])?,
    );
    let work = VectorAdd.work(&[a.shape(), b.shape()]);
    println!("{} additions, {} bytes", work.flops, work.bytes);

    let sum = VectorAdd.on_cpu(&[&a, &b])?;
    let on_cpu = sum.host()?;
    println!("cpu: … {:?}", &on_cpu[on_cpu.len() - 3..]);

    let hardware = HardwareCapabilities::detect();
    for absent in &hardware.absent {
        println!("not here: {absent}");
    }
    for gpu in &hardware.gpus {
        let sum = Gpu::open(&gpu.id)?.run(&VectorAdd, &[&a, &b])?;
        let on_gpu = sum.host()?;
        println!("{}: … {:?}", gpu.id, &on_gpu[on_gpu.len() - 3..]);
        // One rounding per element: the results are the same to the last bit.
        assert_eq!(on_gpu, on_cpu, "{}", gpu.id);
    }

    assert_eq!(on_cpu[3], a.host()?[3] + b.host()?[3]);
    Ok(())
}
