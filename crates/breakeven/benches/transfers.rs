//! How fast bytes go to a device and back, over `memcpy`'s speed between two places that the
//! process has written before.
//!
//!     cargo bench -p breakeven --bench transfers [-- --quick] [--software]
//!
//! `memcpy`, upload and download take turns in one process; each figure is a ratio of medians. An
//! upload ends when the bytes are there; `upload_pinned` is one from page-locked memory, on CUDA. A
//! download ends with a new `Vec`, whose memory the system has to fill first, so it is compared with
//! `to_vec` too.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use breakeven::Tensor;
use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::VectorAdd;
use breakeven_profile::stats::median;

#[path = "../../../bench/gpu.rs"]
mod gpu;
#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "this bench writes no profile")]
mod metric;

/// Bytes of a transfer, KiB.
const SIZES: [usize; 7] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

fn main() -> Result<(), Box<dyn Error>> {
    let hardware = HardwareCapabilities::detect();
    let gpu = match gpu::device(&hardware) {
        Ok(gpu) => Gpu::open(&gpu.id)?,
        Err(none) => {
            println!("NOT MEASURED: {none}");
            return Ok(());
        }
    };
    println!("{}", gpu.id());
    for kib in SIZES {
        let len = kib << 8;
        let rounds = match metric::is_quick() {
            true => 5,
            false => (4 << 20) / len.max(1 << 16) + 15,
        };
        let values: Vec<f32> = (0..len).map(|at| at as f32).collect();
        let mut there = vec![1.0_f32; len];
        let tensor = Tensor::new(&values, &[1, len])?;
        let call = gpu.prepare(&VectorAdd, &[&tensor, &tensor])?;
        call.launch()?;
        let pinned = Tensor::pinned(&gpu, &[1, len], |pinned| pinned.copy_from_slice(&values))?;
        let pinned = bytemuck::cast_slice(pinned.host()?);
        let mut times = [const { Vec::new() }; 5];
        for round in 0..=rounds {
            let begun = Instant::now();
            there.copy_from_slice(black_box(&values));
            black_box(&mut there);
            let copied = begun.elapsed();
            let begun = Instant::now();
            drop(black_box(gpu.upload(bytemuck::cast_slice(&values))?));
            let sent = begun.elapsed();
            let begun = Instant::now();
            drop(black_box(call.download()?));
            let brought = begun.elapsed();
            let begun = Instant::now();
            drop(black_box(black_box(&values).to_vec()));
            let made = begun.elapsed();
            let begun = Instant::now();
            drop(black_box(gpu.upload(pinned)?));
            let sent_pinned = begun.elapsed();
            // The first round finds nothing that was used before.
            if round > 0 {
                for (times, took) in
                    times
                        .iter_mut()
                        .zip([copied, sent, brought, made, sent_pinned])
                {
                    times.push(took.as_secs_f64());
                }
            }
        }
        let [copy, up, down, new, up_pinned] =
            times.map(|times| median(&times).unwrap_or(f64::NAN));
        let name = |what: &str| format!("transfers/{what}_kib_{kib}");
        metric::metric(&name("memcpy"), copy * 1e6, "us");
        metric::metric(&name("upload_of_memcpy"), copy / up, "ratio");
        metric::metric(&name("download_of_memcpy"), copy / down, "ratio");
        metric::metric(&name("download_of_to_vec"), new / down, "ratio");
        metric::metric(&name("upload_pinned_of_memcpy"), copy / up_pinned, "ratio");
        let rate = |took: f64| 4e-9 * len as f64 / took;
        for (what, took) in [
            ("upload", up),
            ("upload_pinned", up_pinned),
            ("download", down),
        ] {
            metric::metric(&name(what), rate(took), "GB/s");
        }
    }
    Ok(())
}
