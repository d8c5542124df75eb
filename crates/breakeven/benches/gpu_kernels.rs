//! Each kernel on a GPU: how near it comes to what the device was measured to do,
//! and what it gains over the CPU.
//!
//!     cargo bench -p breakeven --bench gpu_kernels [-- --quick] [--software] [--only KERNEL]
//!     … -- --smoke      only whether each kernel is right, at its default size
//!
//! `gpu_error` is the largest difference of the outputs on both, which must be small.
//! `gpu_roofline` is the share of what limits the kernel, which its line names: the slowest of
//! the measured copy bandwidth (at the working set's size), arithmetic, shared memory, its
//! atomics and its latency for the kernel's counted work; the kernel alone, inputs and output on
//! the device.
//! Its time is by the device's clock; on CUDA, where CubeCL has none, by the host's,
//! as its share of a lot of launches with one wait. `gpu_gain` is the CPU's
//! time over the kernel's, `gpu_gain_with_transfers` over that of a whole call from
//! host memory to host memory. CPU and GPU take turns; a ratio is made within a round.
//! `pool_gain` is a call's time after freed memory was given back to the device, over that of
//! one that finds it. `tune_gain` is the default configuration's time over the tuned one's,
//! `gpu_roofline_tuned` the share then; `batch_speedup` the time of 100 small problems in as
//! many calls over that in one; `chain_gain` the time of three calls over that of their chain,
//! `fusion_gain` the chain's over that of its fused form (both: `--only chain`).
//! On a software GPU (`--software`), which is the CPU again, the bench can be
//! tried; its figures say nothing.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::process::ExitCode;

use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::NAMES;
use breakeven::{DeviceError, DeviceErrorKind, peak};
use breakeven_profile::profile::{Evidence, Operation, Profile};
use breakeven_profile::unit;

#[path = "gpu_kernels/gains.rs"]
mod gains;
#[path = "../../../bench/gpu.rs"]
mod gpu;
#[path = "../../../bench/metric.rs"]
mod metric;
#[path = "../../../bench/only.rs"]
mod only;
#[path = "../../../bench/room.rs"]
mod room;
#[path = "gpu_kernels/rounds.rs"]
mod rounds;
#[path = "gpu_kernels/sizes.rs"]
mod sizes;
#[path = "gpu_kernels/subject.rs"]
mod subject;

use metric::{is_quick, metric, write_profile};
use only::Only;
use rounds::{Gains, Rounds, measure};
use sizes::{Room, points};
use subject::{Outcome, Subject};

