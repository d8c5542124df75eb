//! Your own compute shader as an operator: WGSL for GPUs, the same in Rust for the CPU.
//! An item is a number; its result is how many steps the Collatz sequence takes from
//! there to 1. Run it with `cargo run --example 11a_wgsl`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven::gpu::{Gpu, WgslOperator};
use breakeven::hardware::HardwareCapabilities;
use breakeven::{Error, Operator, Tensor};

const SHADER: &str = "
@group(0) @binding(0) var<storage, read> numbers: array<u32>;
@group(0) @binding(1) var<storage, read_write> steps: array<u32>;

@compute @workgroup_size(64)
fn collatz(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&numbers) { return; }
    var n = numbers[id.x];
    var count = 0u;
    while n > 1u {
        n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
        count += 1u;
    }
    steps[id.x] = count;
}";

/// What the CPU runs.
fn steps(mut n: u32) -> u32 {
    let mut count = 0;
    while n > 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        count += 1;
    }
    count
}

fn main() -> Result<(), Error> {
    // SAFETY: the shader looks at no place past the end of its arrays.
    let collatz = unsafe {
        WgslOperator::<u32, u32>::new("collatz", SHADER, |inputs, out| {
            for (out, n) in out.iter_mut().zip(inputs[0].values) {
                *out = steps(*n);
            }
            Ok(())
        })?
    };
    let numbers = Tensor::new((1..=100_000).collect::<Vec<u32>>(), &[100_000])?;
    let on_cpu = collatz.on_cpu(&numbers)?;
    for gpu in HardwareCapabilities::detect().gpus {
        match Gpu::open(&gpu.id).and_then(|gpu| gpu.run(&collatz, &numbers)) {
            Ok(on_gpu) => assert_eq!(on_gpu.host()?, on_cpu.host()?, "{}", gpu.id),
            // CUDA has no WGSL; the error says what to do.
            Err(error) => println!("{}: {error}", gpu.id),
        }
    }
    let most = (1..).zip(on_cpu.host()?).max_by_key(|(_, steps)| **steps);
    println!("up to 100 000, this number takes the most steps: {most:?}");
    assert_eq!(most, Some((77_031, &350)));
    Ok(())
}
