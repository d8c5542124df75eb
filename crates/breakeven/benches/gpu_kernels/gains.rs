//! What a kernel gains by being tuned, by getting many small problems in one call, and by
//! keeping data on the device from one stage to the next.

use std::time::{Duration, Instant};

use breakeven::gpu::Gpu;
use breakeven::kernels::{
    Connectivity, Conv2d, FusedConvEntropySegment, ImageSegmentation, PixelEntropy, SOBEL_X,
};
use breakeven::{Operator, Tensor};
use breakeven_profile::profile::Evidence;
use breakeven_profile::stats::median;

use crate::metric::metric;
use crate::rounds::{Rounds, roofline};
use crate::sizes::Point;
use crate::subject::{Outcome, Subject, small, values};

/// Time of one search.
const BUDGET: Duration = Duration::from_secs(10);

/// Small problems that go in one call, or in as many.
const PROBLEMS: usize = 100;

/// Side of the image that goes through the chain.
const SIDE: usize = 1024;

/// The tuned kernel against its default, and its share of the roofline then.
pub(crate) fn tuned(
    point: &Point,
    gpu: &Gpu,
    evidence: &Evidence,
    on_gpu: &breakeven_profile::profile::Operation,
) -> Outcome<()> {
    let name = &point.name;
    let found = (point.make)()?.tune(gpu, BUDGET)?;
    let gain = found.gain.map_or(1.0, |gain| gain.ratio);
    metric(&format!("tune_gain/{name}"), gain, "x");
    println!("  {}, of {} tried", found.configuration, found.tried.len());
    if let Some((_, share)) = roofline(evidence, on_gpu) {
        metric(
            &format!("gpu_roofline_tuned/{name}"),
            100.0 * share * gain,
            "%",
        );
    }
    Ok(())
}

/// Many small problems in one call against as many calls.
pub(crate) fn batch(kernel: &str, gpu: &Gpu, rounds: &Rounds) -> Outcome<()> {
    let (together, alone) = (small(kernel, PROBLEMS)?, small(kernel, 1)?);
    let call = |subject: &dyn Subject| subject.on_gpu(gpu);
    let (one, many) = turns(
        rounds,
        || call(&*together),
        || (0..PROBLEMS).try_fold(Duration::ZERO, |all, _| Ok(all + call(&*alone)?)),
    )?;
    metric(&format!("batch_speedup/{kernel}"), many / one, "x");
    Ok(())
}

/// conv2d, pixel_entropy and image_segmentation as one chain, and as three calls from host
/// memory to host memory.
pub(crate) fn chain(gpu: &Gpu, rounds: &Rounds) -> Outcome<()> {
    let conv = Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3])?, 1, 1)?;
    let (entropy, segment) = (
        PixelEntropy::new(8)?,
        ImageSegmentation::new(2.0, Connectivity::Four)?,
    );
    let chain = conv.clone().then(entropy.clone()).then(segment);
    let images = values(&[1, SIDE, SIDE], 1)?;
    let timed = |work: &dyn Fn() -> Outcome<Tensor<'static, u32>>| {
        let start = Instant::now();
        std::hint::black_box(work()?);
        Ok(start.elapsed())
    };
    let (stays, moves) = turns(
        rounds,
        || timed(&|| Ok(gpu.run(&chain, &images)?)),
        || {
            timed(&|| {
                let edges = gpu.run(&conv, &images)?;
                Ok(gpu.run(&segment, &gpu.run(&entropy, &edges)?)?)
            })
        },
    )?;
    metric("chain_gain", moves / stays, "x");
    let fused = FusedConvEntropySegment::new(conv, entropy, segment);
    let call =
        |operator: &dyn Operator<In = f32, Out = u32>| timed(&|| Ok(gpu.run(operator, &images)?));
    let (fused_ns, steps_ns) = turns(rounds, || call(&fused), || call(&chain))?;
    metric("fusion_gain", steps_ns / fused_ns, "x");
    Ok(())
}

/// Medians of two things in turns, ns.
fn turns(
    rounds: &Rounds,
    mut one: impl FnMut() -> Outcome<Duration>,
    mut other: impl FnMut() -> Outcome<Duration>,
) -> Outcome<(f64, f64)> {
    one()?;
    other()?;
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..rounds.rounds {
        ones.push(one()?.as_secs_f64() * 1e9);
        others.push(other()?.as_secs_f64() * 1e9);
    }
    Ok((median(&ones)?, median(&others)?))
}