fn main() -> ExitCode {
    let only = match Only::asked_for() {
        Ok(only) => only,
        Err(error) => {
            println!("{error}");
            return ExitCode::from(2);
        }
    };
    let hardware = HardwareCapabilities::detect();
    let info = match gpu::device(&hardware) {
        Ok(info) => info,
        Err(error) => {
            println!("NOT MEASURED: {error}");
            return ExitCode::FAILURE;
        }
    };
    let cpu = &hardware.cpu_model;
    let threads = rayon::current_num_threads();
    println!("{} ({}); {cpu}, {threads} threads", info.id, info.kind);
    let opened = Gpu::open(&info.id).and_then(|gpu| {
        let peak = peak::measure_gpu(&gpu)?;
        Ok((gpu, peak))
    });
    let (gpu, peak) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            println!("FAILED {}: {error}", info.id);
            return ExitCode::FAILURE;
        }
    };
    let rate = |rate: Option<f64>, text: fn(f64) -> String| rate.map_or("?".to_owned(), text);
    println!(
        "kernels by the {}'s clock; peaks: {} copied, {}",
        gpu.kernel_clock(),
        rate(peak.memory_bytes_per_s, unit::bytes_per_s),
        rate(peak.flops_per_s, unit::flops_per_s),
    );
    let mut profile = Profile {
        evidence: Evidence {
            peaks: vec![peak],
            ..Evidence::default()
        },
        ..Profile::default()
    };
    let room = Room::of(&gpu, &hardware);
    let rounds = Rounds::new(is_quick());
    let mut failed = false;
    if std::env::args().any(|argument| argument == "--smoke") {
        for kernel in NAMES.into_iter().filter(|kernel| only.has(kernel)) {
            let subject = subject::subject(kernel, 1);
            let right = subject.and_then(|mut it| is_right(kernel, kernel, &mut *it, &gpu));
            failed |= right.is_err_and(|error| is_failure(kernel, &*error));
        }
        return ExitCode::from(u8::from(failed));
    }
    for kernel in NAMES.into_iter().filter(|kernel| only.has(kernel)) {
        let points = match points(kernel, &room) {
            Ok(points) => points,
            Err(error) => {
                failed = true;
                println!("FAILED {kernel}: {error}");
                continue;
            }
        };
        for point in points {
            let name = &point.name;
            let measured = (point.make)().and_then(|mut subject| {
                is_right(kernel, name, &mut *subject, &gpu)?;
                measure(name, &mut *subject, &gpu, &rounds)
            });
            match measured {
                Ok((on_cpu, on_gpu, gains)) => {
                    print(&profile.evidence, &on_gpu, &gains);
                    if let Err(error) = gains::tuned(&point, &gpu, &profile.evidence, &on_gpu) {
                        failed = true;
                        println!("FAILED to tune {name}: {error}");
                    }
                    profile.operations.extend([on_cpu, on_gpu]);
                }
                Err(error) => failed |= is_failure(name, &*error),
            }
            gpu.memory().trim();
        }
    }
    let mut gained = |name: &str, gain: Outcome<()>| {
        failed |= gain.is_err_and(|error| is_failure(name, &*error));
    };
    for kernel in NAMES.into_iter().filter(|kernel| only.has(kernel)) {
        gained(kernel, gains::batch(kernel, &gpu, &rounds));
    }
    if only.has("chain") {
        gained("chain", gains::chain(&gpu, &rounds));
    }
    write_profile("gpu_kernels", profile);
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints why something was not measured; true unless the device lacks what it takes.
fn is_failure(name: &str, error: &(dyn std::error::Error + 'static)) -> bool {
    let lacks = error
        .downcast_ref::<DeviceError>()
        .is_some_and(|error| error.kind == DeviceErrorKind::Unsupported);
    let what = if lacks { "NOT MEASURED" } else { "FAILED" };
    println!("{what} {name}: {error}");
    !lacks
}

/// Fails if the outputs on CPU and GPU differ by more than the kernel's tolerance.
fn is_right(kernel: &str, name: &str, subject: &mut dyn Subject, gpu: &Gpu) -> Outcome<()> {
    let difference = subject.difference(gpu)?;
    println!("METRIC gpu_error/{name} {difference:.1e}");
    let most = match kernel {
        "image_segmentation" => 0.0,
        "tensor_core_matmul" | "ar_forecast" => 1e-2,
        _ => 1e-4,
    };
    match difference <= most {
        true => Ok(()),
        false => Err(format!("the outputs differ by {difference:.1e}, over {most:.0e}").into()),
    }
}

/// The figures of one kernel at one size.
fn print(evidence: &Evidence, on_gpu: &Operation, gains: &Gains) {
    let name = &on_gpu.name;
    println!("{name}: {}", on_gpu.workload.as_deref().unwrap_or_default());
    let share = rounds::roofline(evidence, on_gpu);
    if let Some((limit, share)) = share {
        metric(&format!("gpu_roofline/{name}"), 100.0 * share, "%");
        println!("  of {limit}");
    }
    let bytes = on_gpu.bytes.unwrap_or_default() as f64;
    metric(
        &format!("gpu_kernel_us/{name}"),
        gains.kernel_ns / 1e3,
        "us",
    );
    println!(
        "  kernel {}, {}",
        unit::time(gains.kernel_ns),
        unit::bytes_per_s(bytes / gains.kernel_ns * 1e9),
    );
    metric(&format!("pool_gain/{name}"), gains.reuse.estimate, "x");
    println!("  {:.3} to {:.3}", gains.reuse.lower, gains.reuse.upper);
    for (figure, ratio, of) in [
        ("gpu_gain", &gains.kernel, gains.kernel_ns),
        ("gpu_gain_with_transfers", &gains.call, gains.call_ns),
    ] {
        metric(&format!("{figure}/{name}"), ratio.estimate, "x");
        println!(
            "  {:.3} to {:.3}; CPU {}, GPU {}",
            ratio.lower,
            ratio.upper,
            unit::time(gains.cpu_ns),
            unit::time(of),
        );
    }
}
