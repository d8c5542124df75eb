//! The autotuner: how far its choice is from the best, in search spaces whose truth is known,
//! and what it finds for the CPU forms here.
//!
//!     cargo bench -p breakeven --no-default-features --bench tune [-- simulated | host] [--quick]
//!
//! `tune_regret` is how much longer than with the best candidate a call takes with the chosen
//! one; `tune_slower` the part of choices that are slower than the default.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::convert::Infallible;
use std::time::Duration;

use breakeven::kernels::{Conv2d, DotProduct, MatrixMultiply, PixelEntropy, SOBEL_X, VectorAdd};
use breakeven::tune::{Search, Tuned, TunedKernel, Tuner};
use breakeven::{Error, Operator, Tensor};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "virtual times are for no gate")]
mod metric;

use metric::{is_quick, metric};

/// Relative standard deviation of a sample, and how often one takes twice as long.
const NOISE: f64 = 0.05;
const STRAYS: f64 = 0.02;

/// A choice that is slower than the default by more counts as slower.
const SLOWER: f64 = 1.005;

fn main() {
    let only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with("--"))
        .collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    if wanted("simulated") {
        for candidates in [4, 16, 64] {
            simulated(candidates);
        }
    }
    if wanted("host") {
        host().expect("the CPU forms take their own inputs");
    }
}

/// Candidates that take 1 to 3 times as long as the best possible; the default is one of the
/// better half, as defaults that somebody chose are.
fn simulated(candidates: usize) {
    let searches = if is_quick() { 100 } else { 1_000 };
    let off = LogNormal::new(0.0, NOISE).expect("a spread");
    let (mut regret, mut slower, mut samples, mut lost) = (0.0, 0, 0, 0.0);
    for seed in 0..searches {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut times: Vec<f64> = (0..candidates)
            .map(|_| 3_f64.powf(random.random()))
            .collect();
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let default = sorted[random.random_range(0..candidates.div_ceil(2))];
        let at = times.iter().position(|time| *time == default).unwrap_or(0);
        times.swap(0, at);
        let mut taken = 0;
        let sample = |number: usize| {
            taken += 1;
            let stray = if random.random_bool(STRAYS) { 2.0 } else { 1.0 };
            Ok::<f64, Infallible>(1e6 * times[number] * stray * off.sample(&mut random))
        };
        let search = Search {
            seed,
            ..Search::new(Duration::from_secs(3_600))
        };
        let Ok(found) = search.run(candidates, sample);
        regret += times[found.winner] / sorted[0] - 1.0;
        lost += times[0] / sorted[0] - 1.0;
        slower += u64::from(times[found.winner] > SLOWER * times[0]);
        samples += taken;
    }
    let mean = |sum: f64| 100.0 * sum / searches as f64;
    metric(
        &format!("tune_regret/{candidates}_candidates"),
        mean(regret),
        "percent",
    );
    metric(
        &format!("tune_slower/{candidates}_candidates"),
        mean(slower as f64),
        "percent",
    );
    metric(
        &format!("tune_samples/{candidates}_candidates"),
        samples as f64 / searches as f64,
        "samples",
    );
    println!("  with the default: regret {:.1} %", mean(lost));
}

/// What tuning gains for CPU forms on this machine.
fn host() -> Result<(), Error> {
    let random = |shape: &[usize]| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let len: usize = shape.iter().product();
        Tensor::new(
            (0..len).map(|_| random.random()).collect::<Vec<f32>>(),
            shape,
        )
    };
    let (vector, image) = (random(&[1, 1_000_000])?, random(&[1, 1_024, 1_024])?);
    let (a, b) = (random(&[1, 512, 512])?, random(&[1, 512, 512])?);
    let sobel = Conv2d::new(Tensor::new(SOBEL_X.to_vec(), &[3, 3])?, 1, 1)?;
    tuned(&VectorAdd, &[&vector, &vector])?;
    tuned(&DotProduct, &[&vector, &vector])?;
    tuned(&sobel, &[&image])?;
    tuned(&PixelEntropy::new(8)?, &[&image])?;
    tuned(&MatrixMultiply, &[&a, &b])
}

fn tuned(
    operator: &dyn Operator<In = f32, Out = f32>,
    inputs: &[&Tensor<'_>],
) -> Result<(), Error> {
    let seconds = if is_quick() { 2 } else { 10 };
    let tuner = Tuner::new(&Tuned::default()).budget(Duration::from_secs(seconds));
    let TunedKernel {
        configuration,
        gain,
        tried,
        ..
    } = tuner.tune_host(operator, &inputs)?;
    let name = operator.name();
    metric(
        &format!("tune_gain/{name}"),
        gain.map_or(1.0, |gain| gain.ratio),
        "times",
    );
    println!("  {configuration}, of {} candidates", tried.len());
    Ok(())
}
