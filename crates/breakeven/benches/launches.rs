//! What a launch costs the host, by phase.
//!
//!     cargo bench -p breakeven --bench launches [-- --quick] [--software]
//!
//! Of a call whose buffers are on the device: `launch_ours` is this library's part, measured
//! with a form that starts nothing; `launch_queued` what CubeCL takes until the launch is handed
//! to its thread; `launch_wait` from then until the host knows that the kernel is done: CubeCL's
//! thread, the driver and the device. `launch_in_flight` is the time of each of 32 launches with
//! one wait. `flight` is a whole `Gpu::start` with its wait, which adds a thread that waits.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::process::ExitCode;
use std::time::Instant;

use breakeven::gpu::{DeviceForm, Gpu, Launch, Output};
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::VectorAdd;
use breakeven::profile::stats::median;
use breakeven::{DeviceError, Error, Operator, Tensor, View};

#[path = "../../../bench/gpu.rs"]
mod gpu;
#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "phases are for no gate")]
mod metric;

use metric::{is_quick, metric};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Launches in flight at once.
const IN_FLIGHT: u32 = 32;

/// An operator whose form starts nothing.
struct Nothing;

impl Operator for Nothing {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "nothing"
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(inputs[0].to_vec())
    }

    fn cpu(&self, _: &[View<'_, f32>], _: &mut [f32]) -> Result<(), Error> {
        Ok(())
    }

    fn device(&self) -> Option<&dyn DeviceForm> {
        Some(self)
    }
}

impl DeviceForm for Nothing {
    fn launch(&self, _: &Launch<'_>) -> Result<(), DeviceError> {
        Ok(())
    }
}

fn main() -> Outcome<ExitCode> {
    let hardware = HardwareCapabilities::detect();
    let info = match gpu::device(&hardware) {
        Ok(info) => info,
        Err(error) => {
            println!("NOT MEASURED: {error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let gpu = Gpu::open(&info.id)?;
    let rounds = if is_quick() { 300 } else { 3_000 };
    let vectors = [1, 2].map(|seed| Tensor::new(vec![seed as f32; 256], &[1, 256]));
    let [a, b] = vectors;
    let inputs = [a?, b?];
    let (nothing, sum) = (
        gpu.prepare(&Nothing, &inputs)?,
        gpu.prepare(&VectorAdd, &inputs)?,
    );
    let mut phases: [Vec<f64>; 5] = Default::default();
    for _ in 0..rounds {
        let mut timed = |phase: usize, launches: u32, run: &dyn Fn() -> Outcome<()>| {
            let start = Instant::now();
            run()?;
            let us = start.elapsed().as_secs_f64() * 1e6 / f64::from(launches);
            phases[phase].push(us);
            Outcome::Ok(())
        };
        timed(0, 1, &|| Ok(nothing.launch()?))?;
        timed(1, 1, &|| Ok(sum.launch()?))?;
        timed(2, 1, &|| Ok(gpu.synchronize()?))?;
        timed(3, IN_FLIGHT, &|| {
            for _ in 0..IN_FLIGHT {
                sum.launch()?;
            }
            Ok(gpu.synchronize()?)
        })?;
        timed(4, 1, &|| {
            gpu.start(&VectorAdd, &inputs, Output::OnDevice)?.wait()?;
            Ok(())
        })?;
    }
    // The first calls compile.
    let [ours, queued, wait, in_flight, flight] =
        phases.map(|times| median(&times[times.len() / 10..]));
    let ours = ours?;
    let figures = [
        ("launch_ours", ours),
        ("launch_queued", queued? - ours),
        ("launch_wait", wait?),
        ("launch_in_flight", in_flight?),
        ("flight", flight?),
    ];
    for (name, us) in figures {
        metric(&format!("{name}/{}", info.id), us, "us");
    }
    Ok(ExitCode::SUCCESS)
}
