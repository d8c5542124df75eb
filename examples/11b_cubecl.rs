//! Your own CubeCL kernel as an operator: one source for CUDA, Vulkan, Metal and DX12. Run
//! it with `cargo run --example 11b_cubecl`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven::gpu::cubecl::{self, prelude::*};
use breakeven::gpu::{DeviceForm, Gpu, Launch, grid};
use breakeven::hardware::HardwareCapabilities;
use breakeven::{DeviceError, Error, Operator, Tensor, View, with_client};

#[cube(launch)]
fn scale(x: &Array<f32>, out: &mut Array<f32>, factor: f32) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = factor * x[ABSOLUTE_POS];
    }
}

/// Every value times a factor.
struct Scale(f32);

impl Operator for Scale {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "scale"
    }

    fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        for (out, x) in out.iter_mut().zip(inputs[0].values) {
            *out = self.0 * x;
        }
        Ok(())
    }

    fn device(&self) -> Option<&dyn DeviceForm> {
        Some(self)
    }
}

impl DeviceForm for Scale {
    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let (x, out) = (&launch.inputs[0], launch.output);
        let (count, units) = (grid(out.bytes() / 4, 64), CubeDim::new_1d(64));
        with_client!(launch.gpu, client => {
            scale::launch(client, count, units, x.array(), out.array(), self.0);
        });
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let (double, x) = (Scale(2.0), Tensor::new(vec![1.0, 2.0, 3.0], &[3])?);
    for gpu in HardwareCapabilities::detect().gpus {
        let on_gpu = Gpu::open(&gpu.id)?.run(&double, &x)?;
        assert_eq!(on_gpu.host()?, double.on_cpu(&x)?.host()?);
        println!("{}: {:?}", gpu.id, on_gpu.host()?);
    }
    Ok(())
}
