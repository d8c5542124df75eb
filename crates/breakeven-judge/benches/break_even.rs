//! Measures how often the interval of a break-even contains the true size, on simulated devices
//! with known curves.
//!
//!     cargo bench -p breakeven-judge --bench break_even [-- --quick]
//!
//! Each sweep proceeds as `breakeven sweep` does: sizes are doubled over the range and measured in
//! turns for a few rounds; then sizes around the break-even are measured for as many rounds. Times
//! have log-normal noise, an occasional very long time, and a factor per device and round.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "these figures are for no gate")]
mod metric;

use breakeven_judge::break_even::{BreakEven, SizeTimes, break_even, coarse_sizes, refined_sizes};
use metric::{is_quick, metric};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Rounds of a sweep, and samples of each round, of which the median counts.
const ROUNDS: usize = 5;
const SAMPLES: usize = 7;

/// Required fraction of sweeps whose interval contains the true size.
const LEAST_COVERAGE: f64 = 0.9;

/// The sizes of every sweep.
const FROM: u64 = 64;
const TO: u64 = 1 << 24;

/// A device: time over size, ns.
#[derive(Debug, Clone, Copy)]
struct Device {
    fixed: f64,
    each: f64,
    /// Size from which each element takes `beyond` times as long (a cache).
    fits: f64,
    beyond: f64,
}

impl Device {
    fn ns(&self, size: f64) -> f64 {
        let outside = (size - self.fits).max(0.0);
        self.fixed + self.each * (size + outside * (self.beyond - 1.0))
    }
}

/// Range of the random devices of a sweep.
const CURVES: [&str; 4] = ["linear", "cpu_cache", "gpu_transfer", "small_fixed"];

/// The CPU and the GPU of a sweep, whose curves cross once.
fn devices(curve: &str, random: &mut Xoshiro256PlusPlus) -> [Device; 2] {
    let mut between = |low: f64, high: f64| low * (high / low).powf(random.random::<f64>());
    let cpu = Device {
        fixed: between(100.0, 5_000.0),
        each: between(0.1, 3.0),
        fits: f64::INFINITY,
        beyond: 1.0,
    };
    let gpu = Device {
        fixed: between(10_000.0, 1_000_000.0),
        each: cpu.each / between(1.5, 50.0),
        ..cpu
    };
    match curve {
        "cpu_cache" => {
            let (fits, beyond) = (between(1e4, 1e6), between(1.5, 4.0));
            [
                Device {
                    fits,
                    beyond,
                    ..cpu
                },
                gpu,
            ]
        }
        // Two thirds of the CPU's time are spent on moving data.
        "gpu_transfer" => [
            cpu,
            Device {
                each: cpu.each / 1.5,
                ..gpu
            },
        ],
        "small_fixed" => [
            cpu,
            Device {
                fixed: 2.0 * cpu.fixed + 1_000.0,
                ..gpu
            },
        ],
        _ => [cpu, gpu],
    }
}

/// Size at which the curves cross.
fn truth([cpu, gpu]: [Device; 2]) -> f64 {
    let (mut low, mut high) = (1.0_f64, 1e12_f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if gpu.ns(middle) > cpu.ns(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// Noise of a sweep: per sample, per round.
struct Noise {
    sample: f64,
    round: f64,
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Times of both devices at these sizes.
fn times(
    devices: [Device; 2],
    sizes: &[u64],
    noise: &Noise,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<SizeTimes> {
    let mut times: Vec<SizeTimes> = sizes
        .iter()
        .map(|size| SizeTimes {
            size: *size as f64,
            device_ns: Vec::new(),
            over_ns: Vec::new(),
        })
        .collect();
    for _ in 0..ROUNDS {
        let slower = [(); 2].map(|()| (noise.round * normal(random)).exp());
        for times in &mut times {
            let mut median = |device: Device, slower: f64| {
                let mut samples = [0.0; SAMPLES];
                for sample in &mut samples {
                    let stray = if random.random::<f64>() < 0.03 {
                        2.5
                    } else {
                        1.0
                    };
                    let factor = (noise.sample * normal(random)).exp() * stray * slower;
                    *sample = device.ns(times.size) * factor;
                }
                samples.sort_by(f64::total_cmp);
                samples[SAMPLES / 2]
            };
            let [cpu, gpu] = devices;
            times.over_ns.push(median(cpu, slower[0]));
            times.device_ns.push(median(gpu, slower[1]));
        }
    }
    times
}

fn main() {
    let sweeps = if is_quick() { 200 } else { 4_000 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20_240_611);
    let (mut all, mut held, mut unclear, mut widths) = (0, 0, 0, Vec::new());
    for curve in CURVES {
        for (name, noise) in [
            (
                "quiet",
                Noise {
                    sample: 0.02,
                    round: 0.005,
                },
            ),
            (
                "busy",
                Noise {
                    sample: 0.10,
                    round: 0.03,
                },
            ),
        ] {
            let (mut of_curve, mut held_here) = (0, 0);
            while of_curve < sweeps / 8 {
                let devices = devices(curve, &mut random);
                let truth = truth(devices);
                if !(2.0 * FROM as f64..0.5 * TO as f64).contains(&truth) {
                    continue;
                }
                let mut seen = times(devices, &coarse_sizes(FROM, TO), &noise, &mut random);
                let more = refined_sizes(&seen);
                seen.extend(times(devices, &more, &noise, &mut random));
                of_curve += 1;
                match break_even(&seen) {
                    BreakEven::From {
                        interval: [low, high],
                        ..
                    } => {
                        held_here += usize::from(low <= truth && truth <= high);
                        widths.push(high / low);
                    }
                    _ => unclear += 1,
                }
            }
            metric(
                &format!("breakeven_coverage/{curve}/{name}"),
                held_here as f64 / of_curve as f64,
                "",
            );
            all += of_curve;
            held += held_here;
        }
    }
    widths.sort_by(f64::total_cmp);
    let coverage = held as f64 / all as f64;
    metric("breakeven_coverage", coverage, "");
    metric("breakeven_unclear", unclear as f64 / all as f64, "");
    metric(
        "breakeven_interval_width_median",
        widths[widths.len() / 2],
        "x",
    );
    metric(
        "breakeven_interval_width_p95",
        widths[widths.len() * 95 / 100],
        "x",
    );
    assert!(
        coverage >= LEAST_COVERAGE,
        "the true size was in the interval in {coverage} of the sweeps, not in {LEAST_COVERAGE}"
    );
}
