//! CPU and GPU in turns, and what is made of their times.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use breakeven::gpu::Gpu;
use breakeven::profile::recorder::Clock;
use breakeven::suite::{Event, Iterations, Phase, Workload};
use breakeven_judge::budget::Limits;
use breakeven_judge::overview::overview;
use breakeven_profile::profile::{Evidence, Operation, Profile};
use breakeven_profile::stats::{Bootstrap, BootstrapInterval, BootstrapMethod, bootstrap, median};

/// How much is measured at one size.
pub(crate) struct Rounds {
    pub(crate) rounds: u32,
    /// Rounds that are done whatever they take.
    least: u32,
    /// After that no further round is begun.
    at_most: Duration,
    /// Of one device in one round.
    turn: Iterations,
}

impl Rounds {
    pub(crate) fn new(quick: bool) -> Self {
        Self {
            rounds: if quick { 3 } else { 11 },
            least: 3,
            at_most: Duration::from_secs(20),
            turn: Iterations {
                // The other device's turn left nothing of this one's in a cache.
                warmup: 1,
                measured: 40,
                at_most: Some(Duration::from_millis(100)),
            },
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
}

/// A workload on both devices: their operations, CPU's first, and the gains.
pub(crate) fn measure(
    workload: &Workload,
    gpu: &Gpu,
    plan: &Rounds,
) -> Result<(Operation, Operation, Gains), Box<dyn Error>> {
    let problem = workload.build()?;
    let clock = Clock::new();
    let mut on_cpu = workload.operation("cpu", &*problem);
    let mut on_gpu = workload.operation(gpu.id().as_str(), &*problem);
    let (mut cpu, mut kernel, mut call) = (Vec::new(), Vec::new(), Vec::new());
    let began = Instant::now();
    for round in 0..plan.rounds {
        if round >= plan.least && began.elapsed() > plan.at_most {
            break;
        }
        let mut events = Vec::new();
        let _ = problem.measure_cpu(plan.turn, &clock, &mut |event| keep(&mut events, event));
        cpu.push(middle(&events, whole)?);
        record(&events, round, &mut on_cpu);
        events.clear();
        let _ = problem.measure_gpu(gpu, plan.turn, &clock, &mut |event| {
            keep(&mut events, event)
        })?;
        call.push(middle(&events, whole)?);
        kernel.push(middle(&events, alone)?);
        record(&events, round, &mut on_gpu);
    }
    let gains = Gains {
        cpu_ns: median(&cpu)?,
        kernel_ns: median(&kernel)?,
        call_ns: median(&call)?,
        kernel: ratio(&cpu, &kernel)?,
        call: ratio(&cpu, &call)?,
    };
    Ok((on_cpu, on_gpu, gains))
}

/// The share of the attainable rate that `profile` would tell of the operation: of
/// the bandwidth or of the arithmetic, whichever is nearer to its limit.
pub(crate) fn roofline(evidence: &Evidence, operation: &Operation) -> Option<f64> {
    let profile = Profile {
        evidence: evidence.clone(),
        operations: vec![operation.clone()],
        ..Profile::default()
    };
    let overview = overview(&profile, &Limits::default());
    let shares = &overview.rows.first()?.roofline;
    let shares = [shares.bytes_share, shares.flops_share];
    shares.into_iter().flatten().reduce(f64::max)
}

fn keep(events: &mut Vec<Event>, event: Event) -> ControlFlow<()> {
    events.push(event);
    ControlFlow::Continue(())
}

/// Adds a round's times to the operation; the first call ever is in the first round.
fn record(events: &[Event], round: u32, operation: &mut Operation) {
    for event in events {
        match event {
            Event::FirstCall(ns) if round > 0 => Event::WarmUp(*ns).record(operation),
            event => event.record(operation),
        }
    }
}

/// Time of a whole call.
fn whole(event: &Event) -> Option<u64> {
    match event {
        Event::Sample(ns) => Some(*ns),
        _ => None,
    }
}

/// Time of the kernel alone.
fn alone(event: &Event) -> Option<u64> {
    match event {
        Event::Phase(Phase::Kernel, ns) => Some(*ns),
        _ => None,
    }
}

/// The median of one kind of time, ns.
fn middle(events: &[Event], kind: fn(&Event) -> Option<u64>) -> Result<f64, Box<dyn Error>> {
    let times: Vec<f64> = events.iter().filter_map(kind).map(|ns| ns as f64).collect();
    Ok(median(&times)?)
}

/// The median of the ratios within rounds, with its interval.
fn ratio(cpu: &[f64], gpu: &[f64]) -> Result<BootstrapInterval, Box<dyn Error>> {
    let ratios: Vec<f64> = cpu.iter().zip(gpu).map(|(cpu, gpu)| cpu / gpu).collect();
    let options = Bootstrap {
        method: BootstrapMethod::Percentile,
        level: 0.95,
        resamples: 1_000,
        seed: 1,
    };
    let of = |sample: &[f64]| median(sample).unwrap_or(f64::NAN);
    Ok(bootstrap(&ratios, of, &options)?)
}
