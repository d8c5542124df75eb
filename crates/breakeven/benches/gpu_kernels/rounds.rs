//! CPU and GPU in turns, and what is made of their times.

use std::time::{Duration, Instant};

use breakeven::gpu::Gpu;
use breakeven_judge::budget::Limits;
use breakeven_judge::overview::overview;
use breakeven_profile::profile::{Evidence, Limit, Operation, Profile, Run};
use breakeven_profile::stats::median;
use breakeven_stats::{Bootstrap, BootstrapInterval, bootstrap};

use crate::subject::{Outcome, Subject};

/// Calls of a device in one round, and after what time no further one is begun.
const CALLS: usize = 40;
const TURN: Duration = Duration::from_millis(100);

/// How much is measured at one size.
pub(crate) struct Rounds {
    pub(crate) rounds: u32,
    /// Rounds that are done whatever they take.
    least: u32,
    /// After that no further round is begun.
    at_most: Duration,
}

impl Rounds {
    pub(crate) fn new(quick: bool) -> Self {
        Self {
            rounds: if quick { 3 } else { 11 },
            least: 3,
            at_most: Duration::from_secs(20),
        }
    }
}

/// Medians over the rounds, with the intervals of the ratios.
pub(crate) struct Gains {
    pub(crate) cpu_ns: f64,
    pub(crate) kernel_ns: f64,
    pub(crate) call_ns: f64,
    /// The CPU's time over the kernel's.
    pub(crate) kernel: BootstrapInterval,
    /// The CPU's time over that of a whole call on the GPU.
    pub(crate) call: BootstrapInterval,
    /// A call's time where freed memory was given back, over that where it is reused.
    pub(crate) reuse: BootstrapInterval,
}

/// A kernel on both devices: its operations, the CPU's first, and the gains.
pub(crate) fn measure(
    name: &str,
    subject: &mut dyn Subject,
    gpu: &Gpu,
    plan: &Rounds,
) -> Outcome<(Operation, Operation, Gains)> {
    let mut on_cpu = operation(name, "cpu", subject);
    let mut on_gpu = operation(name, gpu.id().as_str(), subject);
    if let Some(counts) = subject.counts(gpu) {
        counts.write(&mut on_gpu.attributes);
    }
    let (mut cpu, mut kernel, mut call) = (Vec::new(), Vec::new(), Vec::new());
    let mut afresh = Vec::new();
    let began = Instant::now();
    for round in 0..plan.rounds {
        if round >= plan.least && began.elapsed() > plan.at_most {
            break;
        }
        let times = turn(&mut || subject.on_cpu())?;
        cpu.push(median(&times)?);
        run(&mut on_cpu).samples_ns.extend(times);
        let times = turn(&mut || subject.on_gpu(gpu))?;
        call.push(median(&times)?);
        afresh.push(median(&turn(&mut || {
            gpu.memory().trim();
            subject.on_gpu(gpu)
        })?)?);
        let alone = turn(&mut || subject.kernel_alone(gpu))?;
        kernel.push(median(&alone)?);
        let run = run(&mut on_gpu);
        run.samples_ns.extend(times);
        run.phases_ns
            .entry("kernel".to_owned())
            .or_default()
            .extend(alone);
    }
    let gains = Gains {
        cpu_ns: median(&cpu)?,
        kernel_ns: median(&kernel)?,
        call_ns: median(&call)?,
        kernel: ratio(&cpu, &kernel)?,
        call: ratio(&cpu, &call)?,
        reuse: ratio(&afresh, &call)?,
    };
    Ok((on_cpu, on_gpu, gains))
}

fn operation(name: &str, device: &str, subject: &dyn Subject) -> Operation {
    let work = subject.work();
    Operation {
        size: Some(subject.size()),
        workload: Some(subject.text()),
        items: Some(work.items),
        bytes: Some(work.bytes),
        flops: (work.flops > 0).then_some(work.flops),
        ..Operation::new(name, device)
    }
}

fn run(operation: &mut Operation) -> &mut Run {
    if operation.runs.is_empty() {
        operation.runs.push(Run::default());
    }
    &mut operation.runs[0]
}

/// A device's turn, after a call that does not count: the other device's turn left
/// nothing of this one's in a cache.
fn turn(call: &mut dyn FnMut() -> Outcome<Duration>) -> Outcome<Vec<f64>> {
    call()?;
    let (began, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || times.len() < CALLS && began.elapsed() < TURN {
        times.push(ns(call()?));
    }
    Ok(times)
}

fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// What limits the operation and its share of that, as `profile` would report it; of a kernel
/// whose work is not counted, of the bandwidth or of the arithmetic, whichever is nearer.
pub(crate) fn roofline(evidence: &Evidence, operation: &Operation) -> Option<(Limit, f64)> {
    let profile = Profile {
        evidence: evidence.clone(),
        operations: vec![operation.clone()],
        ..Profile::default()
    };
    let overview = overview(&profile, &Limits::default());
    let found = &overview.rows.first()?.roofline;
    let of_peaks = [
        (Limit::Bandwidth, found.bytes_share),
        (Limit::Arithmetic, found.flops_share),
    ];
    let of_peaks = of_peaks
        .into_iter()
        .filter_map(|(limit, share)| Some((limit, share?)));
    let bound = found.bound.zip(found.bound_share);
    bound.or_else(|| of_peaks.max_by(|(_, a), (_, b)| a.total_cmp(b)))
}

/// The median of the ratios within rounds, with its interval.
fn ratio(cpu: &[f64], gpu: &[f64]) -> Outcome<BootstrapInterval> {
    let ratios: Vec<f64> = cpu.iter().zip(gpu).map(|(cpu, gpu)| cpu / gpu).collect();
    let options = Bootstrap {
        level: 0.95,
        resamples: 1_000,
        seed: 1,
    };
    let of = |sample: &[f64]| median(sample).unwrap_or(f64::NAN);
    Ok(bootstrap(&ratios, of, &options)?)
}
