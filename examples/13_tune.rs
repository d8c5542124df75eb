//! Your own kernel made tunable, tuned on each device, and the choice that later calls use.
//! Run it with `cargo run --release --example 13_tune`; what it finds is kept for the next run.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::time::Duration;

use breakeven::gpu::cubecl::{self, prelude::*};
use breakeven::gpu::{DeviceForm, Gpu, Launch, grid};
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::{LstmCell, MatrixMultiply, PixelEntropy};
use breakeven::tune::{Space, Tunable, Tuner, source_number};
use breakeven::{DeviceError, Error, Operator, Tensor, View, with_client};

// `units` and `each` are compile-time parameters: one source, a kernel for each value.
#[cube(launch)]
fn squares(x: &Array<f32>, out: &mut Array<f32>, #[comptime] units: u32, #[comptime] each: u32) {
    let first = CUBE_POS * comptime!((units * each) as usize) + UNIT_POS_X as usize;
    #[unroll]
    for step in 0..each {
        let at = first + (step * units) as usize;
        if at < out.len() {
            out[at] = x[at] * x[at];
        }
    }
}

struct Squares;

impl Operator for Squares {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "squares"
    }

    fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        for (out, x) in out.iter_mut().zip(inputs[0].values) {
            *out = x * x;
        }
        Ok(())
    }

    fn device(&self) -> Option<&dyn DeviceForm> {
        Some(self)
    }
}

impl DeviceForm for Squares {
    fn space(&self, gpu: &Gpu, _: &[&[usize]]) -> Space {
        let units = [32, 64, 128, 256, 512].into_iter();
        Space {
            // What was tuned is void when this file changes.
            source: const { source_number(include_bytes!("13_tune.rs")) },
            tunables: vec![
                Tunable::new("units", 64, units.filter(|units| *units <= gpu.max_units())),
                Tunable::new("each", 1, [2, 4, 8]),
            ],
            ..Space::default()
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [units, each] = [launch.tuned("units")?, launch.tuned("each")?];
        let (x, out) = (&launch.inputs[0], launch.output);
        let count = grid(out.bytes() / 4, units * each);
        with_client!(launch.gpu, client => {
            squares::launch(
                client, count, CubeDim::new_1d(units), x.array(), out.array(), units, each,
            );
        });
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x = Tensor::new(
        (0..4_000_000).map(|x| x as f32).collect::<Vec<_>>(),
        &[1, 4_000_000],
    )?;
    for gpu in HardwareCapabilities::detect().gpus {
        let gpu = Gpu::open(&gpu.id)?;
        let tuner = Tuner::new(&gpu.tuned()).budget(Duration::from_secs(5));
        let found = tuner.tune(&gpu, &Squares, &x)?;
        println!("{}, {} of {}:", gpu.id(), found.key.kernel, found.key.size);
        for tried in &found.tried {
            let time = tried.trial.median_ns.map_or(f64::NAN, |ns| ns / 1e6);
            println!(
                "  {:20} {time:7.3} ms  {:?}",
                tried.configuration.to_string(),
                tried.trial.fate
            );
        }
        // A later call of that size, here or in another process.
        let call = gpu.prepare(&Squares, &x)?;
        assert_eq!(*call.configuration(), found.configuration);
        println!("calls use {}", found.configuration);

        let product = MatrixMultiply::or_tensor_cores([1024; 3], gpu.has_tensor_cores());
        println!("a product of order 1024: {product}");
    }
    // Choices by the size of the problem say what they chose and why.
    println!("{}", PixelEntropy::for_image(1080, 1920)?);
    println!("{}", LstmCell::batch_within(Duration::from_millis(4)));
    Ok(())
}
